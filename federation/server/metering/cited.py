"""The grants that records cite, read one by one while a log is read; the newest are remembered.

Only what a grant says is remembered, never what was found of a record: the same grant cited by
another record is judged again. Must not judge.
"""

from federation.domain.core import GRANT
from intertie.metering.grant import Grant, grant_sha256, parse_grant
from intertie.model.names import shard_of_id
from intertie.ports import Store

REMEMBERED = 4_096
"""Records of one run follow each other, so few grants serve most records."""


class CitedGrants:
    """Finds the grant of a task by its digest.

    Args:
        store: where grants are, in the shard of their task.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[int, str], Grant | None] = {}

    async def find(self, task: str, sha256: str) -> Grant | None:
        """The grant of this digest in the shard of this task; None if we never made it."""
        try:
            # The shard is a part of the name: a citation from elsewhere finds nothing, and must not
            # hide the grant from the records that it is for.
            key = (shard_of_id(task), sha256)
        except ValueError:  # a task that is none of ours
            return None
        if key in self._known:
            return self._known[key]
        body = await self._store.get(key[0], GRANT, sha256)
        grant = None
        if body is not None:
            assert grant_sha256(body) == sha256, "a grant is kept under its digest"
            grant = parse_grant(body)
        if len(self._known) >= REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = grant
        return grant
