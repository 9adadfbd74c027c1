"""Writes that are safe to repeat: claim a key, let go of it, replace a value.

Each is a guarded transaction built so that its own lost answer reads as success when it is tried
again. Must not decide who ought to own something; it only says who does.
"""

from collections.abc import Collection

from intertie.store.etcd.port import (
    Absent,
    Entry,
    Membership,
    Remove,
    Unchanged,
    UnderLease,
    Write,
)

_ROUNDS = 5
"""A claim that loses this many races against changes of one key reports who won the last."""


def session_value(incarnation: str, body: bytes = b"") -> bytes:
    """The value of a session key: the incarnation; after a line feed, whatever else is told."""
    assert incarnation.isprintable(), incarnation
    assert incarnation != ""
    return incarnation.encode() + (b"\n" + body if body else b"")


def incarnation_of(value: bytes) -> str:
    """The incarnation in the value of a session key."""
    return value.split(b"\n", 1)[0].decode(errors="replace")


def body_of(value: bytes) -> bytes:
    """What a session key tells beside its incarnation."""
    return value.partition(b"\n")[2]


async def claim(membership: Membership, key: str, value: bytes, lease: int) -> Entry | None:
    """Take a free key under a lease. Returns None if it is ours now, else what stands there.

    A key under the same lease is ours whatever its value, so a lease must not be shared by rivals.
    """
    write = Write(key, value, lease)
    result = await membership.txn((Absent(key),), (write,), repeatable=True)
    if result.succeeded or result.standing[key].lease == lease:
        return None
    return result.standing[key]


async def claim_session(
    membership: Membership, key: str, value: bytes, lease: int, supersedes: Collection[str]
) -> Entry | None:
    """Like `claim`, and take the key over from incarnations in `supersedes`, which are us."""
    holder = await claim(membership, key, value, lease)
    for _ in range(_ROUNDS):
        if holder is None or incarnation_of(holder.value) not in supersedes:
            break
        result = await membership.txn(
            (Unchanged(key, holder.mod_revision),), (Write(key, value, lease),), repeatable=True
        )
        standing = None if result.succeeded else result.standing.get(key)
        if standing is None and not result.succeeded:
            holder = await claim(membership, key, value, lease)
        else:
            holder = None if standing is None or standing.lease == lease else standing
    return holder


async def release(membership: Membership, key: str, lease: int) -> bool:
    """Delete a key if it is under this lease. Returns whether it is gone or somebody else's."""
    result = await membership.txn((UnderLease(key, lease),), (Remove(key),), repeatable=True)
    return result.succeeded or key not in result.standing


async def swap(
    membership: Membership, key: str, value: bytes | None, *, seen: Entry | None
) -> Entry | None:
    """Replace what was seen under a key (None: nothing) by a value (None: nothing).

    Returns None if `value` stands there now, else what stands there instead. Whoever else asked for
    the same value counts as us, so put something of the caller's own into it where that matters.

    Raises:
        LookupError: the key was expected and is gone; nothing was changed.
    """
    guard = Absent(key) if seen is None else Unchanged(key, seen.mod_revision)
    operation = Remove(key) if value is None else Write(key, value)
    result = await membership.txn((guard,), (operation,), repeatable=True)
    if result.succeeded:
        return None
    standing = result.standing.get(key)
    if standing is None and value is not None:
        raise LookupError(key)
    return standing if standing is not None and standing.value != value else None
