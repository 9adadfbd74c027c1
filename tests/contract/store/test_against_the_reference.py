"""Random histories: every store answers as the store in memory does."""

import tempfile

from hypothesis import given, settings
from hypothesis import strategies as st

from intertie.ports import (
    Change,
    Claim,
    ConflictError,
    Delete,
    Event,
    FencedError,
    Put,
    ShardCommit,
    Store,
)
from intertie.store.memory import MemoryStore
from intertie.store.open import open_store

_NAMES = st.sampled_from(["", "a", "b", "c", "ä"])
_SHARDS = st.integers(0, 1)
_CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.builds(
        Put,
        kind=st.sampled_from(["k", "l"]),
        key=_NAMES,
        body=st.binary(max_size=3),
        scope=st.sampled_from(["p", "q"]),
        ord=_NAMES,
    ),
    st.builds(Delete, kind=st.sampled_from(["k", "l"]), key=_NAMES),
    st.builds(
        Claim,
        space=st.sampled_from(["r", "s"]),
        name=st.text(alphabet="abcdefgh", max_size=2),
        digest=_NAMES,
        result=_NAMES,
        utc_ms=st.integers(0, 5),
    ),
)
_COMMITS = st.lists(
    st.builds(
        ShardCommit,
        shard=_SHARDS,
        epoch=st.integers(1, 2),
        first_seq=st.integers(0, 4),
        changes=st.lists(_CHANGES, max_size=4),
        events=st.lists(st.builds(Event, key=_NAMES, scope=_NAMES, body=st.just(b"e")), max_size=2),
    ),
    max_size=3,
)
_STEPS = st.lists(
    st.one_of(_COMMITS, _SHARDS, st.tuples(st.sampled_from(["r", "s"]), st.integers(0, 6))),
    max_size=12,
)
Step = list[ShardCommit] | int | tuple[str, int]


async def _take(store: Store, step: Step) -> object:
    """What one step answers: a commit, an acquire (a shard), or forgetting claims."""
    if isinstance(step, int):
        return await store.acquire(step)
    if isinstance(step, tuple):
        return await store.forget_claims(step[0], step[1], limit=2)
    try:
        await store.commit(step)
    except FencedError as fenced:
        return f"fenced: {fenced}"
    except ConflictError as conflict:
        return conflict.claim
    return "committed"


async def _contents(store: Store) -> object:
    listed = [
        (
            kind,
            scope,
            descending,
            await store.list_rows(kind, scope, limit=3, descending=descending),
        )
        for kind in "kl"
        for scope in "pq"
        for descending in (False, True)
    ]
    scanned = [[row async for row in store.scan(shard, kind)] for shard in (0, 1) for kind in "kl"]
    events = [
        await store.events(shard, 1, limit=4, key=key)
        for shard in (0, 1)
        for key in (None, "", "a", "ä")
    ]
    return listed, scanned, events, await store.last_seq(0), await store.last_seq(1)


@settings(max_examples=60, deadline=None)
@given(steps=_STEPS)
async def test_a_history_leaves_sqlite_as_it_leaves_the_reference(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        reference: Store = MemoryStore()
        store = open_store(f"sqlite:///{directory}/store.db")
        try:
            for step in steps:
                assert await _take(store, step) == await _take(reference, step)
            assert await _contents(store) == await _contents(reference)
        finally:
            await store.close()
