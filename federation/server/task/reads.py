"""Reads of tasks: live ones from the committed view, final ones from the store.

What a caller may not see is not found. Must not change anything.
"""

from collections.abc import Sequence
from dataclasses import replace

from federation.domain import answers
from federation.domain.core import DONE, LIVE, SPEC, FederationCore
from federation.domain.routing.decisions import DECISION
from intertie.drive.drive import unconfirmed
from intertie.errors import IntertieError, Reason, error, invalid
from intertie.model.decision import Decision
from intertie.model.names import PROJECT, TaskName, shard_of_id
from intertie.model.spec import TaskSpec
from intertie.model.task import Task
from intertie.ports import Clock, Row
from intertie.store.codec import decoder
from intertie.store.pump import Pump

decode_task = decoder(Task)
decode_spec = decoder(TaskSpec)
decode_decision = decoder(Decision)


class Tasks:
    """See the module's text."""

    def __init__(self, pump: Pump, clock: Clock) -> None:
        self._pump = pump
        self._clock = clock

    @property
    def core(self) -> FederationCore:
        """The core, for questions that change nothing. Raises while the store is away."""
        core = self._pump.drive.core
        if core is None:
            raise unconfirmed()
        assert isinstance(core, FederationCore), "the pump drives another core"
        return core

    async def get(self, name: TaskName) -> Task:
        """The committed state of a task. Raises NOT_FOUND."""
        task = self._live(name.id)
        if task is None and name.shard in self._pump.heads:
            body = await self._pump.store.get(name.shard, DONE, name.id)
            # It may have ended between the two looks, never the other way round.
            task = self._whole(decode_task(body)) if body is not None else None
        if task is None or task.project != name.project:
            raise not_found(name)
        return task

    async def decision(self, task: Task, run: int) -> Decision:
        """The decision that began a run of a task. Raises NOT_FOUND."""
        key = next((r.decision for r in task.runs if r.n == run), "")
        body = None
        if key:
            body = await self._pump.store.get(shard_of_id(key.partition("/")[0]), DECISION, key)
        if body is None:
            raise error(
                Reason.NOT_FOUND,
                f"No decision about run {run} of {task.name} is kept.",
                remedy="Decisions are kept for 7 days; see the runs (intertie task runs).",
                metadata={"resource": str(task.name)},
            )
        return decode_decision(body)

    def shown(self, task: Task) -> Task:
        """A task as it is shown: with why it waits at this moment."""
        core = self._pump.drive.core
        if task.is_final or not isinstance(core, FederationCore):
            return task
        return replace(task, wait=answers.wait_of(core, task, self._clock.now()))

    async def page(self, project: str, before: str, limit: int) -> Sequence[tuple[str, Task]]:
        """Tasks of a project, newest first, each with its order; live and final ones together."""
        store = self._pump.store
        found: dict[str, Row] = {}
        for kind in (LIVE, DONE):  # in this order: one that ends meanwhile is seen at least once
            rows = await store.list_rows(kind, project, before=before, limit=limit, descending=True)
            found.update((row.ord, row) for row in rows)
        newest = sorted(found.values(), key=lambda row: row.ord, reverse=True)[:limit]
        return [(row.ord, self._read(row)) for row in newest]

    def _read(self, row: Row) -> Task:
        live = self._live(row.key) if row.kind == LIVE else None
        return live if live is not None else self._whole(decode_task(row.body))

    def _live(self, id_: str) -> Task | None:
        task = self._pump.drive.view.get(LIVE, id_)
        if task is None:
            return None
        assert isinstance(task, Task), "another kind of value among the tasks"
        return self._whole(task)

    def _whole(self, task: Task) -> Task:
        """Tasks of an array share one stored spec."""
        if task.spec is not None:
            return task
        spec = self._pump.drive.view.get(SPEC, task.spec_ref)
        assert isinstance(spec, TaskSpec), f"no spec {task.spec_ref}"
        return replace(task, spec=spec)


def parse_project(parent: str, field: str = "parent") -> str:
    """The project of `projects/{project}`."""
    collection, _, project = parent.partition("/")
    if collection != "projects" or not PROJECT.fullmatch(project):
        raise invalid(field, f"{parent[:120]!r} is not projects/PROJECT")
    return project


def not_found(name: object) -> IntertieError:
    """NOT_FOUND for a task or run."""
    return error(
        Reason.NOT_FOUND,
        f"There is no {name}.",
        remedy="List what there is (intertie task list).",
        metadata={"resource": str(name)},
    )
