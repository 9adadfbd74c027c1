"""Usage that can be checked without trusting whoever wrote it: records, the log, its verification.

Pure: no I/O, no clock, no threads. Leaves are opaque to the tree, note and receipt modules; only
`records` and `verify` know what a record says. Modules are imported by name, none re-exports.
"""
