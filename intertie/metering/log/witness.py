r"""The decision of a witness (C2SP tlog-witness), as a function of what it remembers.

    add-checkpoint body = "old N\n" + at most 63 base64 hash lines + "\n" + note
        200 cosignature lines · 400 malformed · 403 no or bad trusted signature · 404 unknown origin
        409 old != latest (body "<size>\n", content type text/x.tlog.size)
        422 bad proof, or the same size with another root

The shell holds the row of the origin locked, calls `decide`, persists `Decision.state` and only
then replies. Must not read a clock or a store.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from intertie.errors import Reason, error
from intertie.metering.faults import Fault, MeteringError
from intertie.metering.log import note, strict
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.merkle import EMPTY_ROOT, verify_consistency
from intertie.metering.log.note import Key, Note, Signer

MAX_PROOF = 63
SIZE_TYPE = "text/x.tlog.size"
TEXT_TYPE = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class WitnessState:
    """The latest checkpoint cosigned for one origin; `signed` is what monitors are shown."""

    size: int = 0
    root: bytes = EMPTY_ROOT
    signed: bytes = b""

    def __post_init__(self) -> None:
        assert self.size >= 0, f"no log has the size {self.size}"
        assert self.size > 0 or self.root == EMPTY_ROOT, "the empty tree has one root"


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer, and the state to persist before it is given."""

    status: int
    body: bytes
    content_type: str
    state: WitnessState

    def __post_init__(self) -> None:
        assert (self.status == 409) == (self.content_type == SIZE_TYPE), "a 409 tells the size"
        assert self.body.endswith(b"\n"), "an answer is lines"


@dataclass(frozen=True, slots=True)
class AddCheckpoint:
    """A request to cosign: the size it starts from, the proof, and the signed checkpoint."""

    old: int
    proof: tuple[bytes, ...]
    signed: bytes


def build_request(old: int, proof: Sequence[bytes], signed: bytes) -> bytes:
    """Write an add-checkpoint body."""
    assert len(proof) <= MAX_PROOF, f"a proof of {len(proof)} hashes"
    assert old >= 0, f"no log has the size {old}"
    lines = "".join(strict.base64_text(digest) + "\n" for digest in proof)
    return f"old {old}\n{lines}\n".encode() + signed


def parse_request(body: bytes) -> AddCheckpoint:
    """Read an add-checkpoint body: the part before the FIRST blank line is the proof."""
    head, blank, signed = body.partition(b"\n\n")
    if not blank or not head.isascii():
        raise MeteringError(Fault.BAD_NOTE, "add-checkpoint: expected a blank line after the proof")
    first, *lines = head.decode().split("\n")
    if not first.startswith("old "):
        raise MeteringError(Fault.BAD_NOTE, f"add-checkpoint: expected 'old N', got {first[:40]!r}")
    if len(lines) > MAX_PROOF:
        raise MeteringError(Fault.BAD_NOTE, f"add-checkpoint: {len(lines)} hashes of {MAX_PROOF}")
    proof = tuple(strict.hash_bytes(line, "consistency proof") for line in lines)
    return AddCheckpoint(strict.size(first.removeprefix("old "), "old size"), proof, signed)


def decide(
    states: Mapping[str, WitnessState],
    logs: Mapping[str, Sequence[Key]],
    body: bytes,
    *,
    witness: Signer,
    time_s: int,
) -> Decision:
    """Answer an add-checkpoint request.

    Args:
        states: what was cosigned before, by origin; an origin without an entry starts empty.
        logs: believed log keys, by origin; an origin without an entry is unknown.
        body: the request as received.
        witness: the key to cosign with.
        time_s: the instant of the cosignature, in POSIX seconds.
    """
    nothing = WitnessState()
    try:
        request = parse_request(body)
        signed = Note.parse(request.signed)
        new = Checkpoint.parse(signed.text)
    except MeteringError as fault:
        return _refuse(400, fault.message, nothing)
    state = states.get(new.origin, nothing)
    keys = logs.get(new.origin, ())
    if not keys:
        return _refuse(404, f"unknown origin {new.origin!r}", state)
    if not _is_signed(signed, keys):
        return _refuse(403, "no valid signature by a trusted log key", state)
    try:
        state = adopt(state, request.signed, keys, witness.key)
    except MeteringError as fault:
        return _refuse(403, fault.message, state)
    return _compare(request, new, signed, state, witness, time_s)


def _compare(
    request: AddCheckpoint,
    new: Checkpoint,
    signed: Note,
    state: WitnessState,
    witness: Signer,
    time_s: int,
) -> Decision:
    if request.old > new.size:
        return _refuse(400, f"old {request.old} is above the checkpoint's {new.size}", state)
    if request.old != state.size:
        return Decision(409, b"%d\n" % state.size, SIZE_TYPE, state)
    try:
        verify_consistency(state.size, state.root, new.size, new.root, request.proof)
    except MeteringError as fault:
        return _refuse(422, fault.message, state)
    assert new.size >= state.size, "what is cosigned never shrinks"
    line = witness.cosign_line(signed.text, time_s)
    shown = note.assemble(signed.text, [*_lines(signed, witness.key), line])
    return Decision(200, line, TEXT_TYPE, WitnessState(new.size, new.root, shown))


def adopt(state: WitnessState, signed: bytes, log_keys: Iterable[Key], own: Key) -> WitnessState:
    """Take over a larger checkpoint that bears this witness's own cosignature.

    After a restore from backup the witness remembers less than it once cosigned; what it cosigned
    binds it all the same. Anything else leaves the state as it is.

    Raises:
        PeerError: LOG_FORK, the own cosignature is on another root of the same size.
        MeteringError: a signature by a known key does not verify.
    """
    received = Note.parse(signed)
    if not any(line.is_by(own) for line in received.signatures):
        return state
    if not received.verified([own]) or not received.verified(log_keys):
        return state
    seen = Checkpoint.parse(received.text)
    if seen.size == state.size and seen.root != state.root:
        raise error(
            Reason.LOG_FORK,
            f"{seen.origin}: two roots of size {seen.size} bear the cosignature of {own.name}",
            remedy="Keep both checkpoints as evidence and remove the region.",
            metadata={"origin": seen.origin, "size": str(seen.size)},
        )
    if seen.size <= state.size:
        return state
    return WitnessState(seen.size, seen.root, signed)


def _is_signed(signed: Note, keys: Sequence[Key]) -> bool:
    try:
        return bool(signed.verified(keys))
    except MeteringError:
        return False


def _lines(signed: Note, own: Key) -> list[bytes]:
    """The lines to show monitors: all but older ones of this witness."""
    return [line.line() for line in signed.signatures if not line.is_by(own)]


def _refuse(status: int, message: str, state: WitnessState) -> Decision:
    return Decision(status, f"{message}\n".encode(), TEXT_TYPE, state)
