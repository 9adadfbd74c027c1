"""Signs heads of the metering log, from what is on disk only.

Leaves since the last head are read back and hashed again; only if they give the head's root is it
signed. What was checked once is kept as a compact range, so each leaf is read back once.
"""

from intertie.metering.log.merkle import CompactRange
from intertie.metering.log.note import Signer
from intertie.metering.sequence import LogState, sign_durable
from regional.adapters.log.store import LogStore


class DurableSigner:
    """See the module's text.

    Args:
        log: the log's rows.
        signer: the log key.
    """

    def __init__(self, log: LogStore, signer: Signer) -> None:
        self._log = log
        self._signer = signer
        self._checked = CompactRange()

    def begin(self, checked: CompactRange) -> None:
        """Go on from a head that was verified otherwise: a witness has cosigned it."""
        self._checked = checked

    async def sign(self, state: LogState) -> bytes:
        """The signed checkpoint of a state that was committed.

        Raises:
            IntertieError: DIGEST_MISMATCH, the disk gave back other bytes than were sequenced.
        """
        before, last = self._checked, list[bytes]()
        async for piece in self._log.leaves(before.size, state.size):
            before, last = before.absorb(last), piece
        signed = sign_durable(before, last, state, self._signer)
        self._checked = state.edge.range
        return signed
