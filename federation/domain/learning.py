"""What ended runs taught is made durable, a few rows every ten seconds.

A crash forgets what was learned since: a rating is an estimate, no account.
"""

from typing import TYPE_CHECKING

from federation.domain.fleet import MS
from federation.domain.routing.known.history import Record
from intertie.drive.effects import Write
from intertie.model.task import Task

if TYPE_CHECKING:
    from federation.domain.core import FederationCore

HISTORY = "history"
"""Kind of the rows, in shard 0."""
EVERY_MS = 10_000


class Learning:
    """See the module's text."""

    def __init__(self, core: "FederationCore") -> None:
        self._core = core
        self._due_ns: int | None = None

    @property
    def deadline(self) -> int | None:
        """When what was learned is next made durable, as boot_ns."""
        return self._due_ns

    def load(self, row: object) -> None:
        """Take up a stored row, if it is one of history."""
        if isinstance(row, Record):
            self._core.router.history.load(row)

    def changed(self, before: Task, after: Task) -> None:
        """A task has changed: if its run has ended, learn from it."""
        assert before.id == after.id, "a task keeps its id"
        run, was = after.run, before.run
        if run is None or run.outcome is None or (was is not None and was.outcome is not None):
            return
        self._core.router.learned(after, self._core.now)
        if self._due_ns is None and self._core.router.history.has_news:
            self._due_ns = self._core.now.boot_ns + EVERY_MS * MS

    def tick(self) -> None:
        """Write what has changed."""
        if self._due_ns is None or self._core.now.boot_ns < self._due_ns:
            return
        self._due_ns = None
        assert self._core.router.history.has_news, "a due date without news"
        for record in self._core.router.history.rows():
            self._core.emit(Write(0, HISTORY, record.key, record))
