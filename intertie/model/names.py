"""Resource names and identifiers, as `contract.md` fixes them (AIP-122).

    projects/{project}/tasks/{id}            id = 2 hex digits of shard + "-" + UUIDv7
    projects/{project}/tasks/{id}/runs/{n}   n from 1

The shard is a function of (project, request_id), so that a retried create reaches the same shard;
the id carries it, so that reads need no request_id.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Self

from intertie.errors import invalid

SHARDS = 64
"""Number of shards of a federation; stored at init and never changed."""

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_PROJECT = r"[a-z][a-z0-9-]{1,62}"
_TASK_ID = rf"[0-9a-f]{{2}}-{_UUID}"
_REGION = r"[a-z][a-z0-9-]{1,30}"

PROJECT = re.compile(_PROJECT)
REGION = re.compile(_REGION)
NODE = re.compile(r"[a-z0-9][a-z0-9.-]{0,62}")
REQUEST_ID = re.compile(_UUID)
LABEL_KEY = re.compile(r"[a-z][a-z0-9_.-]{0,62}")
DISPLAY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}")

_TASK = re.compile(rf"projects/({_PROJECT})/tasks/({_TASK_ID})")
_RUN = re.compile(rf"projects/({_PROJECT})/tasks/({_TASK_ID})/runs/([1-9][0-9]{{0,5}})")


def shard_of(project: str, request_id: str, shards: int = SHARDS) -> int:
    """The shard of a task, from what its creator sent."""
    digest = hashlib.sha256(f"{project}\0{request_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % shards


def task_id(shard: int, uuid7: str) -> str:
    """The id of a new task."""
    return f"{shard:02x}-{uuid7}"


def shard_of_id(id_: str) -> int:
    """The shard that a task id carries."""
    return int(id_[:2], 16)


def order_of_id(id_: str) -> str:
    """The time-ordered part of a task id: what lists are sorted by."""
    return id_[3:]


@dataclass(frozen=True, slots=True, order=True)
class TaskName:
    """`projects/{project}/tasks/{id}`."""

    project: str
    id: str

    @classmethod
    def parse(cls, text: str, field: str = "name") -> Self:
        """Parse a full name; INVALID_FIELD if it is none."""
        match = _TASK.fullmatch(text)
        if match is None:
            raise invalid(field, f"{text[:120]!r} is not projects/PROJECT/tasks/ID")
        return cls(match[1], match[2])

    @property
    def shard(self) -> int:
        """The shard that owns the task."""
        return shard_of_id(self.id)

    def __str__(self) -> str:
        return f"projects/{self.project}/tasks/{self.id}"


@dataclass(frozen=True, slots=True, order=True)
class RunName:
    """`projects/{project}/tasks/{id}/runs/{n}`."""

    task: TaskName
    n: int

    @classmethod
    def parse(cls, text: str, field: str = "name") -> Self:
        """Parse a full name; INVALID_FIELD if it is none."""
        match = _RUN.fullmatch(text)
        if match is None:
            raise invalid(field, f"{text[:120]!r} is not projects/PROJECT/tasks/ID/runs/N")
        return cls(TaskName(match[1], match[2]), int(match[3]))

    def __str__(self) -> str:
        return f"{self.task}/runs/{self.n}"
