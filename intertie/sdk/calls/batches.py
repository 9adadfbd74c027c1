"""Many tasks at once: cut into batches by count and size, some in flight, each retried as it is."""

from collections.abc import Sequence

from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.api.federation.v1 import task_spec_pb2
from intertie.api.federation.v1.task_service_pb2_grpc import TaskServiceStub
from intertie.sdk.calls.together import together
from intertie.sdk.connection import Connection
from intertie.sdk.resources import Created
from intertie.transport.status import error_of

MAX_ITEMS = 500
MAX_BYTES = 2 << 20
"""Of a batch; the server takes messages of up to 4 MiB."""
IN_FLIGHT = 4


class Batches:
    """Creates tasks of one project."""

    def __init__(self, connection: Connection, parent: str) -> None:
        self._connection = connection
        self._parent = parent

    async def create(
        self, specs: Sequence[task_spec_pb2.TaskSpec], request_ids: Sequence[str]
    ) -> list[Created]:
        """Submit all; one result for each, in order."""
        assert len(specs) == len(request_ids), "a request_id for each spec"
        requests = iter(self._cut(specs, request_ids))
        results: dict[int, list[Created]] = {}
        numbered = enumerate(requests)

        async def work() -> None:
            for at, request in numbered:
                results[at] = await self._send(request)

        await together(work() for _ in range(IN_FLIGHT))
        return [created for at in sorted(results) for created in results[at]]

    def _cut(
        self, specs: Sequence[task_spec_pb2.TaskSpec], request_ids: Sequence[str]
    ) -> list[pb.BatchCreateTasksRequest]:
        requests: list[pb.BatchCreateTasksRequest] = []
        size = 0
        for spec, request_id in zip(specs, request_ids, strict=True):
            length = spec.ByteSize() + len(request_id) + 16
            full = requests and (
                len(requests[-1].requests) == MAX_ITEMS or size + length > MAX_BYTES
            )
            if not requests or full:
                requests.append(pb.BatchCreateTasksRequest(parent=self._parent))
                size = 0
            requests[-1].requests.add(spec=spec, request_id=request_id)
            size += length
        return requests

    async def _send(self, request: pb.BatchCreateTasksRequest) -> list[Created]:
        answer = await self._connection.unary(TaskServiceStub, "BatchCreateTasks", request)
        return [
            Created(result.task) if result.task else Created(error=error_of(result.status))
            for result in answer.results
        ]
