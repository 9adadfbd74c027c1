"""Signs the metering log from what is on disk, mirrors it, and has it cosigned.

A checkpoint is signed only after the leaves under it were read back and hashed again. Then entries
go to the mirror and the checkpoint to the witness: another size there = a new proof; a fork = an
alarm, and nothing is signed any more in this process life. While the federation is away the log
grows unsigned. Must not write leaves.
"""

import asyncio
import random
from collections.abc import Callable

from intertie.errors import IntertieError, Reason, error
from intertie.metering.faults import MeteringError
from intertie.metering.log import strict
from intertie.metering.log.checkpoint import Checkpoint, add_lines
from intertie.metering.log.note import Note
from intertie.metering.log.witness import SIZE_TYPE, build_request
from intertie.metering.sequence import LogState
from intertie.ports import Clock, FencedError, StoreUnavailableError
from intertie.telemetry.logs import logger
from regional.adapters.log.recovery import recover
from regional.adapters.log.signing import DurableSigner
from regional.adapters.log.store import LogStore
from regional.adapters.log.witness import Answer, WitnessClient

FIRST_BACKOFF_S, MOST_BACKOFF_S = 0.2, 5.0
MAX_PUSH_BYTES = 1 << 20
OK, CONFLICT, BAD_PROOF = 200, 409, 422
MAX_ROUNDS = 5
"""Times a checkpoint is proven anew in a row because the witness was at another size."""

_log = logger(__name__)


class Publisher:
    """See the module's text.

    Args:
        log: the log's rows.
        client: the federation's MeteringService.
        signer: signs what is on disk.
        clock: for recovery.
        rng: for backoff.
        ready: called once the witness was asked: from then on the log may grow.
        cosigned: told of each size that was cosigned.
        forked: called when the log was found to be forked.
    """

    def __init__(
        self,
        log: LogStore,
        client: WitnessClient,
        signer: DurableSigner,
        clock: Clock,
        rng: random.Random,
        *,
        ready: Callable[[], None],
        cosigned: Callable[[int], None],
        forked: Callable[[], None],
    ) -> None:
        self._log = log
        self._client = client
        self._signer = signer
        self._clock = clock
        self._rng = rng
        self._ready = ready
        self._tell_cosigned = cosigned
        self._forked = forked
        self._target: LogState | None = None
        self._grown = asyncio.Event()
        self._witnessed = 0
        self._mirrored = 0
        self._task: asyncio.Task[None] | None = None
        self._is_open = False
        self.is_forked = False
        self.cosigned_size = 0

    def start(self) -> None:
        """Begin with the handshake."""
        self._task = asyncio.create_task(self._run(), name="publisher")

    async def stop(self) -> None:
        """End; idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def appended(self, state: LogState) -> None:
        """The log has grown durably to this state."""
        self._target = state
        self._grown.set()

    async def _run(self) -> None:
        backoff_s = FIRST_BACKOFF_S
        while not self.is_forked:
            try:
                await self._handshake()
                backoff_s = FIRST_BACKOFF_S
                while True:
                    await self._grown.wait()
                    self._grown.clear()
                    await self._publish()
            except (IntertieError, StoreUnavailableError, FencedError) as fault:
                if isinstance(fault, IntertieError) and fault.reason is Reason.LOG_FORK:
                    self._alarm(fault)
                    return
                _log.warning("log not published; trying again", problem=str(fault))
            self._grown.set()  # what was not published is still to be
            await asyncio.sleep(backoff_s * (0.5 + self._rng.random() / 2))
            backoff_s = min(backoff_s * 2, MOST_BACKOFF_S)

    def _alarm(self, fault: IntertieError) -> None:
        self.is_forked = True
        _log.error("ALARM: the metering log is forked; nothing is signed", problem=str(fault))
        self._forked()

    # --- handshake -------------------------------------------------------------------------------

    async def _handshake(self) -> None:
        """Learn what the witness knows of our log, and be at least there ourselves."""
        witnessed = await self._client.witnessed()
        state = await self._log.load()
        head = witnessed.head
        if head is not None and head.size > state.size:
            if self._is_open:
                raise _fork(head, "it was signed by somebody else: we never signed that much")
            await recover(self._log, self._client.pull, head, self._clock)
            state = await self._log.load()
        checked = await self._log.range_at(head.size if head is not None else 0)
        if head is not None and checked.root() != head.root:
            raise _fork(head, f"the log on disk has root {checked.root().hex()} at that size")
        self._signer.begin(checked)
        self._witnessed = self.cosigned_size = checked.size
        self._mirrored = min(witnessed.mirrored, state.size)
        await self._remind()
        if not self._is_open:
            self._is_open = True
            self._ready()

    async def _remind(self) -> None:
        """A witness restored from a backup forgot what it cosigned: show it its own signature."""
        note = await self._log.cosigned()
        if not note or not self._client.is_cosigned(note):
            return
        head = Checkpoint.parse(Note.parse(note).text)
        if head.size > self._witnessed:
            await self._mirror_while_taken(head.size)
            answer = await self._client.cosign(build_request(head.size, [], note))
            if answer.status == OK:
                self._signer.begin(await self._log.range_at(head.size))
                self._witnessed = self.cosigned_size = head.size

    # --- one checkpoint --------------------------------------------------------------------------

    async def _publish(self) -> None:
        """Sign, mirror and have cosigned the newest state."""
        state = self._target
        if state is None:
            return
        if state.size > self.cosigned_size:
            signed = await self._signer.sign(state)
            await self._mirror_while_taken(state.size)
            await self._have_cosigned(state, signed)
        await self._mirror(state.size)

    async def _have_cosigned(self, state: LogState, signed: bytes) -> None:
        for _ in range(MAX_ROUNDS):
            proof = await self._log.proof(self._witnessed, state.size)
            body = build_request(self._witnessed, proof, signed)
            answer = await self._client.cosign(body)
            if answer.status == OK:
                await self._cosigned(state, signed, answer)
                return
            self._witnessed = self._other_size(answer, state)
        raise error(Reason.UNREACHABLE, f"The witness changed its size {MAX_ROUNDS} times.")

    async def _mirror_while_taken(self, end: int) -> None:
        """Mirror until the mirror wants a checkpoint first; the rest follows under that one."""
        try:
            await self._mirror(end)
        except IntertieError as fault:
            if fault.reason is not Reason.RATE_LIMITED:
                raise
            _log.info("the mirror wants a checkpoint first", mirrored=self._mirrored, size=end)

    async def _mirror(self, end: int) -> None:
        entries: list[bytes] = []
        size = 0
        async for piece in self._log.leaves(self._mirrored, end):
            for leaf in piece:
                entries.append(leaf)
                size += len(leaf)
                if size >= MAX_PUSH_BYTES:
                    await self._push(entries)
                    entries, size = [], 0
        await self._push(entries)

    async def _push(self, entries: list[bytes]) -> None:
        if entries:
            self._mirrored = await self._client.push(self._mirrored, entries)

    async def _cosigned(self, state: LogState, signed: bytes, answer: Answer) -> None:
        try:
            note = add_lines(signed, answer.body)
        except MeteringError as fault:
            raise _disbelieved(state.origin, fault.message) from fault
        if not self._client.is_cosigned(note):
            raise _disbelieved(state.origin, "no witness that we believe has signed")
        await self._log.keep_cosigned(note)
        self._witnessed = self.cosigned_size = state.size
        self._tell_cosigned(state.size)

    def _other_size(self, answer: Answer, state: LogState) -> int:
        """The size that the witness is at; anything but that is a fork or a refusal."""
        text = answer.body.decode(errors="replace").strip()
        if answer.status == BAD_PROOF or (
            answer.status == CONFLICT and answer.content_type != SIZE_TYPE
        ):
            raise error(
                Reason.LOG_FORK,
                f"{state.origin}: the witness refuses size {state.size} with {answer.status}: "
                f"{text[:200]}.",
                remedy="Do not sign. Compare the log with the federation's mirror.",
                metadata={"origin": state.origin, "status": str(answer.status)},
            )
        if answer.status != CONFLICT:
            raise error(
                Reason.NOT_COSIGNED,
                f"The witness answers {answer.status}: {text[:200]}.",
                remedy="Let the federation's operator register this region's log key.",
                metadata={"status": str(answer.status)},
            )
        size = strict.size(text, "the witness's size")
        if size > state.size:
            # Our own, from a life that this store does not remember: the handshake sees to it.
            raise error(Reason.UNREACHABLE, f"The witness is at {size}, we are at {state.size}.")
        return size


def _fork(head: Checkpoint, what: str) -> IntertieError:
    return error(
        Reason.LOG_FORK,
        f"{head.origin}: the witness has size {head.size} root {head.root.hex()}, but {what}.",
        remedy="Do not sign. Compare both histories with the federation's operator.",
        metadata={"origin": head.origin, "size": str(head.size)},
    )


def _disbelieved(origin: str, what: str) -> IntertieError:
    return error(
        Reason.NOT_COSIGNED,
        f"{origin}: the witness's answer is no cosignature: {what}.",
        remedy="Put the federation's present witness key into federation.witnesses.",
        metadata={"origin": origin},
    )
