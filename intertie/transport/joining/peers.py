"""The address that a call comes from."""

from urllib.parse import unquote

from intertie.transport.call import Context


def peer_address(context: Context) -> str:
    """The peer's IP address, or whatever gRPC says if it has none."""
    kind, _, rest = unquote(str(context.peer())).partition(":")
    if kind not in ("ipv4", "ipv6"):
        return kind
    host = rest.rpartition(":")[0].removeprefix("[").removesuffix("]")
    address = host.partition("%")[0]
    return address.removeprefix("::ffff:")
