"""The fast reader against the plain one: same records, same refusals."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from intertie.metering import records
from intertie.metering.audit.reader import MAX_SHAPES, RecordReader
from intertie.metering.faults import MeteringError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


def outcome(read: Callable[[bytes], Any], leaf: bytes) -> object:
    try:
        return list(read(leaf).items())
    except MeteringError as fault:
        return fault.fault


@given(data=st.data())
def test_both_readers_say_the_same_of_any_leaf(
    data: st.DataObject, make_world: Callable[[], Any]
) -> None:
    world = make_world()
    reader = RecordReader()
    leaf = records.seal(world.usage(), seq=0, recorded_ms=1, salt="0" * 32)
    assert reader.read(leaf) == records.parse_record(leaf)
    for _ in range(4):
        at = data.draw(st.integers(0, len(leaf)))
        end = data.draw(st.integers(at, min(at + 3, len(leaf))))
        middle = data.draw(TEXTS.map(str.encode) | st.binary(max_size=2))
        bent = leaf[:at] + middle + leaf[end:]
        assert outcome(reader.read, bent) == outcome(records.parse_record, bent)


@given(data=st.data())
def test_both_readers_say_the_same_of_any_value(
    data: st.DataObject, make_world: Callable[[], Any]
) -> None:
    world = make_world()
    reader = RecordReader()
    body = world.usage() | {"model": "H200", "class": "spot"}
    reader.read(records.seal(body, seq=0, recorded_ms=1, salt="0" * 32))
    name = data.draw(st.sampled_from(sorted(body)))
    value = data.draw(
        st.integers(-5, 2**53 - 1) | st.booleans() | st.text('a\\"é/~ 0.', max_size=4)
    )
    leaf = records.seal(body | {name: value}, seq=0, recorded_ms=1, salt="0" * 32)
    assert outcome(reader.read, leaf) == outcome(records.parse_record, leaf)


def test_shapes_are_remembered_up_to_a_limit(world: Any) -> None:
    reader = RecordReader()
    names = ["model", "isolation", "class", "evidence_sha256"]
    for mask in range(16):
        extra = {name: "ab" * 32 for bit, name in enumerate(names) if mask >> bit & 1}
        leaf = records.seal(world.usage() | extra, seq=0, recorded_ms=1, salt="0" * 32)
        for _ in range(2):
            assert reader.read(leaf) == records.parse_record(leaf)
    assert len(reader._forms) == MAX_SHAPES
    beat = records.seal(records.heartbeat("r1", 1), seq=0, recorded_ms=1, salt="0" * 32)
    assert reader.read(beat) == records.parse_record(beat)
