"""The keeper: parents every task of a node and outlives its link.

Single-threaded and standard library only, so that it stays small (<= 15 MiB resident), starts in
tens of milliseconds and has almost nothing in it that can fail. Must not speak gRPC, start a
thread, or import anything but the standard library and this package.

Values are `NamedTuple`s, not dataclasses: `dataclasses` pulls in `inspect`, which costs as much
memory as the whole of this package.
"""
