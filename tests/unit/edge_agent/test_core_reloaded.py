"""A core that was discarded may have launched what the next one does not know of."""

from typing import Any

from edge_agent.domain.events import Halt
from intertie.model.states import Outcome, RunState


def test_no_end_is_told_before_the_keeper_was_asked(desk: Any) -> None:
    order = desk.start()
    desk.restart()
    desk.attach()
    desk.stop(order, Outcome.SUPERSEDED)
    assert RunState.ENDED not in [update.state for update in desk.updates(order)]
    out = desk.keeper(desk.process(order, running=True))
    assert [effect.key.token for effect in out if isinstance(effect, Halt)] == [order.token]
