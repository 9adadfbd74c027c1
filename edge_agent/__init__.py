"""The edge agent of a node: `link` talks to the region, `keeper` parents the tasks.

This file stays empty of imports: the keeper imports the standard library only.
"""
