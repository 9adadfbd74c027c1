"""The loop: wait, look at the clock, tell the table what happened, do what it decides.

The order inside one turn is what makes the promises hold:
1. deadlines, so that after a suspend everything overdue is killed before anything else is seen;
2. dead children, then ready pipes and requests; whatever kills is done at once;
3. one commit of all changed records (`disk/outbox.py`);
4. only then replies, notifications and starts.
"""

import os
import selectors
import signal
import time
from collections import deque
from collections.abc import Callable

from edge_agent.keeper import protocol
from edge_agent.keeper.diary import log
from edge_agent.keeper.disk.journal import Journal
from edge_agent.keeper.disk.outbox import Broadcast, Outbox
from edge_agent.keeper.disk.outbox import Release as Releasable
from edge_agent.keeper.domain.events import (
    DiskUsed,
    Drop,
    Effect,
    Event,
    Key,
    Note,
    Notice,
    Refuse,
    Release,
    Reply,
    Save,
    Shutdown,
    Spawn,
    SpawnFailed,
    Start,
    Sweep,
    Terminate,
    Tick,
)
from edge_agent.keeper.domain.table import Table
from edge_agent.keeper.machine import linux, procfs
from edge_agent.keeper.machine.cgroup import Backend
from edge_agent.keeper.machine.children import Children
from edge_agent.keeper.machine.containment import NO_GROUPS
from edge_agent.keeper.machine.process import HANDLED, IGNORED, fault_of
from edge_agent.keeper.protocol import Body, Hello, ProtocolFault
from edge_agent.keeper.report import STARTING
from edge_agent.keeper.requests import READS, change_of, read_key, start_of
from edge_agent.keeper.server import Server
from edge_agent.keeper.spec import StartSpec

MARK_BYTES = 8


class Shell:
    """Owns the selector and carries effects out."""

    def __init__(
        self,
        table: Table,
        journal: Journal,
        backend: Backend | None,
        socket_path: str,
        task_open_files: int,
        features: tuple[str, ...] = protocol.FEATURES,
    ) -> None:
        self._table = table
        self._outbox = Outbox(journal, linux.boot_ns)
        self._events: deque[Event] = deque()
        self._specs: dict[Key, StartSpec] = {}
        self._selector = selectors.DefaultSelector()
        self._timer = linux.BootTimer()
        self._children = Children(
            self._selector, backend, linux.boot_ns, self._events.append, task_open_files
        )
        self._features = features
        self._backend_name = backend.name if backend else NO_GROUPS
        self._started_boot_ns = linux.boot_ns()
        self._server = Server(self._selector, socket_path, self._request)

    def run(self) -> None:
        """Serve until a shutdown is complete."""
        wake = _catch_signals()
        self._selector.register(self._timer.fd, selectors.EVENT_READ, self._timer.clear)
        self._selector.register(wake, selectors.EVENT_READ, lambda: self._woken(wake))
        try:
            while not self._finished():
                due = self._next_due()
                self._timer.arm(due)
                ready = [key.data for key, _ in self._selector.select()]
                if due is not None and due <= linux.boot_ns():
                    self._events.append(Tick())
                self._turn(ready)
        finally:
            self._server.close()
            self._timer.close()

    def _finished(self) -> bool:
        return self._table.draining and not self._table.live and not self._outbox.behind

    def _turn(self, ready: list[Callable[[], None]]) -> None:
        self._decide()
        self._events.extend(self._children.reap())
        self._decide()
        for callback in ready:
            callback()
            self._decide()
        for key, used in self._children.measure_disks(linux.boot_ns()):
            self._events.append(DiskUsed(key, used))
        self._decide()
        while self._outbox.due:
            self._commit()
        self._server.flush()

    def _next_due(self) -> int | None:
        instants = (self._table.next_due(), self._children.next_due(), self._outbox.next_due())
        return min((instant for instant in instants if instant is not None), default=None)

    def _woken(self, wake: int) -> None:
        numbers = os.read(wake, 4096)
        if signal.SIGTERM in numbers or signal.SIGINT in numbers:
            self._events.append(Shutdown())

    # -- requests ---------------------------------------------------------------------------------

    def _request(self, tag: int, op: str, body: Body) -> None:
        if op in READS:
            self._outbox.put(Reply(tag, self._answer(op, body)))
        elif op == "start":
            event, spec = start_of(body, tag, os.urandom(MARK_BYTES).hex())
            self._specs.setdefault(event.admission.key, spec)
            self._events.append(event)
        else:
            self._events.append(change_of(op, body, tag))

    def _answer(self, op: str, body: Body) -> Body:
        table = self._table
        if op == "hello":
            return self._hello(protocol.agree_version(body.get("versions"))).to_body()
        if self._outbox.behind:
            message = "the last changes are not on disk yet: ask again"
            raise ProtocolFault(protocol.STORE_UNAVAILABLE, message)
        if op == "list":
            return {"runs": [run.view(table.boot_id).to_body() for run in table.runs.values()]}
        if op == "status":
            return self._status()
        key = read_key(body)
        if key not in table.runs:
            raise ProtocolFault(protocol.NOT_FOUND, "no such run under this token", "run")
        return {
            "run": table.runs[key].view(table.boot_id).to_body(),
            "usage": self._children.usage(key)._asdict(),
            "boot_ns": linux.boot_ns(),
        }

    def _status(self) -> Body:
        return {
            **self._hello(protocol.VERSION_NEWEST).to_body(),
            "runs": len(self._table.runs),
            "live": len(self._table.live),
            "fences": len(self._table.fences),
            "draining": self._table.draining,
            "rss_bytes": procfs.resident_bytes(),
            "cpu_ns": time.process_time_ns(),
        }

    def _hello(self, version: int) -> Hello:
        return Hello(
            version=version,
            pid=os.getpid(),
            boot_id=self._table.boot_id,
            boot_ns=linux.boot_ns(),
            started_boot_ns=self._started_boot_ns,
            backend=self._backend_name,
            features=self._features,
        )

    # -- deciding ---------------------------------------------------------------------------------

    def _decide(self) -> None:
        while self._events:
            event = self._events.popleft()
            for effect in self._table.handle(event, linux.boot_ns()):
                self._sort(effect)
            if isinstance(event, Start):
                self._keep_spec_only_if_needed(event.admission.key)

    def _keep_spec_only_if_needed(self, key: Key) -> None:
        run = self._table.runs.get(key)
        if run is None or run.state != STARTING or run.pid is not None:
            self._specs.pop(key, None)

    def _sort(self, effect: Effect) -> None:
        """What kills is done at once, the rest after the commit."""
        if isinstance(effect, Sweep):
            self._events.append(self._children.sweep(effect.key))
        elif isinstance(effect, Notice):
            self._children.notice(effect)
        elif isinstance(effect, Terminate):
            self._children.terminate(effect.key)
        elif isinstance(effect, Release):
            self._specs.pop(effect.key, None)
            self._children.release(effect.key)
        elif isinstance(effect, Save):
            self._outbox.save(effect)
        elif isinstance(effect, Drop):
            self._outbox.drop(effect)
        elif isinstance(effect, Note):
            view = self._table.runs[effect.key].view(self._table.boot_id)
            self._outbox.put(Broadcast(effect.note, view.to_body()))
        else:
            self._outbox.put(effect)

    def _commit(self) -> None:
        effects, error = self._outbox.commit(self._table.runs, self._table.fences)
        if error is not None:
            log("commit_failed", error=str(error))
        for effect in effects:
            if error is not None and isinstance(effect, Spawn):
                self._events.append(SpawnFailed(effect.key, fault_of("journal", error)))
            else:
                self._release(effect)
        self._decide()

    def _release(self, effect: Releasable) -> None:
        if isinstance(effect, Reply):
            self._server.answer(effect.tag, effect.result)
        elif isinstance(effect, Refuse):
            self._server.refuse(effect.tag, effect.fault)
        elif isinstance(effect, Spawn):
            self._spawn(effect.key)
        else:
            self._server.broadcast(effect.note, effect.run)

    def _spawn(self, key: Key) -> None:
        """Unless it was stopped between the decision and the commit."""
        run, spec = self._table.runs.get(key), self._specs.pop(key, None)
        if run is not None and run.state == STARTING and spec is not None:
            self._events.append(self._children.spawn(key, spec, run.mark))
            self._decide()


def _catch_signals() -> int:
    """Signals become bytes in a pipe that the loop reads; nothing runs in a handler. What was
    ignored by whoever started us is at its default for tasks.
    """
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in signal.valid_signals() - {*HANDLED, *IGNORED, signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    for number in HANDLED:
        signal.signal(number, lambda *_: None)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    return reader
