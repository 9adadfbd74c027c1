"""Final tasks are forgotten after their time; what others still need of them stays.

With a final task goes its row, and with the last task of an array the spec that they shared. Its
changes stay in the change log, its grants for whoever checks bills. Must never touch a live task.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from federation.domain.routing.decisions import DECISION
from intertie.drive.effects import Erase, Reply
from intertie.model.names import order_of_id

if TYPE_CHECKING:
    from federation.domain.core import FederationCore

_UUID_MS_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetTasks:
    """Final tasks of a shard are due, and shared specs to which no final task refers.

    Answered with how many rows went.
    """

    ticket: int
    shard: int
    tasks: tuple[str, ...] = ()
    specs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetDecisions:
    """Decisions of a shard are due. Answered with how many rows went."""

    ticket: int
    shard: int
    decisions: tuple[str, ...]


def created_ms_of(key: str) -> int:
    """When the task was made whose id a key begins with, in UTC ms: ids hold it (UUIDv7)."""
    return int(order_of_id(key).replace("-", "")[:_UUID_MS_DIGITS], 16)


def forget(
    core: "FederationCore", event: ForgetTasks | ForgetDecisions, done: str, spec: str
) -> None:
    """Erase rows of the kinds `done` and `spec`; a spec stays while a live task shares it.

    Of decisions nothing is needed but by whoever asks to have one made again.
    """
    if isinstance(event, ForgetDecisions):
        for key in event.decisions:
            core.emit(Erase(event.shard, DECISION, key))
        core.emit(Reply(event.ticket, len(event.decisions)))
        return
    for id_ in event.tasks:
        assert id_ not in core.tasks, "a live task is not forgotten"
        core.emit(Erase(event.shard, done, id_))
    shared = {task.spec_ref for task in core.tasks.values()} if event.specs else set()
    specs = [ref for ref in event.specs if ref not in shared]
    for ref in specs:
        core.emit(Erase(event.shard, spec, ref))
    core.emit(Reply(event.ticket, len(event.tasks) + len(specs)))
