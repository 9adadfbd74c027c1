"""Submitting and cancelling: from a request to an event, and from its durable answer back.

Checks here are of the request alone; what depends on state is the core's. Items of a batch go to
the core at once, so they share a commit, and each has its own result.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from federation.domain.blobs import blobs_of
from federation.domain.core import REQUESTS
from federation.domain.events import CancelTask, CreateTask
from federation.server.task.reads import Tasks, parse_project
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.api.federation.v1 import task_spec_pb2
from intertie.drive.effects import Replayed
from intertie.errors import FieldViolation, IntertieError, Reason, error, invalid
from intertie.model.names import REQUEST_ID, TaskName, shard_of, task_id
from intertie.model.spec import TaskSpec
from intertie.model.states import TaskState
from intertie.model.task import Task
from intertie.model.validate import validate, with_defaults
from intertie.pki.identity import Identity
from intertie.ports import Clock, IdSource
from intertie.residency import NONE, Policy
from intertie.residency.areas import check_against
from intertie.store.pump import Make, Named, Pump
from intertie.transport.status import status_of
from intertie.wire.canonical import request_digest, spec_sha256
from intertie.wire.tasks import spec_from_pb

MAX_BATCH = 1_000
MAX_REASON = 1_000
_UNSERVED_ORDER = "is not served by this version"


class Uploads(Protocol):
    """What projects have uploaded, see `federation.server.blob.rights`."""

    async def missing(self, project: str, digests: Iterable[str]) -> frozenset[str]:
        """The digests that a project has not uploaded."""
        ...


class Submissions:
    """Makes and ends tasks.

    Args:
        pump: the core.
        tasks: reads, for what a replayed request made.
        uploads: a task names only what its project has uploaded.
        clock: the time, for tasks that are checked and not created.
        ids: makes the ids of tasks.
        policy: the residency policy that holds.
    """

    def __init__(
        self,
        pump: Pump,
        tasks: Tasks,
        uploads: Uploads,
        clock: Clock,
        ids: IdSource,
        policy: Callable[[], Policy] = lambda: NONE,
    ) -> None:
        self._pump = pump
        self._tasks = tasks
        self._uploads = uploads
        self._clock = clock
        self._ids = ids
        self._policy = policy

    async def create(self, request: pb.CreateTaskRequest, caller: Identity, principal: str) -> Task:
        """Create one task or array; durable when it returns. The first task of an array."""
        project = parse_project(request.parent)
        if request.order:
            raise invalid("order", _UNSERVED_ORDER, remedy="Leave it out.")
        spec = self._spec(request.spec, project)
        await self._check_uploads(project, request.request_id, spec)
        if request.validate_only:
            return self._checked(request, project, spec, principal)
        digest = request_digest(request)
        must_match = request.fail_if_unmatched
        make, claim = self._question(
            project, request.request_id, digest, spec, str(caller), principal, must_match
        )
        return await self._made(await self._pump.ask(make, claim))

    async def create_batch(
        self, request: pb.BatchCreateTasksRequest, caller: Identity, principal: str
    ) -> pb.BatchCreateTasksResponse:
        """Create many; each item succeeds or fails by itself."""
        project = parse_project(request.parent)
        if request.order:
            raise invalid("order", _UNSERVED_ORDER, remedy="Leave it out.")
        if not 1 <= len(request.requests) <= MAX_BATCH:
            raise error(
                Reason.TOO_LARGE if request.requests else Reason.INVALID_FIELD,
                f"requests: {len(request.requests)} items; 1 to {MAX_BATCH} are allowed.",
                remedy="Cut the batch.",
            )
        actor = str(caller)
        read = [await self._item(item, project, actor, principal) for item in request.requests]
        asked = [question for question in read if not isinstance(question, IntertieError)]
        answers = iter(await self._pump.ask_all(asked))
        response = pb.BatchCreateTasksResponse()
        add = response.results.add
        for question in read:
            _fill(add(), question if isinstance(question, IntertieError) else next(answers))
        return response

    async def cancel(self, request: pb.CancelTaskRequest, caller: Identity) -> Task:
        """Ask that a task end; an end that has come already is told, not changed."""
        name = TaskName.parse(request.name)
        _check_request_id(request.request_id)
        if len(request.reason) > MAX_REASON:
            raise invalid("reason", f"is over {MAX_REASON} characters")
        digest = request_digest(request)

        def make(ticket: int) -> CancelTask:
            return CancelTask(
                ticket=ticket,
                id=name.id,
                project=name.project,
                reason=request.reason,
                actor=str(caller),
                request_id=request.request_id,
                request_digest=digest,
                etag=request.etag,
            )

        claim = (REQUESTS, f"{name.project}/{request.request_id}", digest)
        try:
            answer = await self._pump.ask(make, claim)
        except IntertieError as problem:
            if problem.reason is not Reason.NOT_FOUND:
                raise
            return _already_over(await self._tasks.get(name))
        return await self._made(answer)

    # --- one item --------------------------------------------------------------------------------

    def _spec(self, message: task_spec_pb2.TaskSpec, project: str) -> TaskSpec:
        spec = spec_from_pb(message)
        validate(spec)
        check_against(self._policy(), spec)
        if spec.project and spec.project != project:
            raise invalid("project", f"{spec.project} is not the project of the request")
        return with_defaults(spec)

    async def _check_uploads(self, project: str, request_id: str, spec: TaskSpec) -> None:
        """Refuse blobs that the project has not uploaded; a repeated request made its task then."""
        named = list(blobs_of(spec))
        if not named:
            return
        missing = await self._uploads.missing(project, {sha256 for _, sha256, _ in named})
        if not missing:
            return
        claim = (REQUESTS, f"{project}/{request_id}")
        if claim not in await self._pump.store.claims([claim]):
            raise _not_uploaded(project, [(f, d) for f, d, _ in named if d in missing])

    async def _item(
        self, item: pb.BatchCreateTasksItem, project: str, actor: str, principal: str
    ) -> tuple[Make, Named] | IntertieError:
        try:
            spec = self._spec(item.spec, project)
            await self._check_uploads(project, item.request_id, spec)
            digest = request_digest(item)
            return self._question(project, item.request_id, digest, spec, actor, principal)
        except IntertieError as problem:
            return problem

    def _question(
        self,
        project: str,
        request_id: str,
        digest: str,
        spec: TaskSpec,
        actor: str,
        principal: str,
        must_match: bool = False,
    ) -> tuple[Make, Named]:
        """What to ask the core, and under which request_id."""
        _check_request_id(request_id)
        shard = shard_of(project, request_id)
        uuid7 = self._ids.uuid7
        if spec.array:
            ids = tuple(task_id(shard, uuid7()) for _ in range(spec.array))
            sha256 = spec_sha256(spec)
        else:
            ids, sha256 = (task_id(shard, uuid7()),), ""

        def make(ticket: int) -> CreateTask:
            return CreateTask(
                ticket=ticket,
                project=project,
                ids=ids,
                spec=spec,
                spec_sha256=sha256,
                principal=principal,
                actor=actor,
                request_id=request_id,
                request_digest=digest,
                fail_if_unmatched=must_match,
            )

        return make, (REQUESTS, f"{project}/{request_id}", digest)

    def _checked(
        self, request: pb.CreateTaskRequest, project: str, spec: TaskSpec, principal: str
    ) -> Task:
        """What `validate_only` answers: the task as it would be, without a name of its own."""
        _check_request_id(request.request_id)
        count = max(1, spec.array)
        refusal = self._tasks.core.refusal(project, spec, count, request.fail_if_unmatched)
        if refusal is not None:
            raise refusal
        now_ms = self._clock.now().utc_ms
        return Task(
            project=project,
            id="",
            spec=spec,
            principal=principal,
            request_id=request.request_id,
            created_ms=now_ms,
            updated_ms=now_ms,
        )

    async def _made(self, answer: object) -> Task:
        if isinstance(answer, Replayed):
            return await self._tasks.get(TaskName.parse(answer.result))
        assert isinstance(answer, Task), f"a {type(answer).__name__} as answer"
        return answer


def _not_uploaded(project: str, named: Sequence[tuple[str, str]]) -> IntertieError:
    field, sha256 = named[0]
    more = f", nor {len(named) - 1} more" if len(named) > 1 else ""
    return error(
        Reason.INVALID_FIELD,
        f"{field}: projects/{project} has not uploaded {sha256}{more}.",
        remedy="Upload it (BlobService.UploadBlob, or intertie submit with the file), then submit.",
        fields=[FieldViolation(f, "the project has not uploaded this blob") for f, _ in named],
        metadata={"sha256": sha256},
    )


def _fill(result: pb.BatchCreateTasksResult, answer: object) -> None:
    if isinstance(answer, Task):
        result.task = str(answer.name)
    elif isinstance(answer, Replayed):
        result.task = answer.result
    else:
        assert isinstance(answer, IntertieError), f"a {type(answer).__name__} as answer"
        result.status.CopyFrom(status_of(answer))


def _already_over(task: Task) -> Task:
    """Cancelling what is cancelled changes nothing; what ended otherwise cannot be cancelled."""
    if task.state is TaskState.CANCELLED:
        return task
    raise error(
        Reason.WRONG_STATE,
        f"{task.name} has ended already: it is {task.state.value}.",
        remedy="Nothing is left to cancel.",
        metadata={"resource": str(task.name), "state": task.state.value},
    )


def _check_request_id(request_id: str) -> None:
    if not REQUEST_ID.fullmatch(request_id):
        raise invalid(
            "request_id",
            f"{request_id[:60]!r} is not a UUID in lower case",
            remedy="Make a new UUID for each request, and keep it when you repeat the request.",
        )
