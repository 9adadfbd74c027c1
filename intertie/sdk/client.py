"""The client of a federation: one method per thing that a person may want done.

    async with Client.from_context() as client:
        task = await client.create_task(load_spec(path), base=path.parent)
        done = await client.wait(str(task.name))

Values are those of `intertie.model` and `intertie.sdk.resources`; errors are `IntertieError` with a
reason of the catalogue. Every call has a deadline, and only UNAVAILABLE is retried, with the same
request_id. For one event loop; `intertie.SyncClient` is the same without one.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Self

from intertie.api.federation.v1 import region_service_pb2, region_service_pb2_grpc
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.api.federation.v1.task_service_pb2_grpc import TaskServiceStub
from intertie.clock import SystemIds
from intertie.errors import Reason, error
from intertie.model.names import TaskName
from intertie.model.spec import TaskSpec
from intertie.model.task import Plan, Run, Task, TaskEvent
from intertie.ports import IdSource
from intertie.sdk.calls.batches import Batches
from intertie.sdk.calls.following import follow
from intertie.sdk.calls.packing import Packed, pack
from intertie.sdk.calls.reading import STREAMS, download, read_log
from intertie.sdk.calls.uploading import OnProgress, Uploader
from intertie.sdk.calls.watching import OnTask, wait_all, watch
from intertie.sdk.connection import Connection, Endpoint, OnRetry, Patience
from intertie.sdk.contexts import Context, load_contexts
from intertie.sdk.metering.client import MeteringClient
from intertie.sdk.resources import (
    REGION,
    RTT,
    TASK_OUTPUT,
    Created,
    LogChunk,
    Region,
    Rtt,
    TaskOutput,
)
from intertie.sdk.resources import WatchBatch as WatchBatch
from intertie.wire.tasks import (
    event_from_pb,
    plan_from_pb,
    run_from_pb,
    spec_from_pb,
    spec_to_pb,
    task_from_pb,
)

PAGE = 200


class Client:
    """See the module's text.

    Args:
        endpoint: where the federation is and who we are.
        project: the project; that of the identity if empty.
        ids: makes request_ids, in the order of time so that the server's index grows at its end.
        patience: deadlines and how long to retry.
        on_retry: told why a call is tried again.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        project: str = "",
        ids: IdSource | None = None,
        patience: Patience = Patience(),  # noqa: B008 - frozen
        on_retry: OnRetry | None = None,
    ) -> None:
        self.connection = Connection(endpoint, patience=patience, on_retry=on_retry)
        self.metering = MeteringClient(self.connection)
        self._project = project
        self._ids = ids or SystemIds()

    @classmethod
    def from_context(
        cls,
        name: str = "",
        *,
        config: Path | None = None,
        project: str = "",
        patience: Patience = Patience(),  # noqa: B008 - frozen
        on_retry: OnRetry | None = None,
    ) -> Self:
        """A client of a context of the configuration file, the current one if none is named."""
        context: Context = load_contexts(config).get(name)
        return cls(
            context.federation(),
            project=project or context.project,
            patience=patience,
            on_retry=on_retry,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End open calls and close the connection; idempotent."""
        await self.connection.close()

    @property
    def project(self) -> str:
        """The project that names and lists are of.

        Raises:
            IntertieError: CONFIG_INVALID if neither the identity nor the caller names one.
        """
        own = self._project or self.connection.identity.current.identity.project
        if not own:
            raise error(
                Reason.CONFIG_INVALID,
                f"{self.connection.identity.current.identity} belongs to no project.",
                remedy="Name one: --project, or project in the context.",
            )
        return own

    @property
    def _parent(self) -> str:
        return f"projects/{self.project}"

    # --- submit ----------------------------------------------------------------------------------

    async def upload(self, packed: Packed, on_progress: OnProgress | None = None) -> int:
        """Upload what the federation lacks of a packed spec's files; the bytes that were sent."""
        return await Uploader(self.connection, on_progress).upload(packed.blobs)

    async def create_task(
        self,
        spec: TaskSpec,
        *,
        base: Path | None = None,
        request_id: str = "",
        fail_if_unmatched: bool = False,
        on_progress: OnProgress | None = None,
    ) -> Task:
        """Submit a task; the first one of an array. It is durable when this returns.

        Args:
            spec: what to run.
            base: the folder that `run.workdir` and `run.files` are relative to; here if absent.
            request_id: a UUID; the same id and spec give the same task. Made if absent.
            fail_if_unmatched: fail if no region could ever run it, instead of waiting.
            on_progress: told how far the upload is.
        """
        packed = pack(spec, base or Path())
        await self.upload(packed, on_progress)
        request = pb.CreateTaskRequest(
            parent=self._parent,
            spec=spec_to_pb(packed.spec),
            request_id=request_id or self._ids.uuid7(),
            fail_if_unmatched=fail_if_unmatched,
        )
        return task_from_pb(await self.connection.unary(TaskServiceStub, "CreateTask", request))

    async def validate_task(self, spec: TaskSpec, *, base: Path | None = None) -> TaskSpec:
        """Have everything checked and create nothing; the spec as it would be accepted."""
        request = pb.CreateTaskRequest(
            parent=self._parent,
            spec=spec_to_pb(pack(spec, base or Path()).spec),
            request_id=self._ids.uuid7(),
            validate_only=True,
        )
        answer = await self.connection.unary(TaskServiceStub, "CreateTask", request)
        return spec_from_pb(answer.spec)

    async def create_tasks(
        self, specs: Iterable[TaskSpec], *, request_ids: Sequence[str] = ()
    ) -> list[Created]:
        """Submit many tasks in batches, several in flight; one result for each, in order.

        The specs must be packed and their files uploaded (`pack`, `upload`).
        """
        listed = list(specs)
        ids = list(request_ids) or [self._ids.uuid7() for _ in listed]
        batches = Batches(self.connection, self._parent)
        return await batches.create([spec_to_pb(spec) for spec in listed], ids)

    # --- tasks -----------------------------------------------------------------------------------

    async def get_task(self, name: str) -> Task:
        """A task by its full name."""
        request = pb.GetTaskRequest(name=name)
        return task_from_pb(await self.connection.unary(TaskServiceStub, "GetTask", request))

    async def list_tasks(self, filter: str = "") -> AsyncIterator[Task]:  # noqa: A002 - AIP-160's word
        """Tasks of the project that match an AIP-160 filter, newest first."""
        request = pb.ListTasksRequest(parent=self._parent, page_size=PAGE, filter=filter)
        async for page in self._pages("ListTasks", request):
            for task in page.tasks:
                yield task_from_pb(task)

    async def cancel_task(self, name: str, reason: str = "", *, etag: str = "") -> Task:
        """Ask that a task end; it is CANCELLING until its region confirms."""
        request = pb.CancelTaskRequest(
            name=name, reason=reason, request_id=self._ids.uuid7(), etag=etag
        )
        return task_from_pb(await self.connection.unary(TaskServiceStub, "CancelTask", request))

    async def plan_task(
        self,
        spec: TaskSpec,
        *,
        base: Path | None = None,
        regions_down: Sequence[str] = (),
        reclaims: Mapping[str, int] | None = None,
        policy: bytes = b"",
    ) -> Plan:
        """What would happen to a spec, region by region. Nothing is uploaded.

        Args:
            spec: what would be asked for.
            base: the folder that relative paths of the spec start from.
            regions_down: suppose that these regions are gone.
            reclaims: suppose that owners take so many devices back, by region.
            policy: suppose that this policy file is in force.
        """
        packed = pack(spec, base or Path())
        what_if = pb.WhatIf(
            regions_down=regions_down,
            reclaims=[
                pb.WhatIfReclaim(region=region, devices=devices)
                for region, devices in (reclaims or {}).items()
            ],
            policy=policy,
        )
        request = pb.PlanTaskRequest(
            parent=self._parent, spec=spec_to_pb(packed.spec), what_if=what_if
        )
        return plan_from_pb(await self.connection.unary(TaskServiceStub, "PlanTask", request))

    async def explain_task(self, name: str, *, decision: int = 0) -> Plan:
        """Why a task runs, waits or cannot run, region by region.

        With the number of a run: the decision that began it, as it was kept and made again.
        """
        request = pb.ExplainTaskRequest(name=name, decision=decision)
        return plan_from_pb(await self.connection.unary(TaskServiceStub, "ExplainTask", request))

    async def list_task_events(self, name: str) -> AsyncIterator[TaskEvent]:
        """The changes of a task, oldest first."""
        request = pb.ListTaskEventsRequest(parent=name, page_size=PAGE)
        async for page in self._pages("ListTaskEvents", request):
            for event in page.events:
                yield event_from_pb(event)

    async def list_runs(self, name: str) -> AsyncIterator[Run]:
        """The runs of a task, oldest first."""
        async for page in self._pages("ListRuns", pb.ListRunsRequest(parent=name, page_size=PAGE)):
            for run in page.runs:
                yield run_from_pb(run)

    def watch_tasks(
        self,
        names: Sequence[str] = (),
        *,
        resume_token: str = "",
        send_initial: bool = False,
    ) -> AsyncGenerator[WatchBatch, None]:
        """Changes of tasks for ever, over broken connections too; see `calls.watching.watch`."""
        return watch(
            self.connection,
            self._parent,
            tasks=names,
            resume_token=resume_token,
            send_initial=send_initial,
        )

    async def wait(
        self, name: str, *, timeout_s: float | None = None, on_task: OnTask | None = None
    ) -> Task:
        """Wait until a task is final, or parked for a person to decide.

        Raises:
            IntertieError: DEADLINE_EXCEEDED after `timeout_s`; the task goes on.
        """
        return (await self.wait_all([name], timeout_s=timeout_s, on_task=on_task))[name]

    async def wait_all(
        self,
        names: Iterable[str],
        *,
        timeout_s: float | None = None,
        on_task: OnTask | None = None,
    ) -> dict[str, Task]:
        """Wait for several tasks as `wait` does."""
        try:
            async with asyncio.timeout(timeout_s):
                return await wait_all(self.connection, self._parent, names, on_task)
        except TimeoutError:
            raise error(
                Reason.DEADLINE_EXCEEDED,
                f"Not all tasks had ended after {timeout_s} s.",
                remedy="They go on; wait again, or look at them (intertie task show).",
            ) from None

    # --- logs and outputs ------------------------------------------------------------------------

    async def logs(
        self,
        name: str,
        *,
        run: int = 0,
        stream: str = "stdout",
        offset: int = 0,
        tail_bytes: int = 0,
        follow: bool = False,
    ) -> AsyncIterator[bytes]:
        """The bytes of one log of one run (0 = the newest); goes on by offset after a break."""
        chunks = self.log_chunks(
            name, run=run, stream=stream, offset=offset, tail_bytes=tail_bytes, follow=follow
        )
        async with aclosing(chunks) as opened:
            async for chunk in opened:
                yield chunk.data

    async def log_chunks(
        self,
        name: str,
        *,
        run: int = 0,
        stream: str = "stdout",
        offset: int = 0,
        tail_bytes: int = 0,
        follow: bool = False,
    ) -> AsyncGenerator[LogChunk, None]:
        """As `logs`, with the run and offset of each chunk."""
        if run == 0:
            newest = (await self.get_task(name)).run
            run = newest.n if newest is not None else 0
        chunks = read_log(
            self.connection,
            name,
            run=run,
            stream=stream,
            offset=offset,
            tail_bytes=tail_bytes,
            follow=follow,
        )
        async with aclosing(chunks) as opened:
            async for chunk in opened:
                yield chunk

    def follow_logs(
        self, name: str, streams: Sequence[str] = STREAMS
    ) -> AsyncGenerator[LogChunk, None]:
        """The logs of all runs of a task as they are written, until it is settled."""
        return follow(self.connection, TaskName.parse(name), streams)

    async def list_outputs(self, name: str) -> AsyncIterator[TaskOutput]:
        """The results of a task, by path."""
        request = pb.ListTaskOutputsRequest(parent=name, page_size=PAGE)
        async for page in self._pages("ListTaskOutputs", request):
            for output in page.outputs:
                yield TASK_OUTPUT.from_pb(output)

    async def download_output(
        self, name: str, output: TaskOutput, folder: Path, on_progress: OnProgress | None = None
    ) -> Path:
        """Write a result below a folder, whole and with the right digest or not at all."""
        return await download(self.connection, name, output, folder, on_progress)

    # --- regions ---------------------------------------------------------------------------------

    async def get_region(self, id_: str) -> Region:
        """A region by its id."""
        request = region_service_pb2.GetRegionRequest(name=f"regions/{id_}")
        stub = region_service_pb2_grpc.RegionServiceStub
        return REGION.from_pb(await self.connection.unary(stub, "GetRegion", request))

    async def list_regions(self) -> AsyncIterator[Region]:
        """All regions, by id."""
        request = region_service_pb2.ListRegionsRequest(page_size=PAGE)
        stub = region_service_pb2_grpc.RegionServiceStub
        async for page in self.connection.pages(stub, "ListRegions", request):
            for region in page.regions:
                yield REGION.from_pb(region)

    async def list_rtts(self) -> AsyncIterator[Rtt]:
        """Round trips of all ordered pairs of regions, those that nobody measured too."""
        request = region_service_pb2.ListRttsRequest(page_size=PAGE)
        stub = region_service_pb2_grpc.RegionServiceStub
        async for page in self.connection.pages(stub, "ListRtts", request):
            for rtt in page.rtts:
                yield RTT.from_pb(rtt)

    def _pages(self, method: str, request: object) -> AsyncIterator[Any]:
        return self.connection.pages(TaskServiceStub, method, request)
