"""Which software we are and which protocol versions we speak, and what two peers agree on.

Version N works with N-1 (contract.md): both sides say a range in their hello, the highest common
version is used, and without one the link is refused by name.
"""

from functools import cache
from importlib import metadata

from intertie.errors import Reason, error

PROTOCOL_MIN = 1
PROTOCOL_MAX = 1


@cache
def software() -> str:
    """The version of the installed package; `0` in a tree that is not installed."""
    try:
        return metadata.version("intertie")
    except metadata.PackageNotFoundError:
        return "0"


def agree(peer: str, lowest: int, highest: int) -> int:
    """The highest version that both speak.

    Raises:
        IntertieError: VERSION_UNSUPPORTED.
    """
    version = min(highest, PROTOCOL_MAX)
    if version < max(lowest, PROTOCOL_MIN):
        raise error(
            Reason.VERSION_UNSUPPORTED,
            f"{peer} speaks protocol {lowest} to {highest}, we speak {PROTOCOL_MIN} to "
            f"{PROTOCOL_MAX}.",
            remedy="Update the older side.",
            metadata={"ours": f"{PROTOCOL_MIN}-{PROTOCOL_MAX}", "theirs": f"{lowest}-{highest}"},
        )
    return version
