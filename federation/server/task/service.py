"""TaskService: one line per method, from the wire to those who do the work and back."""

from collections.abc import AsyncIterator, Callable

from federation.domain import answers
from federation.domain.events import AskPlan
from federation.server.task.files import Files
from federation.server.task.lists import Lists
from federation.server.task.reads import Tasks, parse_project
from federation.server.task.submit import Submissions
from federation.server.task.supposing import what_if_from_pb
from federation.server.task.watch import Watches
from intertie.api.federation.v1 import task_pb2
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.api.federation.v1 import task_service_pb2_grpc as pb_grpc
from intertie.model.names import TaskName
from intertie.model.task import Plan
from intertie.model.validate import validate, with_defaults
from intertie.pki.identity import Identity
from intertie.ports import Clock
from intertie.store.pump import Pump
from intertie.transport.call import Context, caller
from intertie.wire.tasks import plan_to_pb, run_to_pb, spec_from_pb, task_to_pb

# ruff: noqa: N802, ARG002 - methods are named by the protocol, and gRPC passes a context to each


class TaskServicer(pb_grpc.TaskServiceServicer):
    """See the protocol for what each method does.

    Args:
        principal_of: the opaque id under which a caller appears in usage.
    """

    def __init__(
        self,
        pump: Pump,
        clock: Clock,
        *,
        tasks: Tasks,
        submissions: Submissions,
        lists: Lists,
        watches: Watches,
        files: Files,
        principal_of: Callable[[Identity], str],
    ) -> None:
        self._pump = pump
        self._clock = clock
        self._tasks = tasks
        self._submissions = submissions
        self._lists = lists
        self._watches = watches
        self._files = files
        self._principal_of = principal_of

    async def CreateTask(self, request: pb.CreateTaskRequest, context: Context) -> task_pb2.Task:
        who = caller()
        task = await self._submissions.create(request, who, self._principal_of(who))
        message = task_to_pb(self._tasks.shown(task))
        if request.validate_only:
            message.name = ""
        return message

    async def BatchCreateTasks(
        self, request: pb.BatchCreateTasksRequest, context: Context
    ) -> pb.BatchCreateTasksResponse:
        who = caller()
        return await self._submissions.create_batch(request, who, self._principal_of(who))

    async def GetTask(self, request: pb.GetTaskRequest, context: Context) -> task_pb2.Task:
        task = await self._tasks.get(TaskName.parse(request.name))
        return task_to_pb(self._tasks.shown(task))

    async def ListTasks(
        self, request: pb.ListTasksRequest, context: Context
    ) -> pb.ListTasksResponse:
        return await self._lists.tasks(request)

    async def CancelTask(self, request: pb.CancelTaskRequest, context: Context) -> task_pb2.Task:
        task = await self._submissions.cancel(request, caller())
        return task_to_pb(self._tasks.shown(task))

    async def PlanTask(self, request: pb.PlanTaskRequest, context: Context) -> task_pb2.Plan:
        project = parse_project(request.parent)
        spec = spec_from_pb(request.spec)
        validate(spec)
        spec = with_defaults(spec)
        what_if = what_if_from_pb(request.what_if)
        plan = await self._pump.ask(
            lambda ticket: AskPlan(ticket=ticket, spec=spec, project=project, what_if=what_if)
        )
        assert isinstance(plan, Plan), "a plan is answered with a plan"
        return plan_to_pb(plan)

    async def ExplainTask(self, request: pb.ExplainTaskRequest, context: Context) -> task_pb2.Plan:
        task = await self._tasks.get(TaskName.parse(request.name))
        if request.decision:
            decision = await self._tasks.decision(task, request.decision)
            return plan_to_pb(answers.explain_decision(self._tasks.core, task, decision))
        if task.is_final:
            return plan_to_pb(Plan(verdicts=(), chosen=task.region, state=task.state))
        return plan_to_pb(answers.explain(self._tasks.core, task, self._clock.now()))

    async def ListTaskEvents(
        self, request: pb.ListTaskEventsRequest, context: Context
    ) -> pb.ListTaskEventsResponse:
        return await self._lists.events(request)

    async def GetRun(self, request: pb.GetRunRequest, context: Context) -> task_pb2.Run:
        return run_to_pb(await self._lists.run(request.name))

    async def ListRuns(self, request: pb.ListRunsRequest, context: Context) -> pb.ListRunsResponse:
        return await self._lists.runs(request)

    async def ListTaskOutputs(
        self, request: pb.ListTaskOutputsRequest, context: Context
    ) -> pb.ListTaskOutputsResponse:
        return await self._lists.outputs(request)

    def WatchTasks(
        self, request: pb.WatchTasksRequest, context: Context
    ) -> AsyncIterator[pb.WatchTasksResponse]:
        return self._watches.watch(request)

    def ReadTaskLogs(
        self, request: pb.ReadTaskLogsRequest, context: Context
    ) -> AsyncIterator[pb.ReadTaskLogsResponse]:
        return self._files.logs(request)

    def ReadTaskOutput(
        self, request: pb.ReadTaskOutputRequest, context: Context
    ) -> AsyncIterator[pb.ReadTaskOutputResponse]:
        return self._files.output(request)
