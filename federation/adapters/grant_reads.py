"""Reads grants back for assignments that are sent again, one after the other, and tells the core.

What cannot be read now is dropped: the next digest asks for it again. Must not make a grant.
"""

import asyncio
from collections.abc import Callable

from federation.domain.core import GRANT
from federation.domain.events import GrantRead, ReadGrant
from intertie.ports import Store, StoreUnavailableError
from intertie.telemetry.logs import logger

_log = logger(__name__)


class GrantReads:
    """See the module's text.

    Args:
        store: where grants are, by their digest.
        tell: takes what was read.
    """

    def __init__(self, store: Store, tell: Callable[[GrantRead], None]) -> None:
        self._store = store
        self._tell = tell
        self._asked: asyncio.Queue[ReadGrant] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin."""
        assert self._task is None, "started once"
        self._task = asyncio.create_task(self._run(), name="grant reads")

    async def stop(self) -> None:
        """End; idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def ask(self, asked: ReadGrant) -> None:
        """Read a grant soon."""
        self._asked.put_nowait(asked)

    async def _run(self) -> None:
        while True:
            asked = await self._asked.get()
            try:
                grant = await self._store.get(asked.shard, GRANT, asked.sha256)
            except StoreUnavailableError as fault:
                _log.warning("grant not read; later", task=asked.task, fault=str(fault))
                continue
            if grant is None:
                _log.error("a grant is lost", task=asked.task, sha256=asked.sha256)
                continue
            self._tell(GrantRead(task=asked.task, epoch=asked.epoch, grant=grant))
