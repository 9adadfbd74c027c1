"""Counts wrong join tokens by address, so that guessing is slow and can be seen.

256 bits cannot be guessed; this keeps the attempt from costing us. A right token is never counted.
"""

from collections import OrderedDict

from intertie.errors import Reason, error
from intertie.ports import Now

MOST = 20
"""Wrong tokens of one address in `WINDOW_NS`."""
WINDOW_NS = 60 * 1_000_000_000
MAX_ADDRESSES = 10_000


class Guesses:
    """See the module's text. For one thread."""

    def __init__(self) -> None:
        self._wrong: OrderedDict[str, list[int]] = OrderedDict()

    def check(self, address: str, now: Now) -> None:
        """Refuse an address that guessed too often. Raises RATE_LIMITED."""
        recent = self._recent(address, now)
        if len(recent) >= MOST:
            wait_ms = (recent[0] + WINDOW_NS - now.boot_ns) // 1_000_000 + 1
            raise error(
                Reason.RATE_LIMITED,
                f"{address} presented {len(recent)} wrong join tokens within a minute.",
                remedy="Wait, and copy the whole token.",
                retry_after_ms=wait_ms,
            )

    def wrong(self, address: str, now: Now) -> int:
        """Count a wrong token; returns how many there were lately."""
        recent = self._recent(address, now)
        recent.append(now.boot_ns)
        self._wrong[address] = recent
        self._wrong.move_to_end(address)
        while len(self._wrong) > MAX_ADDRESSES:
            self._wrong.popitem(last=False)
        return len(recent)

    def _recent(self, address: str, now: Now) -> list[int]:
        since = now.boot_ns - WINDOW_NS
        return [at for at in self._wrong.get(address, ()) if at > since]
