"""A regional scheduler, wired: domain, store, metering log, links; in-process or by `__main__`.

Store and core come first, then the log, the server, and the links upward; stopping goes the other
way. Must not hold any rule of its own.
"""

import asyncio
import random
from collections.abc import Iterable, Sequence

from intertie.clock import SystemClock, SystemIds
from intertie.drive.drive import Drive, Loaded, Logged
from intertie.errors import IntertieError, Reason, error
from intertie.metering.sequence import LogState
from intertie.model.lending import Lending, Quantity, Reclaim
from intertie.model.link import RegionHello
from intertie.pki.bans import Bans
from intertie.pki.check import PeerCheck
from intertie.pki.load import IdentityDirectory
from intertie.pki.spiffe import federation_dns_name
from intertie.ports import Clock, IdSource, Now, Store
from intertie.store.blob_collector import BlobCollector
from intertie.store.blobs import BlobStore
from intertie.store.codec import decoder, encode_body
from intertie.store.enrollment.ledger import StoreLedger
from intertie.store.enrollment.registry import Registry
from intertie.store.etcd.channels import read_tls
from intertie.store.etcd.client import EtcdClient
from intertie.store.open import open_store
from intertie.store.pump import Pump
from intertie.store.retention import Retention
from intertie.telemetry.http import TelemetryServer
from intertie.telemetry.logs import logger
from intertie.telemetry.metrics import ALARMS, BUILD, LOG_SIZE, REGION_NODES, REGION_RUNS
from intertie.telemetry.registry import Metrics
from intertie.transport.blobs import BlobServicer
from intertie.transport.channels import Channels
from intertie.transport.joining.renewal import Renewal, self_renewal
from intertie.transport.server import Server
from intertie.transport.versions import PROTOCOL_MAX, PROTOCOL_MIN, software
from intertie.wire.tokens import Tokens
from regional.adapters.assignments import Assignments
from regional.adapters.beacon.ranging import BEACONS, Ranging
from regional.adapters.blob_source import BlobSource
from regional.adapters.egress import Egress
from regional.adapters.enrollment import SHARD as ENROLLMENT_SHARD
from regional.adapters.enrollment import open_authority
from regional.adapters.etcd import Session, remember_incarnation
from regional.adapters.federation_link import FederationLink, Peers
from regional.adapters.keys import Keys, load_keys
from regional.adapters.log.publisher import Publisher
from regional.adapters.log.sequencer import Sequencer
from regional.adapters.log.signing import DurableSigner
from regional.adapters.log.store import LOG_SHARD, LogStore
from regional.adapters.log.witness import WitnessClient
from regional.adapters.newest import newest_only
from regional.adapters.reading import RunReader
from regional.adapters.stubs import FederationStubs
from regional.config import Config
from regional.domain.core import DONE, PENDING, REQUESTS, RUN, SHARD, RegionCore
from regional.domain.events import ToFederation, ToNode, UsagePending
from regional.domain.lending.lender import LENDING, POOL, RECLAIM
from regional.domain.nodes.fencing import UNFENCED
from regional.domain.nodes.removal import REMOVED, Removed
from regional.domain.residence import POLICY, KnownPolicy
from regional.domain.runs.run import RegionRun
from regional.domain.settings import Site
from regional.server.agent_link import AgentLinkServicer
from regional.server.enrollment import desk
from regional.server.enrollment.serving import add_enrollment
from regional.server.node_links import NodeLinks
from regional.server.pool_service import PoolServicer
from regional.server.serving import REGION_METHODS, add_services

STOP_GRACE_S = 2.0
FEATURES = ("read_bytes", "digest", "policy", BEACONS)
UNSEEN = frozenset({DONE, PENDING})
"""Kinds that are written and not kept in memory."""
SILENT_BEATS = 3
"""Beats that a node may miss before another process may take its id over."""

_log = logger(__name__)


class Application:
    """One regional scheduler.

    Args:
        config: as loaded.
        clock: time.
        ids: ids and secrets.
        bans: who may not act any more.
    """

    def __init__(
        self,
        config: Config,
        *,
        clock: Clock | None = None,
        ids: IdSource | None = None,
        bans: Bans | None = None,
    ) -> None:
        self.config = config
        self.bans = bans or Bans()
        self.port = 0
        self.join_port = 0
        self.metrics_port = 0
        self.metrics = Metrics(process=True)
        self._clock = clock or SystemClock()
        self._ids = ids or SystemIds()
        self._rng = random.Random(self._ids.token_hex(16))  # noqa: S311 - jitter, no secrets
        self.incarnation = self._ids.uuid7()
        self._fault: IntertieError | None = None
        self._broken = asyncio.Event()
        self._store: Store | None = None
        self._pump: Pump | None = None
        self._server: Server | None = None
        self._telemetry: TelemetryServer | None = None
        self._channels: Channels | None = None
        self._source: BlobSource | None = None
        self._session: Session | None = None
        self._retention: Retention | None = None
        self._collector: BlobCollector | None = None
        self._renewal: Renewal | None = None
        self._ranging = Ranging(config.beacon, self._clock, self._ids, self._rng)
        self._sequencer: Sequencer | None = None
        self.publisher: Publisher | None = None
        self._federation: list[FederationLink] = []
        self.nodes = NodeLinks(
            self._clock,
            silence_ms=SILENT_BEATS * config.timing.beat,
            most=config.max_nodes,
            alarm=self._alarm,
        )

    @property
    def address(self) -> str:
        """Where it serves, as host:port."""
        return f"{self.config.listen.rpartition(':')[0]}:{self.port}"

    @property
    def join_address(self) -> str:
        """Where nodes that join are served, as host:port; empty if nowhere."""
        host = self.config.enrollment.listen.rpartition(":")[0]
        return f"{host}:{self.join_port}" if self.join_port else ""

    async def start(self) -> None:
        """Open everything and serve; what was opened before an error is closed again."""
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def ended(self) -> None:
        """Return when the core has stopped; raises what broke it, or who took our session."""
        assert self._pump is not None, "not started"
        waits = [
            asyncio.ensure_future(self._pump.ended()),
            asyncio.ensure_future(self._broken.wait()),
        ]
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for ended in done:
                ended.result()
        finally:
            for wait in waits:
                wait.cancel()
        if self._fault is not None:
            raise self._fault

    async def stop(self) -> None:
        """Stop serving, finish the running commit, close the store. Idempotent."""
        self.nodes.close_all(error(Reason.SHUTTING_DOWN, "The scheduler is stopping."))
        if self._server is not None:
            await self._server.stop(STOP_GRACE_S)
        for link in self._federation:
            await link.stop()
        for part in (
            self._ranging,
            self.publisher,
            self._sequencer,
            self._renewal,
            self._session,
            self._retention,
            self._collector,
            self._telemetry,
        ):
            if part is not None:
                await part.stop()
        if self._pump is not None:
            await self._pump.stop()
        for closing in (self._source, self._channels, self._store):
            if closing is not None:
                await closing.close()
        self._federation = []
        self._server = self._pump = self._store = self._channels = self._source = None
        self.publisher = self._sequencer = self._session = self._telemetry = self._retention = None
        self._collector = None

    # --- starting --------------------------------------------------------------------------------

    async def _start(self) -> None:
        config = self.config
        store = self._store = await asyncio.to_thread(open_store, config.store_url)
        earlier = remember_incarnation(config.state_dir, self.incarnation)
        identity = IdentityDirectory(config.identity_path, config.trust_domain)
        channels = self._channels = Channels(identity, self._clock, self.metrics)
        channels.start()
        pump = self._pump = self._make_pump(store)
        log = LogStore(store, lambda: pump.heads, config.origin, config.region)
        has_log = await log.has_head()
        keys = load_keys(config.state_dir / "keys", config.origin, self._ids, has_log=has_log)
        stubs = FederationStubs(channels, config.federation.endpoints, self._federation_name)
        self._make_log(log, keys, stubs)
        await pump.start()
        if self.publisher is None:
            assert self._sequencer is not None, "made right here"
            self._sequencer.begin()  # only now: it writes under the epoch that the pump acquired
        blobs = BlobStore(config.blobs_url)
        self._source = BlobSource(blobs, stubs.blobs, self._clock)
        self._serve(pump, store, log, keys, blobs, identity)
        assert self._server is not None, "made right here"
        self.port = self._server.listen(config.listen)
        await self._open_to_nodes(store, keys, identity)
        await self._server.start()
        await self._ranging.start(lambda: self._federation)
        self._link_upward(pump, store, blobs, keys, channels)
        self._seek_session(earlier)
        self._retention = Retention(store, self._clock, REQUESTS)
        self._retention.start()
        self._collector = BlobCollector(
            blobs,
            self._clock,
            upload_ms=config.blob.give_up_after,
            every_s=config.blob.collect_every / 1000,
        )
        self._collector.start()
        self._telemetry = TelemetryServer(self.metrics.registry, self._is_healthy)
        self.metrics_port = await self._telemetry.start(config.metrics_port, config.metrics_host)
        self.metrics.gauge(BUILD, software(), "regional").set(1)
        _log.info("serving", address=self.address, metrics_port=self.metrics_port)

    def _make_pump(self, store: Store) -> Pump:
        return Pump(
            Drive(self._make_core, encode_body, unseen=UNSEEN),
            store,
            self._clock,
            shards=(SHARD, LOG_SHARD),
            decoders={
                RUN: decoder(RegionRun),
                UNFENCED: decoder(RegionRun),
                REMOVED: decoder(Removed),
                LENDING: decoder(Lending),
                RECLAIM: decoder(Reclaim),
                POOL: decoder(Quantity),
                POLICY: decoder(KnownPolicy),
            },
            release=self._release,
        )

    def _make_core(self, loaded: Iterable[Loaded], now: Now) -> RegionCore:
        config = self.config
        site = Site(
            region=config.region,
            jurisdiction=config.jurisdiction,
            incarnation=self.incarnation,
            software=software(),
            max_queue=config.max_queue,
            declared=config.declared_tags,
        )
        # The links of before belong to the core of before: everybody attaches again.
        self.nodes.close_all(
            error(Reason.STORE_UNAVAILABLE, "The scheduler loaded its state anew.")
        )
        for link in self._federation:
            link.hang_up()
        return RegionCore(loaded, now, site=site, timing=config.as_timing())

    def _make_log(self, log: LogStore, keys: Keys, stubs: FederationStubs) -> None:
        config = self.config
        self._sequencer = sequencer = Sequencer(
            log,
            self._clock,
            self._ids,
            group_ms=config.log.group,
            records=config.log.records,
            heartbeat_ms=config.log.heartbeat,
            appended=self._appended,
            alarm=self._alarm,
        )
        if not config.federation.endpoints:
            return  # there is nobody to ask and nobody to sign for
        client = WitnessClient(
            stubs.metering,
            self._clock,
            config.origin,
            keys.log.key,
            config.witness_keys,
        )
        self.publisher = Publisher(
            log,
            client,
            DurableSigner(log, keys.log),
            self._clock,
            self._rng,
            ready=sequencer.begin,
            cosigned=self._cosigned,
            forked=self._forked,
        )

    def _serve(
        self,
        pump: Pump,
        store: Store,
        log: LogStore,
        keys: Keys,
        blobs: BlobStore,
        identity: IdentityDirectory,
    ) -> None:
        config = self.config
        assert self._source is not None, "made before it is served"
        self._server = Server(
            identity,
            PeerCheck(config.trust_domain, self.bans),
            clock=self._clock,
            ids=self._ids,
            metrics=self.metrics,
            methods=REGION_METHODS,
            home_region=config.region,
        )
        agents = AgentLinkServicer(
            pump,
            self.nodes,
            jurisdiction=config.jurisdiction,
            hello_s=config.timing.hello / 1000,
            silence_s=config.timing.unknown_after / 1000,
        )
        pool = PoolServicer(
            pump,
            store,
            blobs,
            log,
            Tokens(keys.tokens),
            self._ids,
            config.region,
            config.timing.kill,
        )
        add_services(self._server, agents, BlobServicer(blobs, self._source.fetch), pool)

    async def _open_to_nodes(self, store: Store, keys: Keys, identity: IdentityDirectory) -> None:
        """Add the service by which nodes join, its port, and the renewal of our own leaf."""
        config, given = self.config, self.config.enrollment
        assert self._server is not None, "services are added to a server"
        authority = None
        if given.ca_dir is not None:
            authority = await asyncio.to_thread(
                open_authority, given.ca_dir, identity, config.region
            )
            self._renewal = self_renewal(identity, authority, self._clock, self._rng)
            self._renewal.start()
        if given.listen:
            self.join_port = self._server.listen(given.listen, anonymous=True)
        site = desk.Site(
            region=config.region,
            trust_domain=config.trust_domain,
            jurisdiction=config.jurisdiction,
            endpoints=given.endpoints or (self.address,),
            join_endpoints=given.join_endpoints or (self.join_address,),
        )
        registry = Registry(
            StoreLedger(store, ENROLLMENT_SHARD),
            self._clock,
            lambda serial: serial in self.bans.serials,
        )
        office = desk.Desk(
            registry=registry, site=site, clock=self._clock, ids=self._ids, signing=authority
        )
        add_enrollment(self._server, office, Tokens(keys.tokens))

    def _link_upward(
        self, pump: Pump, store: Store, blobs: BlobStore, keys: Keys, channels: Channels
    ) -> None:
        config = self.config

        def hello() -> RegionHello:
            return RegionHello(
                region=config.region,
                incarnation=self.incarnation,
                jurisdiction=config.jurisdiction,
                software=software(),
                protocol_min=PROTOCOL_MIN,
                protocol_max=PROTOCOL_MAX,
                features=FEATURES,
                log_vkey=keys.log.key.vkey,
                beacon=self._ranging.address,
            )

        peers = Peers(
            core=pump,
            reader=RunReader(
                store, blobs, self.nodes.read, Egress(pump, config.jurisdiction, self._clock)
            ),
            assignments=Assignments(config.region, config.statement_keys),
            hello=hello,
            channels=channels,
            clock=self._clock,
            rng=self._rng,
            beacons=self._ranging.heard,
        )
        hello_s = config.timing.hello / 1000
        self._federation = [
            FederationLink(target, self._federation_name, peers, hello_s=hello_s)
            for target in config.federation.endpoints
        ]
        for link in self._federation:
            link.start()
        if self.publisher is not None:
            self.publisher.start()

    def _seek_session(self, earlier: tuple[str, ...]) -> None:
        etcd = self.config.etcd
        if not etcd.endpoints:
            return
        tls = None
        if etcd.ca is not None and etcd.cert is not None and etcd.key is not None:
            tls = read_tls(etcd.ca, etcd.cert, etcd.key)
        self._session = Session(
            EtcdClient(etcd.endpoints, tls=tls),
            self._clock,
            self.config.region,
            self.incarnation,
            bans=self.bans,
            earlier=earlier,
            ttl_s=etcd.ttl_seconds,
            taken=self._session_taken,
        )
        self._session.start()

    # --- while running ---------------------------------------------------------------------------

    @property
    def _federation_name(self) -> str:
        return federation_dns_name(self.config.trust_domain)

    def _release(self, effects: Sequence[object], logged: Sequence[Logged]) -> None:
        """Let the core's outward effects go, in their order, after their commit."""
        del logged
        for effect in newest_only(effects):
            match effect:
                case ToNode():
                    self.nodes.send(effect.node, effect.link, effect.message)
                case ToFederation():
                    for link in self._federation:
                        link.send(effect.link, effect.message)
                case UsagePending():
                    assert self._sequencer is not None, "made before the pump starts"
                    self._sequencer.wake()
                case _:
                    raise AssertionError(f"unknown effect {type(effect).__name__}")
        self._count()

    def _count(self) -> None:
        core = self._pump.drive.core if self._pump is not None else None
        if isinstance(core, RegionCore):
            self.metrics.gauge(REGION_NODES).set(len(self.nodes))
            self.metrics.gauge(REGION_RUNS, "queued").set(core.scheduling.queued)
            self.metrics.gauge(REGION_RUNS, "placed").set(core.running)

    def _appended(self, state: LogState) -> None:
        self.metrics.gauge(LOG_SIZE, "sequenced").set(state.size)
        if self.publisher is not None:
            self.publisher.appended(state)

    def _cosigned(self, size: int) -> None:
        self.metrics.gauge(LOG_SIZE, "cosigned").set(size)

    def _forked(self) -> None:
        self._alarm("log_fork")
        if self._sequencer is not None:
            self._sequencer.hold()

    def _session_taken(self) -> None:
        self._alarm("region_session_taken")
        self._fault = error(
            Reason.SESSION_TAKEN,
            f"Another live process holds the session of {self.config.region}.",
            remedy="Stop one of the two schedulers.",
        )
        self._broken.set()

    def _alarm(self, kind: str) -> None:
        self.metrics.counter(ALARMS, kind).inc()

    def _is_healthy(self) -> bool:
        return self._pump is not None and self._pump.is_loaded
