"""The decisions of holding a key, event by event, with no event loop and no etcd."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.ports import Now
from intertie.store.etcd.tenure import (
    DRIFT,
    NANO,
    Check,
    Claim,
    Claimed,
    Close,
    Effect,
    Event,
    Failed,
    Grant,
    Granted,
    KeyGone,
    LeaseGone,
    Refused,
    Renew,
    Renewed,
    Revoke,
    State,
    Tell,
    Tenure,
    WakeAt,
    Woken,
)

TTL_S = 6
FENCE_S = TTL_S * (1 - DRIFT)


def at(seconds: float, boot_id: str = "boot") -> Now:
    return Now(boot_ns=int(seconds * NANO), boot_id=boot_id, utc_ms=0)


def ns(seconds: float) -> int:
    return int(seconds * NANO)


def holding(sent_s: float = 10.0) -> Tenure:
    tenure = Tenure(TTL_S)
    tenure.begin(at(sent_s))
    tenure.handle(Granted(lease=7, ttl_s=TTL_S, sent_ns=ns(sent_s)), at(sent_s + 0.1))
    tenure.handle(Claimed(lease=7), at(sent_s + 0.2))
    return tenure


def test_a_tenure_grants_then_claims_then_tells_that_it_holds() -> None:
    tenure = Tenure(TTL_S)
    assert tenure.begin(at(10)) == [Grant(TTL_S)]
    assert tenure.handle(Granted(7, TTL_S, ns(10)), at(10.1)) == [
        Claim(7),
        WakeAt(ns(10 + FENCE_S)),
    ]
    assert not tenure.is_held(at(10.1))
    assert tenure.handle(Claimed(7), at(10.2)) == [WakeAt(ns(12)), Tell(held=True)]
    assert tenure.is_held(at(10.2))


def test_the_fence_counts_from_the_sending_and_not_from_the_answer() -> None:
    tenure = Tenure(TTL_S)
    tenure.begin(at(10))
    tenure.handle(Granted(7, TTL_S, ns(10)), at(15))
    tenure.handle(Claimed(7), at(15.5))
    assert tenure.is_held(at(10 + FENCE_S - 0.001))
    assert not tenure.is_held(at(10 + FENCE_S))


def test_a_longer_lease_than_was_asked_for_is_believed() -> None:
    tenure = Tenure(1)
    tenure.begin(at(10))
    tenure.handle(Granted(7, TTL_S, ns(10)), at(10.1))
    tenure.handle(Claimed(7), at(10.2))
    assert tenure.is_held(at(15))


def test_a_renewal_moves_the_fence_and_looks_after_the_key() -> None:
    tenure = holding()
    assert tenure.handle(Woken(), at(12)) == [
        Renew(7, within_ns=ns(1.2)),
        WakeAt(ns(10 + FENCE_S)),
    ]
    assert tenure.handle(Renewed(7, TTL_S, ns(12)), at(12.1)) == [Check(7), WakeAt(ns(14))]
    assert tenure.is_held(at(12 + FENCE_S - 0.001))


def test_an_old_answer_never_moves_the_fence_back() -> None:
    tenure = holding()
    tenure.handle(Renewed(7, TTL_S, ns(13)), at(13.1))
    tenure.handle(Renewed(7, TTL_S, ns(12)), at(13.2))
    assert tenure.is_held(at(13 + FENCE_S - 0.001))


def test_a_failed_renewal_is_repeated_soon_and_the_fence_stays() -> None:
    tenure = holding()
    tenure.handle(Woken(), at(12))
    assert tenure.handle(Failed(7), at(13)) == [WakeAt(ns(13.5))]
    assert tenure.handle(Woken(), at(13.5))[0] == Renew(7, within_ns=ns(1.2))
    assert not tenure.is_held(at(10 + FENCE_S))


def test_passing_the_fence_is_told_even_while_a_renewal_is_under_way() -> None:
    tenure = holding()
    tenure.handle(Woken(), at(12))
    assert tenure.handle(Woken(), at(10 + FENCE_S)) == [Tell(held=False)]


def test_a_lease_that_lived_on_behind_the_fence_is_held_again() -> None:
    tenure = holding()
    tenure.handle(Woken(), at(30))
    assert Tell(held=True) in tenure.handle(Renewed(7, TTL_S, ns(30)), at(30.1))


def test_a_lease_that_is_gone_is_replaced_by_another() -> None:
    tenure = holding()
    tenure.handle(Woken(), at(12))
    effects = tenure.handle(LeaseGone(7), at(12.1))
    assert effects[0] == Grant(TTL_S)
    assert Tell(held=False) in effects
    assert tenure.handle(Claimed(7), at(12.2)) == []
    tenure.handle(Granted(8, TTL_S, ns(12.2)), at(12.3))
    assert Tell(held=True) in tenure.handle(Claimed(8), at(12.4))


def test_a_key_that_is_gone_is_claimed_again_under_the_same_lease() -> None:
    tenure = holding()
    effects = tenure.handle(KeyGone(7), at(12.1))
    assert effects[0] == Claim(7)
    assert Tell(held=False) in effects


def test_a_claim_without_an_answer_is_repeated() -> None:
    tenure = Tenure(TTL_S)
    tenure.begin(at(10))
    tenure.handle(Granted(7, TTL_S, ns(10)), at(10.1))
    tenure.handle(Failed(7), at(11))
    assert tenure.handle(Woken(), at(11.5))[0] == Claim(7)


def test_a_grant_without_an_answer_is_repeated() -> None:
    tenure = Tenure(TTL_S)
    tenure.begin(at(10))
    assert tenure.handle(Failed(0), at(11)) == [WakeAt(ns(11.5))]
    assert tenure.handle(Woken(), at(11.5)) == [Grant(TTL_S)]


def test_a_rival_ends_it_and_the_lease_is_given_back() -> None:
    tenure = Tenure(TTL_S)
    tenure.begin(at(10))
    tenure.handle(Granted(7, TTL_S, ns(10)), at(10.1))
    assert tenure.handle(Refused(7), at(10.2)) == [Revoke(7)]
    assert tenure.state is State.REFUSED
    assert tenure.handle(Woken(), at(11)) == []


def test_closing_gives_the_lease_back_and_ends_the_holding() -> None:
    tenure = holding()
    assert tenure.handle(Close(), at(11)) == [Revoke(7), Tell(held=False)]
    assert not tenure.is_held(at(11))


def test_a_grant_that_arrives_after_closing_is_given_back() -> None:
    tenure = Tenure(TTL_S)
    tenure.begin(at(10))
    assert tenure.handle(Close(), at(10.1)) == []
    assert tenure.handle(Granted(7, TTL_S, ns(10)), at(10.2)) == [Revoke(7)]


def test_a_reading_of_another_boot_is_never_held() -> None:
    assert not holding().is_held(at(10.3, boot_id="another"))


@pytest.mark.parametrize("event", [Claimed(6), Refused(6), Renewed(6, TTL_S, 0), LeaseGone(6)])
def test_events_about_an_earlier_lease_change_nothing(event: Event) -> None:
    tenure = holding()
    assert tenure.handle(event, at(11)) == []
    assert tenure.state is State.HOLDING


class Server:
    """etcd as the fence must fear it: ends leases on the dot, counted from when a message came.

    Its clock runs fast and the holder's slow, both by the most that assumption C1 allows.
    """

    RATE = (1 + 1e-3) / (1 - 1e-3)

    def __init__(self) -> None:
        self.ends: dict[int, float] = {}
        self.owner = 0

    def tick(self, now_s: float) -> None:
        for lease in [n for n, end in self.ends.items() if now_s * self.RATE >= end]:
            del self.ends[lease]
            self.owner = 0 if self.owner == lease else self.owner

    def extend(self, lease: int, now_s: float) -> None:
        self.ends[lease] = now_s * self.RATE + TTL_S


LOSSES = st.sampled_from(["nothing", "the request", "the answer"])


@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0, 3), LOSSES), max_size=60))
def test_a_held_key_is_never_one_that_the_server_dropped(
    steps: list[tuple[float, float, str]],
) -> None:
    """Requests arrive late, answers arrive later or never; whatever comes, the fence is in time."""
    server, tenure, now_s, checked_s, lease = Server(), Tenure(TTL_S), 10.0, 10.0, 0
    effects: list[Effect] = tenure.begin(at(now_s))

    def check(until_s: float) -> None:
        """Now, and at the last instant of the fence if that has just gone by."""
        nonlocal checked_s
        last_s = tenure._fence_ns / NANO - 1e-6
        for instant_s in ([last_s] if checked_s < last_s < until_s else []) + [until_s]:
            server.tick(instant_s)
            assert not tenure.is_held(at(instant_s)) or server.owner == tenure.lease
        checked_s = until_s

    for there_s, back_s, lost in steps:
        sent_ns = ns(now_s)
        event: Granted | Claimed | Renewed | LeaseGone | Failed | None = None
        now_s += there_s
        check(now_s)
        for effect in effects:
            match effect:
                case Grant() | Claim() | Renew() if lost == "the request":
                    event = Failed(0 if isinstance(effect, Grant) else effect.lease)
                case Grant():
                    lease += 1
                    server.extend(lease, now_s)
                    event = Granted(lease, TTL_S, sent_ns)
                case Claim() if effect.lease in server.ends:
                    server.owner = effect.lease
                    event = Claimed(effect.lease)
                case Renew() if effect.lease in server.ends:
                    server.extend(effect.lease, now_s)
                    event = Renewed(effect.lease, TTL_S, sent_ns)
                case Claim() | Renew():
                    event = LeaseGone(effect.lease)
        now_s += back_s
        check(now_s)
        if event is not None and lost == "the answer":
            event = Failed(0 if isinstance(event, Granted) else event.lease)
        effects = tenure.handle(event or Woken(), at(now_s))
        check(now_s)
