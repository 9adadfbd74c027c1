"""The token bucket: never over the rate, never starving who keeps to it, never growing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.errors import IntertieError, Reason
from intertie.pki.identity import ANONYMOUS, Identity
from intertie.pki.spiffe import parse
from intertie.ports import Now
from intertie.transport.call import Call
from intertie.transport.layers import bounds
from intertie.transport.layers.bounds import BoundsLayer, Limits

MS = 1_000_000


def call(at_ms: int, name: str = "ann", *, streaming: bool = False) -> Call:
    identity = Identity.of(
        parse(f"spiffe://intertie.example/admin/{name}", "intertie.example"),
        serial="1",
        not_before_ms=0,
        not_after_ms=1,
    )
    context: Any = None
    return Call(
        "/test.Echo/Say", streaming, context, None, Now(at_ms * MS, "boot", 0), identity, identity
    )


def admitted(layer: BoundsLayer, at_ms: int) -> bool:
    try:
        layer.enter(call(at_ms))
    except IntertieError:
        return False
    return True


@given(gaps=st.lists(st.integers(0, 500), min_size=1, max_size=200))
def test_no_window_admits_more_than_burst_and_rate_allow(gaps: list[int]) -> None:
    layer = BoundsLayer(Limits(calls_per_s=10, burst=5))
    at_ms, times = 0, []
    for gap in gaps:
        at_ms += gap
        if admitted(layer, at_ms):
            times.append(at_ms)
    for index, start in enumerate(times):
        for count, end in enumerate(times[index:], 1):
            assert count <= 5 + (end - start) / 100 + 1e-6


def test_who_keeps_to_the_rate_is_never_refused() -> None:
    layer = BoundsLayer(Limits(calls_per_s=10, burst=1))
    assert all(admitted(layer, at_ms) for at_ms in range(0, 100_000, 101))


def test_the_told_wait_is_enough() -> None:
    layer = BoundsLayer(Limits(calls_per_s=3, burst=1))
    layer.enter(call(0))
    with pytest.raises(IntertieError) as caught:
        layer.enter(call(0))
    wait_ms = caught.value.retry_after_ms
    assert wait_ms is not None
    assert caught.value.reason is Reason.RATE_LIMITED
    assert admitted(layer, wait_ms)


def test_places_of_streams_come_back() -> None:
    layer = BoundsLayer(Limits(streams=2))
    first, second = call(0, streaming=True), call(0, streaming=True)
    layer.enter(first)
    layer.enter(second)
    with pytest.raises(IntertieError, match="2 streams open"):
        layer.enter(call(0, streaming=True))
    layer.leave(first, "OK")
    layer.enter(call(0, streaming=True))


def test_quiet_identities_are_forgotten_and_streaming_ones_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounds, "MAX_BUCKETS", 3)
    layer = BoundsLayer(Limits())
    stream = call(0, "streamer", streaming=True)
    layer.enter(stream)
    for number in range(10):
        layer.enter(call(number, f"n{number}"))
    assert len(layer._buckets) == 3
    layer.leave(stream, "OK")


def test_unnamed_peers_are_counted_by_address() -> None:
    class Context:
        def __init__(self, peer: str) -> None:
            self._peer = peer

        def peer(self) -> str:
            return self._peer

    layer = BoundsLayer(Limits(calls_per_s=0.1, burst=1))

    def unnamed(peer: str) -> Call:
        context: Any = Context(peer)
        return Call("/m", False, context, None, Now(0, "boot", 0), ANONYMOUS, ANONYMOUS)

    layer.enter(unnamed("ipv4:10.0.0.1:5000"))
    layer.enter(unnamed("ipv4:10.0.0.2:5000"))
    with pytest.raises(IntertieError):
        layer.enter(unnamed("ipv4:10.0.0.1:5001"))
