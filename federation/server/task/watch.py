"""Watching tasks: a resumable cursor over the change logs of all shards.

A resume token holds the number of the last change seen in each shard, so a watcher that comes back
misses none and sees none twice. Reads go no faster than the watcher takes them; nothing is queued
for it.
"""

from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec

from federation.server.task.changes import Changes
from federation.server.task.reads import Tasks, parse_project
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.drive.drive import Logged
from intertie.errors import IntertieError, Reason, error, invalid
from intertie.model.names import TaskName
from intertie.model.task import Task, TaskEvent
from intertie.ports import Clock
from intertie.wire.tasks import event_to_pb, task_to_pb
from intertie.wire.tokens import Tokens, invalid_token

MAX_NAMED = 1_000
PAGE = 200
"""Changes of one shard in one message."""
HEARTBEAT_S = 5.0
_PURPOSE = "watch"
_MS = 1_000_000

Cursor = dict[int, int]
"""The last number seen, by shard."""


class Watches:
    """Serves WatchTasks."""

    def __init__(
        self,
        changes: Changes,
        tasks: Tasks,
        tokens: Tokens,
        clock: Clock,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self._changes = changes
        self._tasks = tasks
        self._tokens = tokens
        self._clock = clock
        self._heartbeat_s = heartbeat_s

    async def watch(self, request: pb.WatchTasksRequest) -> AsyncIterator[pb.WatchTasksResponse]:
        """Stream changes for ever, each with where to go on; heartbeats when nothing happens."""
        project = parse_project(request.parent)
        named = _named(request.tasks, project)
        bound = (project, *sorted(named))
        shards = sorted({n.shard for n in named.values()}) if named else self._changes.shards
        cursor = self._start(request.resume_token, bound, shards)
        if request.send_initial:
            found = [await self._tasks.get(name) for name in named.values()]
            shown = [task_to_pb(self._tasks.shown(task)) for task in found]
            yield pb.WatchTasksResponse(tasks=shown, resume_token=self._token(bound, cursor))
        sent_ns = self._clock.now().boot_ns
        while True:
            entries = await self._next(cursor, project, named)
            now_ns = self._clock.now().boot_ns
            if entries:
                yield await self._response(entries, bound, cursor)
                sent_ns = now_ns
            elif now_ns - sent_ns >= self._heartbeat_s * 1000 * _MS:
                yield pb.WatchTasksResponse(resume_token=self._token(bound, cursor))
                sent_ns = now_ns
            elif not self._behind(cursor):
                left_s = self._heartbeat_s - (now_ns - sent_ns) / 1e9
                await self._changes.wait(max(left_s, 0.0))

    def _behind(self, cursor: Cursor) -> Sequence[int]:
        return [shard for shard, seq in cursor.items() if self._changes.head(shard) > seq]

    async def _next(
        self, cursor: Cursor, project: str, named: Mapping[str, TaskName]
    ) -> Sequence[Logged]:
        """Move the cursor past one page of each shard; the entries that the watcher may see."""
        entries: list[Logged] = []
        for shard in self._behind(cursor):
            page = await self._changes.after(shard, cursor[shard], PAGE)
            if page:
                cursor[shard] = page[-1].seq
            entries += [
                entry
                for entry in page
                if entry.scope == project and (not named or entry.key in named)
            ]
            if len(entries) >= PAGE:
                break
        return entries

    async def _response(
        self, entries: Sequence[Logged], bound: Sequence[str], cursor: Cursor
    ) -> pb.WatchTasksResponse:
        response = pb.WatchTasksResponse(resume_token=self._token(bound, cursor))
        changed: dict[str, TaskName] = {}
        for entry in entries:
            event = entry.value
            assert isinstance(event, TaskEvent), "the log of tasks holds their events"
            response.events.append(event_to_pb(event))
            changed[entry.key] = TaskName(entry.scope, entry.key)
        for name in changed.values():
            task = await self._known(name)
            if task is None:
                continue  # forgotten since: its changes are all that is left
            response.tasks.append(task_to_pb(self._tasks.shown(task)))
        return response

    async def _known(self, name: TaskName) -> Task | None:
        try:
            return await self._tasks.get(name)
        except IntertieError as problem:
            if problem.reason is not Reason.NOT_FOUND:
                raise
            return None

    # --- tokens ----------------------------------------------------------------------------------

    def _start(self, token: str, bound: Sequence[str], shards: Sequence[int]) -> Cursor:
        heads = {shard: self._changes.head(shard) for shard in shards}
        if not token:
            return heads
        payload = self._tokens.open(_PURPOSE, bound, token, "resume_token")
        cursor: Cursor = msgspec.msgpack.decode(payload, type=dict[int, int])
        if any(seq > heads.get(shard, -1) for shard, seq in cursor.items()):
            raise invalid_token("resume_token", "is ahead of the store, which was restored")
        return cursor

    def _token(self, bound: Sequence[str], cursor: Cursor) -> str:
        return self._tokens.seal(_PURPOSE, bound, msgspec.msgpack.encode(cursor))


def _named(names: Sequence[str], project: str) -> dict[str, TaskName]:
    if len(names) > MAX_NAMED:
        raise error(
            Reason.TOO_LARGE,
            f"tasks: {len(names)} names; the limit is {MAX_NAMED}.",
            remedy="Watch the whole project.",
        )
    parsed = [TaskName.parse(text, f"tasks[{i}]") for i, text in enumerate(names)]
    for i, name in enumerate(parsed):
        if name.project != project:
            raise _elsewhere(i, project)
    return {name.id: name for name in parsed}


def _elsewhere(i: int, project: str) -> IntertieError:
    return invalid(f"tasks[{i}]", f"is not in projects/{project}, the parent")
