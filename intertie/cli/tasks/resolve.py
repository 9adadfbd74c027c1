"""Which task a person means: a full name, an id, a display name, or a unique beginning of one."""

import re

from intertie.errors import IntertieError, Reason, error
from intertie.model.names import TaskName
from intertie.model.task import Task
from intertie.sdk.client import Client

_ID = re.compile(r"[0-9a-f]{2}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MAX_LOOKED_AT = 20_000
MAX_NAMED = 8


async def resolve(client: Client, text: str) -> Task:
    """The task that is meant.

    Raises:
        IntertieError: NOT_FOUND, or INVALID_FIELD that names the candidates.
    """
    if text.startswith("projects/"):
        return await client.get_task(str(TaskName.parse(text)))
    if _ID.fullmatch(text):
        return await client.get_task(f"projects/{client.project}/tasks/{text}")
    named = [task async for task in client.list_tasks(f"display_name = {_quoted(text)}")]
    found = named or await _beginning(client, text)
    if not found:
        raise error(
            Reason.NOT_FOUND,
            f"No task of project {client.project} has a name or id that begins with {text!r}.",
            remedy="List what there is: intertie task list.",
        )
    if len(found) > 1:
        raise _ambiguous(text, found)
    return found[0]


async def _beginning(client: Client, text: str) -> list[Task]:
    found: list[Task] = []
    looked_at = 0
    async for task in client.list_tasks():
        if task.id.startswith(text) or (task.spec and task.spec.name.startswith(text)):
            found.append(task)
        looked_at += 1
        if looked_at == MAX_LOOKED_AT or len(found) > MAX_NAMED:
            break
    return found


def _ambiguous(text: str, found: list[Task]) -> IntertieError:
    named = [
        f"{task.id} ({task.spec.name or '-' if task.spec else '-'}, {task.state})"
        for task in found[:MAX_NAMED]
    ]
    more = "" if len(found) <= MAX_NAMED else ", ..."
    return error(
        Reason.INVALID_FIELD,
        f"{text!r} is not unique: {', '.join(named)}{more}.",
        remedy="Give the id of one.",
    )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
