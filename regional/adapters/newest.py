"""Of several updates of a run that leave together only the newest need go: each is the whole state.

Placing, staging and starting often fall into one commit; the federation would write each of them
for nobody to see. That a run runs, and how it ends, is always told. Must not reorder.
"""

from collections.abc import Sequence

from intertie.model.link import RunUpdate
from intertie.model.states import RunState
from regional.domain.events import ToFederation

_ALWAYS_TOLD = frozenset({RunState.RUNNING, RunState.STOPPING, RunState.ENDED})


def newest_only(effects: Sequence[object]) -> Sequence[object]:
    """The effects of one release without the updates that a later one of them replaces."""
    kept: list[object] = []
    later: set[tuple[str, int]] = set()
    for effect in reversed(effects):
        if isinstance(effect, ToFederation) and isinstance(effect.message, RunUpdate):
            run = (effect.message.task, effect.link)
            if run in later and effect.message.state not in _ALWAYS_TOLD:
                continue
            later.add(run)
        kept.append(effect)
    kept.reverse()
    return kept
