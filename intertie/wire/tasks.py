"""Tasks, specs, runs, events and plans on the wire (federation.v1)."""

from typing import Any

from intertie.api.federation.v1 import files_pb2, task_pb2, task_spec_pb2
from intertie.errors import CallerError
from intertie.model.names import TaskName
from intertie.model.spec import TaskSpec
from intertie.model.task import Plan, Run, StoredFile, Task, TaskEvent, Verdict
from intertie.wire.mapping import mapper
from intertie.wire.matching import Override


def _read_name(text: str) -> tuple[Any, ...]:
    try:
        name = TaskName.parse(text)
    except CallerError as error:
        raise ValueError(error.fields[0].description) from None
    return name.project, name.id


def _read_etag(text: str) -> tuple[Any, ...]:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ValueError(f"{text[:60]!r} is not an etag of a task")
    return (int(text),)


SPEC = mapper(TaskSpec, task_spec_pb2.TaskSpec)
TASK = mapper(
    Task,
    task_pb2.Task,
    (
        Override(("project", "id"), "name", _read_name, lambda task: str(task.name)),
        Override(("version",), "etag", _read_etag, lambda task: str(task.version)),
    ),
)
RUN = mapper(Run, task_pb2.Run)
EVENT = mapper(TaskEvent, task_pb2.TaskEvent)
PLAN = mapper(Plan, task_pb2.Plan)
VERDICT = mapper(Verdict, task_pb2.Verdict)
STORED_FILE = mapper(StoredFile, files_pb2.StoredFile)

spec_from_pb, spec_to_pb = SPEC.from_pb, SPEC.to_pb
task_from_pb, task_to_pb = TASK.from_pb, TASK.to_pb
run_from_pb, run_to_pb = RUN.from_pb, RUN.to_pb
event_from_pb, event_to_pb = EVENT.from_pb, EVENT.to_pb
plan_from_pb, plan_to_pb = PLAN.from_pb, PLAN.to_pb
verdict_from_pb, verdict_to_pb = VERDICT.from_pb, VERDICT.to_pb
stored_file_from_pb, stored_file_to_pb = STORED_FILE.from_pb, STORED_FILE.to_pb
