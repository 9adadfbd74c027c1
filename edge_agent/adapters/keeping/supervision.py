"""Keeps a keeper at hand: starts it, connects, tells the core what it has, and carries orders.

An order that finds no keeper is dropped: when one answers, the core compares and orders again.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from edge_agent.adapters.keeping import reading
from edge_agent.adapters.keeping.client import KeeperClient, TooLargeError
from edge_agent.adapters.keeping.process import KeeperProcess
from edge_agent.domain.events import (
    Extend,
    Halt,
    HaltMissed,
    KeeperDown,
    KeeperUp,
    LaunchRefused,
    Measure,
    Measured,
    ProcessSeen,
    RunKey,
)
from edge_agent.keeper import protocol
from edge_agent.keeper.protocol import Hello, ProtocolFault
from edge_agent.keeper.report import RunView
from edge_agent.keeper.spec import MAX_MS, StartSpec
from intertie.telemetry.logs import logger

_FIRST_PAUSE_S = 0.02
_MOST_PAUSE_S = 1.0
_RETRY = frozenset({protocol.STORE_UNAVAILABLE, protocol.TABLE_FULL, protocol.SHUTTING_DOWN})
_SHARED = "Run the agent as root, with the right to mount; see docs/security.md."

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Pings:
    """How a keeper that hangs is found out."""

    every_s: float = 10.0
    within_s: float = 10.0


class Supervision:
    """See the module's text. For one event loop.

    Args:
        process: starts the keeper.
        tell: takes events for the core.
        pings: how often to ask whether it still answers.
    """

    def __init__(
        self,
        process: KeeperProcess,
        tell: Callable[[object], None],
        pings: Pings = Pings(),  # noqa: B008 - frozen
    ) -> None:
        self._process = process
        self._tell = tell
        self._pings = pings
        self._client: KeeperClient | None = None
        self._task: asyncio.Task[None] | None = None
        self._orders: set[asyncio.Task[None]] = set()
        self.hello: Hello | None = None
        self.is_up = asyncio.Event()

    @property
    def incarnation(self) -> str:
        """Names the life of the keeper that was last spoken with: another one is proof of death."""
        hello = self.hello
        return f"{hello.boot_id}/{hello.started_boot_ns}" if hello is not None else ""

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run(), name="keeper")

    async def ready(self) -> None:
        """Return when a keeper serves; raises why none ever will."""
        assert self._task is not None, "not started"
        up = asyncio.create_task(self.is_up.wait())
        try:
            await asyncio.wait((up, self._task), return_when=asyncio.FIRST_COMPLETED)
        finally:
            up.cancel()
        if self._task.done():
            self._task.result()

    async def ended(self) -> None:
        """Return when it was stopped; raises what broke it."""
        assert self._task is not None, "not started"
        await asyncio.wait((self._task,))
        if not self._task.cancelled():
            self._task.result()

    async def stop(self) -> None:
        """Leave the keeper and its tasks alone; they go on."""
        tasks = [*self._orders, *([self._task] if self._task is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._client is not None:
            self._client.close()

    def resync(self) -> None:
        """Tell everything anew, to a core that was made afresh."""
        if self._client is not None:
            self._client.close()

    # --- the connection --------------------------------------------------------------------------

    async def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                await self._serve()
                pause_s = _FIRST_PAUSE_S
            except (OSError, TimeoutError):
                self._process.ensure()
            except ProtocolFault as fault:
                _log.error("the keeper cannot be used", reason=fault.reason, fault=fault.message)
                pause_s = _MOST_PAUSE_S
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _MOST_PAUSE_S)

    async def _serve(self) -> None:
        """One connection, from hello to its end."""
        client, hello = await asyncio.wait_for(
            KeeperClient.connect(self._process.socket_path, self._noted), self._pings.within_s
        )
        try:
            body = await asyncio.wait_for(client.ask("list"), self._pings.within_s)
            views = [RunView.from_body(each) for each in body["runs"]]
            self._client, self.hello = client, hello
            self._tell(
                KeeperUp(
                    incarnation=self.incarnation,
                    processes=tuple(reading.process_of(view) for view in views),
                )
            )
            self.is_up.set()
            _log.info("keeper serves", pid=hello.pid, backend=hello.backend, runs=len(views))
            if protocol.OWN_MOUNTS not in hello.features:
                _log.warning("tasks share /tmp, /dev/shm and device files", remedy=_SHARED)
            await self._until_closed(client)
        finally:
            client.close()
            if self._client is client:
                self._client = None
                self.is_up.clear()
                self._tell(KeeperDown())
                _log.warning("keeper away", pid=hello.pid)
            self._process.reap()

    async def _until_closed(self, client: KeeperClient) -> None:
        while not client.closed.done():
            await asyncio.wait({client.closed}, timeout=self._pings.every_s)
            if not client.closed.done():
                await asyncio.wait_for(client.ask("status"), self._pings.within_s)

    def _noted(self, _note: str, view: RunView) -> None:
        self._tell(ProcessSeen(reading.process_of(view)))

    # --- orders ----------------------------------------------------------------------------------

    def launch(self, key: RunKey, spec: StartSpec) -> None:
        """Start a run."""
        self._order(self._launch, key, spec)

    async def _launch(self, client: KeeperClient, key: RunKey, spec: StartSpec) -> None:
        try:
            view = RunView.from_body(await client.ask("start", **spec.to_body()))
        except TooLargeError:
            self._tell(LaunchRefused(key=key, retry=False, evidence={"errno": "E2BIG"}))
        except ProtocolFault as fault:
            self._tell(_refused(key, fault))
        else:
            self._tell(ProcessSeen(reading.process_of(view)))

    def halt(self, effect: Halt) -> None:
        """Stop a run: SIGTERM at once is its notice, SIGKILL follows."""
        self._order(self._halt, effect)

    async def _halt(self, client: KeeperClient, effect: Halt) -> None:
        try:
            body = await client.ask(
                "stop",
                run=reading.run_name(effect.key.task, effect.n),
                token=list(reading.keeper_token(effect.key.token)),
                reason=effect.reason,
                notice_ms=0,
                grace_ms=min(max(effect.notice_ms, 0), MAX_MS),
            )
        except ProtocolFault as fault:
            if fault.reason == protocol.NOT_FOUND:
                self._tell(HaltMissed(effect.key))
            else:
                _log.warning("stop refused", run=str(effect.key), reason=fault.reason)
        else:
            self._tell(ProcessSeen(reading.process_of(RunView.from_body(body))))

    def extend(self, effect: Extend) -> None:
        """Move the deadline of all runs that have one."""
        self._order(self._extend, effect)

    async def _extend(self, client: KeeperClient, effect: Extend) -> None:
        assert self.hello is not None, "a client without a hello"
        await client.ask(
            "extend", deadline_boot_ns=effect.deadline_ns, boot_id=self.hello.boot_id, runs=None
        )

    def measure(self, effect: Measure) -> None:
        """Ask what a run has used."""
        self._order(self._measure, effect)

    async def _measure(self, client: KeeperClient, effect: Measure) -> None:
        body = await client.ask(
            "usage",
            run=reading.run_name(effect.key.task, effect.n),
            token=list(reading.keeper_token(effect.key.token)),
        )
        usage = body["usage"]
        self._tell(
            Measured(
                key=effect.key,
                at_ns=body["boot_ns"],
                cpu_ms=(usage["cpu_ns"] or 0) // reading.NS_PER_MS,
                memory_peak=usage["memory_peak_bytes"] or usage["memory_bytes"] or 0,
            )
        )

    def forget(self, key: RunKey, n: int) -> None:
        """Drop the keeper's record of an ended run."""
        self._order(self._forget, key, n)

    async def _forget(self, client: KeeperClient, key: RunKey, n: int) -> None:
        token = list(reading.keeper_token(key.token))
        await client.ask("forget", run=reading.run_name(key.task, n), token=token)

    def _order(self, carry: Callable[..., Coroutine[None, None, None]], *arguments: object) -> None:
        client = self._client
        if client is None:
            return
        task = asyncio.create_task(self._carried(carry, client, *arguments))
        self._orders.add(task)
        task.add_done_callback(self._orders.discard)

    async def _carried(
        self,
        carry: Callable[..., Coroutine[None, None, None]],
        client: KeeperClient,
        *arguments: object,
    ) -> None:
        """Made here, not by the caller: a task cancelled before it begins leaves no coroutine."""
        try:
            await carry(client, *arguments)
        except OSError:
            return  # the connection broke: whoever comes next is told anew
        except ProtocolFault as fault:
            _log.info("keeper refused", reason=fault.reason, fault=fault.message)


def _refused(key: RunKey, fault: ProtocolFault) -> LaunchRefused:
    match fault.reason:
        case protocol.STALE_TOKEN:
            return LaunchRefused(key=key, retry=False, evidence={"superseded": fault.message})
        case reason if reason in _RETRY or reason == protocol.DEADLINE_PASSED:
            return LaunchRefused(key=key, retry=True)
        case _:
            text = f"{fault.field}: {fault.message}" if fault.field else fault.message
            return LaunchRefused(key=key, retry=False, evidence={"staging": text})
