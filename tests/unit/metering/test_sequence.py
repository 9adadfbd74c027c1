"""The sequencer: replay, conflict, poison, numbering, and what may be signed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.errors import IntertieError, Reason
from intertie.metering import canonical, records, sequence
from intertie.metering.intervals import RunTime
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.merkle import CompactRange
from intertie.metering.log.note import Note
from intertie.model.states import Outcome


def run_end(world: Any, **changes: Any) -> records.Body:
    return records.run_end(
        world.key(**changes),
        records.Span(0, 1000, 1000),
        outcome=Outcome.SUCCEEDED,
        time=RunTime(1000, 0, 0),
        cause="task",
        complete=True,
    )


def test_bodies_become_leaves_in_order(world: Any) -> None:
    batch = world.append(world.usage(1), world.usage(2))
    assert [leaf.seq for leaf in batch.leaves] == [0, 1]
    for leaf, body in zip(batch.leaves, [world.usage(1), world.usage(2)], strict=True):
        record = records.parse_record(leaf.data)
        assert records.unsealed(record) == body
        assert (record["seq"], record["salt"]) == (leaf.seq, world.salt(leaf.seq))
        assert leaf.digest == records.body_digest(body)
    assert batch.state.edge.range == CompactRange().absorb(world.leaves)
    assert len(batch.tiles) == 1


def test_a_replay_is_a_no_op_within_and_across_batches(world: Any) -> None:
    first = world.append(world.usage(1), world.usage(1))
    assert (len(first.leaves), first.replays) == (1, (1,))
    again = world.append(world.usage(1), at=99)
    assert (again.leaves, again.tiles, again.replays) == ((), (), (0,))
    assert again.state == first.state


def test_another_body_under_the_same_rid_is_a_conflict(world: Any) -> None:
    world.append(world.usage(1))
    batch = world.append(world.usage(1, quantity=7), world.usage(2), world.usage(2, quantity=1))
    assert [refusal.position for refusal in batch.conflicts] == [0, 2]
    assert batch.conflicts[0].rid == world.usage(1)["rid"]
    assert [leaf.position for leaf in batch.leaves] == [1]


def test_one_poison_record_does_not_stop_the_others(world: Any) -> None:
    good = [records.pending_bytes(world.usage(n)) for n in (1, 2)]
    poison = [
        b"junk",
        b'{"rid":7}',
        b'{"rid":"x"}',
        records.pending_bytes(world.usage(3, region="r2")),
        records.pending_bytes(world.usage(4) | {"seq": 9}),
        records.pending_bytes(run_end(world) | {"first_seq": 0, "last_seq": 0}),
        canonical.encode(world.usage(5) | {"quantity": -1}),
    ]
    bodies = [good[0], *poison, good[1]]
    batch = sequence.sequence(
        world.state,
        bodies,
        recorded_ms=1,
        salts=[world.salt(n) for n in range(len(bodies))],
        known={},
        spans={},
    )
    assert [leaf.position for leaf in batch.leaves] == [0, len(bodies) - 1]
    assert [refusal.position for refusal in batch.poison] == list(range(1, len(bodies) - 1))
    assert [refusal.rid for refusal in batch.poison][:3] == ["", "", "x"]
    assert "expected r1, got r2" in batch.poison[3].message


def test_a_run_end_says_where_its_usage_stands(world: Any) -> None:
    world.append(world.usage(1), world.usage(1, rank=1))
    batch = world.append(world.usage(2), run_end(world), run_end(world, run="1-1.1"))
    ends = [records.parse_record(leaf.data) for leaf in batch.leaves[1:]]
    assert (ends[0]["first_seq"], ends[0]["last_seq"]) == (0, 2)
    assert "first_seq" not in ends[1]
    assert records.body_digest(ends[0]) == records.body_digest(run_end(world))
    assert world.append(run_end(world)).replays == (0,)


def test_heartbeats_and_key_rotations_are_numbered_without_gaps(world: Any) -> None:
    for number in (1, 2):
        assert b"heartbeat/%d" % number in sequence.next_heartbeat(world.state)
        world.append(canonical.parse(sequence.next_heartbeat(world.state)))
    rotation = sequence.next_key_rotation(world.state, old_vkey="a", new_vkey="b")
    world.append(canonical.parse(rotation))
    assert (world.state.heartbeats, world.state.key_rotations) == (2, 1)
    batch = world.append(records.heartbeat("r1", 4))
    assert "expected heartbeat/3" in batch.poison[0].message
    assert len(world.leaves) == 3


def test_nothing_is_signed_beyond_durable_leaves(world: Any) -> None:
    world.append(world.usage(1), world.usage(2))
    signed = sequence.sign_durable(CompactRange(), world.leaves, world.state, world.log)
    received = Note.parse(signed)
    assert received.verified([world.log.key])
    assert Checkpoint.parse(received.text) == world.state.head()
    before = world.state.edge.range
    world.append(world.usage(3))
    assert sequence.sign_durable(before, world.leaves[2:], world.state, world.log)
    bent = world.leaves[2].replace(b"240000", b"240001")
    for reread in ([], [bent], [*world.leaves[2:], b"more"]):
        with pytest.raises(IntertieError, match="Do not sign") as caught:
            sequence.sign_durable(before, reread, world.state, world.log)
        assert caught.value.reason is Reason.DIGEST_MISMATCH


@given(
    deliveries=st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2)), max_size=20),
    data=st.data(),
)
def test_however_bodies_are_delivered_each_rid_is_sequenced_once(
    deliveries: list[tuple[int, int]], data: st.DataObject, make_world: Any
) -> None:
    world = make_world()
    first: dict[int, int] = {}
    while deliveries:
        cut = data.draw(st.integers(1, len(deliveries)))
        for interval, quantity in deliveries[:cut]:
            first.setdefault(interval, quantity)
        batch = world.append(*(world.usage(i, quantity=q) for i, q in deliveries[:cut]))
        assert len(batch.leaves) + len(batch.replays) + len(batch.conflicts) == cut
        deliveries = deliveries[cut:]
    found = [records.parse_record(leaf) for leaf in world.leaves]
    assert [record["quantity"] for record in found] == list(first.values())
    assert [record["seq"] for record in found] == list(range(len(first)))
