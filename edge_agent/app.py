"""An edge agent's link, wired: core, journal, keeper, region. In-process in tests, else `__main__`.

The keeper comes first, so that the hello to the region names the runs that really are here. Must
not hold any rule of its own, and must not stop the keeper when it stops: tasks go on.
"""

import asyncio
import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from edge_agent.adapters.capability import bounded, probe
from edge_agent.adapters.files.cache import BlobCache
from edge_agent.adapters.files.folders import Folders, RunFolders
from edge_agent.adapters.files.trees import Trees
from edge_agent.adapters.keeping.process import KeeperProcess
from edge_agent.adapters.keeping.supervision import Supervision
from edge_agent.adapters.outward import Outward, Parts, TaskSettings
from edge_agent.adapters.region.connection import Connection
from edge_agent.adapters.region.link import Dialling, RegionLink
from edge_agent.adapters.region.logs import LogReads
from edge_agent.adapters.work.checkpoints import Checkpoints
from edge_agent.adapters.work.collecting import Collector
from edge_agent.adapters.work.staging import Stager
from edge_agent.domain.core import ORDER, RUN, SAMPLE, SHARD, AgentCore, Node
from edge_agent.domain.events import RunKey
from edge_agent.domain.lease import Reserve
from edge_agent.domain.run import PUBLIC, NodeRun
from edge_agent.domain.settings import Settings
from intertie.clock import SystemClock, SystemIds
from intertie.drive.drive import Drive, Loaded, Logged
from intertie.model.agentlink import AgentHello, AgentRun, StartRun, UsageSample
from intertie.model.pool import NodeCapability
from intertie.pki.load import IdentityDirectory
from intertie.ports import Clock, IdSource, Now
from intertie.store.codec import decoder, encode
from intertie.store.journal import JournalStore
from intertie.store.pump import Pump
from intertie.telemetry.http import TelemetryServer
from intertie.telemetry.logs import logger
from intertie.telemetry.metrics import AGENT_ATTACHED, AGENT_KEEPER_STARTS, AGENT_RUNS, BUILD
from intertie.telemetry.registry import Metrics
from intertie.transport.channels import Channels
from intertie.transport.joining.renewal import Renewal
from intertie.transport.versions import PROTOCOL_MAX, PROTOCOL_MIN, software

_log = logger(__name__)


class Application:
    """One agent.

    Args:
        settings: from `Config.as_settings`.
        capability: what the node has; probed if absent.
        clock: time.
        ids: ids and secrets.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        capability: NodeCapability | None = None,
        clock: Clock | None = None,
        ids: IdSource | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = Metrics(process=True)
        self.metrics_port = 0
        self._capability = capability
        self._clock = clock or SystemClock()
        ids = ids or SystemIds()
        self._rng = random.Random(ids.token_hex(16))  # noqa: S311 - jitter, no secrets
        self.incarnation = ids.uuid7()
        self._boot_id = self._clock.now().boot_id
        self.folders = Folders(Path(settings.state_dir), settings.first_uid)
        self._store: JournalStore | None = None
        self._pump: Pump | None = None
        self._channels: Channels | None = None
        self._renewal: Renewal | None = None
        self._telemetry: TelemetryServer | None = None
        self._outward: Outward | None = None
        self._process: KeeperProcess | None = None
        self._trees: Trees | None = None
        self.keeping: Supervision | None = None
        self.link: RegionLink | None = None

    # --- life ------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Open everything and dial; what was opened before an error is closed again.

        Returns when the keeper serves; the region may still be away.
        """
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def ended(self) -> None:
        """Return when a part has stopped; raises what broke it."""
        assert self._pump is not None, "not started"
        assert self.keeping is not None, "not started"
        assert self._outward is not None, "not started"
        parts = (self._pump.ended(), self.keeping.ended(), self._outward.ended())
        waits = [asyncio.ensure_future(part) for part in parts]
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for ended in done:
                ended.result()
        finally:
            for wait in waits:
                wait.cancel()

    async def stop(self) -> None:
        """Hang up and close the store; the keeper and its tasks go on. Idempotent."""
        for part in (
            self._renewal,
            self.link,
            self._outward,
            self.keeping,
            self._telemetry,
            self._pump,
        ):
            if part is not None:
                await part.stop()
        if self._trees is not None:
            await asyncio.to_thread(self._trees.stop)
        for closing in (self._channels, self._store):
            if closing is not None:
                await closing.close()
        self.link = self.keeping = self._outward = self._telemetry = self._pump = None
        self._channels = self._store = self._trees = None

    async def _start(self) -> None:
        settings, folders = self.settings, self.folders
        await asyncio.to_thread(folders.prepare)
        self._store = await asyncio.to_thread(JournalStore, folders.link)
        if self._capability is None:
            self._capability = await asyncio.to_thread(probe, folders.state)
        self._capability = bounded(
            self._capability,
            cpu=settings.cpu,
            memory=settings.memory,
            disk=settings.disk,
            own_users=settings.first_uid is not None,
        )
        await self._wire(self._store, self._capability)
        assert self._pump is not None, "wired"
        assert self.keeping is not None, "wired"
        assert self.link is not None, "wired"
        assert self._trees is not None, "wired"
        await self._pump.start()
        kept = [run.key for run in self._runs()]
        await asyncio.to_thread(self._trees.discard_unknown, kept)
        self.keeping.start()
        await self.keeping.ready()
        self.link.start()
        self._telemetry = TelemetryServer(self.metrics.registry, self._is_healthy)
        self.metrics_port = await self._telemetry.start(settings.metrics_port)
        self._measure()
        _log.info("serving", node=settings.node, metrics_port=self.metrics_port)

    async def _wire(self, store: JournalStore, capability: NodeCapability) -> None:
        settings, folders = self.settings, self.folders
        identity = IdentityDirectory(Path(settings.identity_dir), settings.trust_domain)
        channels = self._channels = Channels(identity, self._clock, self.metrics)
        channels.start()
        pump = self._pump = Pump(
            Drive(self._make_core, encode),
            store,
            self._clock,
            shards=(SHARD,),
            decoders={
                RUN: decoder(NodeRun),
                ORDER: decoder(StartRun),
                SAMPLE: decoder(UsageSample),
            },
            release=self._release,
        )
        process = KeeperProcess(folders.keeper, cgroup=settings.cgroup, kill_ms=settings.kill_ms)
        self._process, self.keeping = process, Supervision(process, pump.tell)
        connection = Connection(
            channels,
            scheduler=settings.scheduler,
            region=settings.region,
            trust_domain=settings.trust_domain,
        )
        if settings.renew:
            self._renewal = Renewal(identity, connection.renew, self._clock, self._rng)
            self._renewal.start()
        self.link = self._make_link(connection, capability, pump)
        blobs = connection.blobs(self._rng)
        trees = self._trees = Trees(folders)
        await asyncio.to_thread(trees.start)
        cache = BlobCache(folders.cache, settings.cache_bytes)
        await asyncio.to_thread(cache.load)
        checkpoints = Checkpoints(folders, blobs, self._clock)
        parts = Parts(
            folders=folders,
            keeping=self.keeping,
            link=self.link,
            trees=trees,
            stager=Stager(folders, trees, cache, blobs),
            checkpoints=checkpoints,
            collector=Collector(folders, blobs, checkpoints),
        )
        devices = {device.index: device for device in capability.devices}
        self._outward = Outward(parts, self._task_settings(), devices, pump.tell)

    def _make_link(
        self, connection: Connection, capability: NodeCapability, pump: Pump
    ) -> RegionLink:
        settings = self.settings
        link = RegionLink(
            connection.link,
            lambda: self._hello(capability),
            pump.tell,
            free_disk=self._free_disk,
            reserve=self._reserve,
            clock=self._clock,
            rng=self._rng,
            dialling=Dialling(settings.reconnect_ms / 1000, settings.reconnect_most_ms / 1000),
        )
        link.serve_logs(LogReads(self._find_logs, link.answer))
        return link

    @property
    def _reserve(self) -> Reserve:
        return Reserve(self.settings.kill_ms, self.settings.delta_ms)

    def _task_settings(self) -> TaskSettings:
        settings = self.settings
        return TaskSettings(
            task_path=settings.task_path,
            uid_base=settings.uid_base,
            log_bytes=settings.log_bytes,
            pids=settings.pids,
            grace_ms=settings.grace_ms,
        )

    # --- the core --------------------------------------------------------------------------------

    def _make_core(self, loaded: Iterable[Loaded], now: Now) -> AgentCore:
        """A fresh core knows its rows only: everything else introduces itself anew."""
        if self._outward is not None:
            self._outward.drop_work()
        if self.keeping is not None:
            self.keeping.resync()
        if self.link is not None:
            self.link.reconnect()
        settings = self.settings
        node = Node(
            site=settings.site,
            slots=settings.uid_count,
            reserve=self._reserve,
            resend_ms=settings.resend_ms,
        )
        return AgentCore(loaded, now, node=node)

    def _release(self, effects: Sequence[object], _logged: Sequence[Logged]) -> None:
        assert self._outward is not None, "effects before anything is wired"
        self._outward(effects)

    def _runs(self) -> list[NodeRun]:
        assert self._pump is not None, "not started"
        runs = self._pump.drive.view.values(RUN)
        return [run for run in runs if isinstance(run, NodeRun)]

    def _hello(self, capability: NodeCapability) -> AgentHello:
        assert self.keeping is not None, "not started"
        return AgentHello(
            node=self.settings.node,
            incarnation=self.incarnation,
            boot_id=self._boot_id,
            site=self.settings.site,
            software=software(),
            protocol_min=PROTOCOL_MIN,
            protocol_max=PROTOCOL_MAX,
            capability=capability,
            runs=tuple(
                AgentRun(task=run.key.task, token=run.key.token, state=PUBLIC[run.phase])
                for run in self._runs()
            ),
            keeper_incarnation=self.keeping.incarnation,
        )

    def _find_logs(self, task: str, n: int) -> tuple[RunFolders, bool] | None:
        runs = [run for run in self._runs() if run.key.task == task and run.n == n]
        if not runs:
            return None
        run = max(runs, key=lambda each: each.key.token)
        return self.folders.of(RunKey(task, run.key.token)), run.is_live

    # --- what is shown ---------------------------------------------------------------------------

    def _free_disk(self) -> int:
        status = os.statvfs(self.settings.state_dir)
        return status.f_bavail * status.f_frsize

    def _is_healthy(self) -> bool:
        loaded = self._pump is not None and self._pump.is_loaded
        return loaded and self.keeping is not None and self.keeping.is_up.is_set()

    def _measure(self) -> None:
        """Gauges that are read when somebody looks, so that they cost nothing in between."""
        link, process = self.link, self._process
        assert link is not None, "wired"
        assert process is not None, "wired"
        self.metrics.gauge(BUILD, software(), "agent").set(1)
        self.metrics.gauge(AGENT_RUNS).set_function(self._count_runs)
        self.metrics.gauge(AGENT_ATTACHED).set_function(lambda: float(link.is_up.is_set()))
        self.metrics.gauge(AGENT_KEEPER_STARTS).set_function(lambda: float(process.starts))

    def _count_runs(self) -> float:
        return float(self._pump.drive.view.count(RUN)) if self._pump is not None else 0.0
