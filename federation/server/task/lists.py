"""Lists: tasks, events, runs and outputs, page by page (AIP-158).

A page token holds where to go on and is bound to the other arguments. Must not read a whole project
to fill one page: a filter that matches little gives short pages, not slow ones.
"""

from collections.abc import Sequence

from federation.server.task.filters import Filter, parse_filter
from federation.server.task.reads import Tasks, not_found, parse_project
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.errors import invalid
from intertie.model.names import RunName, TaskName
from intertie.model.task import Run, StoredFile, Task, TaskEvent
from intertie.ports import Store
from intertie.store.codec import decoder
from intertie.wire.tasks import event_to_pb, run_to_pb, task_to_pb
from intertie.wire.tokens import Tokens

MAX_PAGE = 1_000
MAX_LOOKED_AT = 5_000
"""Tasks that one call looks at, at most, to find those that match."""
_LOOK = 500

decode_event = decoder(TaskEvent)


class Lists:
    """Serves the List methods and GetRun."""

    def __init__(self, tasks: Tasks, store: Store, tokens: Tokens) -> None:
        self._tasks = tasks
        self._store = store
        self._tokens = tokens

    async def tasks(self, request: pb.ListTasksRequest) -> pb.ListTasksResponse:
        """Tasks that match, newest first."""
        project = parse_project(request.parent)
        wanted = parse_filter(request.filter)
        size = page_size(request.page_size, 50)
        bound = (project, request.filter)
        before = self._opened("tasks", bound, request.page_token)
        found, before = await self._matching(project, wanted, size, before)
        return pb.ListTasksResponse(
            tasks=[task_to_pb(self._tasks.shown(task)) for task in found],
            next_page_token=self._sealed("tasks", bound, before),
        )

    async def _matching(
        self, project: str, wanted: Filter, size: int, before: str
    ) -> tuple[Sequence[Task], str]:
        """Up to `size` tasks, and the order below which to go on ("" = there is no more)."""
        found: list[Task] = []
        looked_at = 0
        while looked_at < MAX_LOOKED_AT:
            limit = _LOOK if wanted.comparisons else size - len(found) + 1
            page = await self._tasks.page(project, before, limit)
            for order, task in page:
                if len(found) == size:
                    return found, before
                before = order
                if wanted.matches(task):
                    found.append(task)
            if len(page) < limit:
                return found, ""
            looked_at += len(page)
        return found, before

    async def events(self, request: pb.ListTaskEventsRequest) -> pb.ListTaskEventsResponse:
        """The changes of a task, oldest first."""
        name = TaskName.parse(request.parent, "parent")
        await self._tasks.get(name)
        size = page_size(request.page_size, 100)
        bound = (str(name),)
        after = int(self._opened("events", bound, request.page_token) or 0)
        found = await self._store.events(name.shard, after, limit=size + 1, key=name.id)
        more = str(found[size - 1].seq) if len(found) > size else ""
        return pb.ListTaskEventsResponse(
            events=[event_to_pb(decode_event(event.body)) for event in found[:size]],
            next_page_token=self._sealed("events", bound, more),
        )

    async def run(self, text: str) -> Run:
        """One run of a task."""
        name = RunName.parse(text)
        task = await self._tasks.get(name.task)
        return run_of(task, name.n)

    async def runs(self, request: pb.ListRunsRequest) -> pb.ListRunsResponse:
        """The runs of a task, oldest first."""
        name = TaskName.parse(request.parent, "parent")
        task = await self._tasks.get(name)
        size = page_size(request.page_size, MAX_PAGE)
        bound = (str(name),)
        after = int(self._opened("runs", bound, request.page_token) or 0)
        left = [run for run in task.runs if run.n > after]
        more = str(left[size - 1].n) if len(left) > size else ""
        return pb.ListRunsResponse(
            runs=[run_to_pb(run) for run in left[:size]],
            next_page_token=self._sealed("runs", bound, more),
        )

    async def outputs(self, request: pb.ListTaskOutputsRequest) -> pb.ListTaskOutputsResponse:
        """The results of a task, by path."""
        name = TaskName.parse(request.parent, "parent")
        task = await self._tasks.get(name)
        size = page_size(request.page_size, MAX_PAGE)
        bound = (str(name),)
        after = self._opened("outputs", bound, request.page_token)
        left = [found for found in outputs_of(task) if found[0].path > after]
        more = left[size - 1][0].path if len(left) > size else ""
        return pb.ListTaskOutputsResponse(
            outputs=[
                pb.TaskOutput(path=f.path, sha256=f.sha256, size_bytes=f.size, run=run.n)
                for f, run in left[:size]
            ],
            next_page_token=self._sealed("outputs", bound, more),
        )

    def _opened(self, purpose: str, bound: Sequence[str], token: str) -> str:
        if not token:
            return ""
        return self._tokens.open(purpose, bound, token, "page_token").decode()

    def _sealed(self, purpose: str, bound: Sequence[str], position: str) -> str:
        return self._tokens.seal(purpose, bound, position.encode()) if position else ""


def outputs_of(task: Task) -> Sequence[tuple[StoredFile, Run]]:
    """The newest file under each path, with the run that made it, by path."""
    newest = {file.path: (file, run) for run in task.runs for file in run.outputs}
    return [newest[path] for path in sorted(newest)]


def run_of(task: Task, n: int) -> Run:
    """A run by its number, 0 = the newest. Raises NOT_FOUND."""
    run = task.run if n == 0 else next((run for run in task.runs if run.n == n), None)
    if run is None:
        raise not_found(RunName(task.name, n) if n else f"run of {task.name} yet")
    return run


def page_size(size: int, default: int) -> int:
    """How many to return; AIP-158 cuts what is too large and refuses what is negative."""
    if size < 0:
        raise invalid("page_size", "must not be negative")
    return min(size or default, MAX_PAGE)
