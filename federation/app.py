"""A federation replica, wired: domain, store, servers. In-process in tests, else by `__main__`.

Store and core come first, then the server; stopping goes the other way. Must not hold any rule of
its own.
"""

import asyncio
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

from federation.adapters.assign import SpecForms
from federation.adapters.enrollment import Opened, open_enrollment
from federation.adapters.grant_reads import GrantReads
from federation.adapters.keys import Keys, load_keys
from federation.adapters.latencies import read_latencies
from federation.adapters.membership import ReplicaMembership
from federation.adapters.mirror import Mirror
from federation.adapters.prices import UNPRICED, adopt_prices, read_prices
from federation.adapters.relay import Relay
from federation.adapters.release import Release
from federation.adapters.task_retention import TaskRetention
from federation.config import Config
from federation.domain.blobs import BLOB
from federation.domain.core import (
    DONE,
    GRANT,
    LIVE,
    PROJECT,
    REGION,
    REQUESTS,
    SPEC,
    FederationCore,
)
from federation.domain.drains import DRAIN, Drain
from federation.domain.events import PolicyChanged
from federation.domain.learning import HISTORY
from federation.domain.payers import ProjectRecord
from federation.domain.region_record import RegionRecord
from federation.domain.routing.decisions import DECISION
from federation.domain.routing.known.history import Record
from federation.domain.routing.known.latency import UNMEASURED
from federation.domain.routing.known.prices import Prices
from federation.domain.states import AdmitRegion, HangUp
from federation.server.blob.rights import Rights
from federation.server.enrollment.office import Access, Office
from federation.server.enrollment.serving import add_enrollment
from federation.server.enrollment.signing import Signer
from federation.server.metering.logs import Origins
from federation.server.policy.book import PolicyBook
from federation.server.policy.egress import Egress
from federation.server.region.checks import POLICY
from federation.server.region.distances import Distances
from federation.server.region.links import Links
from federation.server.serving import Needs, add_services
from federation.server.task.changes import Changes
from federation.server.task.lists import decode_event
from federation.server.task.reads import Tasks, decode_spec, decode_task
from intertie.billing.prices import PriceList
from intertie.clock import SystemClock, SystemIds
from intertie.drive.drive import Drive, Loaded, Logged, unconfirmed
from intertie.errors import Reason, error
from intertie.model.names import SHARDS
from intertie.model.task import FIRST_EPOCH
from intertie.pki.bans import Bans
from intertie.pki.check import PeerCheck
from intertie.pki.join.requests import JoinRequest
from intertie.pki.load import IdentityDirectory
from intertie.ports import Clock, IdSource, Now, Store
from intertie.residency import NONE, Policy
from intertie.store.blob_collector import BlobCollector
from intertie.store.blobs import BlobStore
from intertie.store.codec import decoder, encode_body
from intertie.store.enrollment.registry import Registry
from intertie.store.etcd.channels import read_tls
from intertie.store.etcd.client import EtcdClient
from intertie.store.open import open_store
from intertie.store.pump import Pump
from intertie.store.retention import Retention
from intertie.telemetry.http import TelemetryServer
from intertie.telemetry.logs import logger
from intertie.telemetry.metrics import ALARMS, ATTACHED_REGIONS, BUILD, LIVE_TASKS
from intertie.telemetry.registry import Metrics
from intertie.transport.joining.renewal import Renewal, self_renewal
from intertie.transport.layers.bounds import Limits
from intertie.transport.server import Server, ServerOptions
from intertie.transport.versions import software
from intertie.wire.tokens import Tokens

STOP_GRACE_S = 2.0
UNSEEN = frozenset({DONE, GRANT, BLOB, DECISION, HISTORY})
"""Kinds that are written and not kept in memory."""

_log = logger(__name__)


class Application:
    """One replica that owns all shards.

    Args:
        config: as loaded.
        clock: time.
        ids: ids and secrets.
        bans: who may not act any more; a watch of etcd fills it.
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
        self._store: Store | None = None
        self._pump: Pump | None = None
        self._server: Server | None = None
        self._telemetry: TelemetryServer | None = None
        self._membership: ReplicaMembership | None = None
        self._retention: Retention | None = None
        self._grant_reads: GrantReads | None = None
        self._enrollment: Opened | None = None
        self._book: PolicyBook | None = None
        self._renewal: Renewal | None = None
        self._collector: BlobCollector | None = None
        self._task_retention: TaskRetention | None = None
        self._links = Links()
        self._prices = UNPRICED
        self._distances = Distances(self._clock, UNMEASURED, config.timing.rtt_max_age)
        self._specs = SpecForms()

    @property
    def address(self) -> str:
        """Where it serves, as host:port."""
        return f"{self.config.listen.rpartition(':')[0]}:{self.port}"

    @property
    def join_address(self) -> str:
        """Where those who join are served, as host:port; empty if nowhere."""
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
        """Return when the core has stopped; raises what broke it."""
        assert self._pump is not None, "not started"
        await self._pump.ended()

    async def stop(self) -> None:
        """Stop serving, finish the running commit, close the store. Idempotent."""
        stopping = error(Reason.SHUTTING_DOWN, "The replica is stopping.")
        if self._membership is not None:
            await self._membership.stop()
            self._membership = None
        self._links.close_all(stopping)
        if self._server is not None:
            await self._server.stop(STOP_GRACE_S)
        for part in (
            self._telemetry,
            self._retention,
            self._collector,
            self._task_retention,
        ):
            if part is not None:
                await part.stop()
        if self._renewal is not None:
            await self._renewal.stop()
            self._renewal = None
        if self._book is not None:
            await self._book.close()
            self._book = None
        if self._enrollment is not None:
            await self._enrollment.close()
            self._enrollment = None
        if self._grant_reads is not None:
            await self._grant_reads.stop()
        if self._pump is not None:
            await self._pump.stop()
        if self._store is not None:
            await self._store.close()
        self._server = self._telemetry = self._pump = self._store = self._retention = None
        self._grant_reads = self._collector = self._task_retention = None

    async def _start(self) -> None:
        config = self.config
        self._store = await asyncio.to_thread(open_store, config.store_url)
        keys = load_keys(config.state_dir / "keys", config.trust_domain, self._ids)
        self._prices = read_prices(config.prices_file)
        declared = read_latencies(config.latencies_file)
        self._distances = Distances(self._clock, declared, config.timing.rtt_max_age)
        prices = await adopt_prices(self._store, self._prices, keys.statements)
        pump = self._pump = self._make_pump(self._store, keys)
        opened = self._enrollment = await open_enrollment(config, self._store, self.bans)
        self._book = PolicyBook(self._store, opened.ledger, self._clock, self._policy_changed)
        await pump.start()
        await self._book.open()
        if isinstance(opened.ledger, EtcdClient):
            self._book.follow(opened.ledger)
        origins = Origins(self._regions, config.trust_domain)
        mirror = Mirror(
            self._store,
            self._clock,
            keys.witness,
            origins.keys,
            forked=lambda: self.metrics.counter(ALARMS, "log_fork").inc(),
            ahead=config.mirror.ahead,
        )
        await mirror.start()
        tasks = Tasks(pump, self._clock)
        blobs = BlobStore(config.blob_root, limits=config.blob.as_limits())
        rights = Rights(pump, tasks, blobs, self._clock, config.blob.keep)
        await rights.adopt()
        self._server = self._make_server()
        needs = self._needs(pump, tasks, blobs, rights, keys, mirror, origins, prices)
        add_services(self._server, needs)
        self.port = self._server.listen(config.listen)
        if config.enrollment.listen:
            self.join_port = self._server.listen(config.enrollment.listen, anonymous=True)
        await self._open_to_joiners(pump, keys)
        await self._server.start()
        self._telemetry = TelemetryServer(self.metrics.registry, lambda: pump.is_loaded)
        self.metrics_port = await self._telemetry.start(config.metrics_port)
        self._measure(pump)
        self._retention = Retention(self._store, self._clock, REQUESTS)
        self._retention.start()
        self._collector = BlobCollector(
            blobs,
            self._clock,
            upload_ms=config.blob.give_up_after,
            every_s=config.blob.collect_every / 1000,
            keep_ms=config.blob.keep,
            let_go=rights.let_go,
        )
        self._collector.start()
        self._task_retention = TaskRetention(pump, self._clock, config.retention.tasks)
        self._task_retention.start()
        self._join()
        _log.info("serving", address=self.address, metrics_port=self.metrics_port)

    def _measure(self, pump: Pump) -> None:
        self.metrics.gauge(BUILD, software(), "federation").set(1)
        tasks, regions = self.metrics.gauge(LIVE_TASKS), self.metrics.gauge(ATTACHED_REGIONS)
        tasks.set_function(lambda: pump.drive.view.count(LIVE))
        regions.set_function(lambda: len(self._links))

    async def _open_to_joiners(self, pump: Pump, keys: Keys) -> None:
        """Add the services by which regions and people join."""
        opened = self._enrollment
        assert opened is not None, "opened at the start"
        signer = None
        if opened.authority is not None:
            signer = Signer(opened.authority, self._clock)
            self._renewal = self_renewal(
                IdentityDirectory(self.config.identity, self.config.trust_domain),
                opened.authority,
                self._clock,
                random.Random(self._ids.token_hex(16)),  # noqa: S311 - spreads renewals
            )
            self._renewal.start()
        office = Office(
            registry=Registry(
                opened.ledger, self._clock, lambda serial: opened.bans.covers("", serial)
            ),
            bans=opened.bans,
            access=self._access(keys),
            clock=self._clock,
            ids=self._ids,
            record_of=self._record_of,
            signing=signer,
        )

        async def admit(asked: JoinRequest, actor: str) -> None:
            def make(ticket: int) -> AdmitRegion:
                return AdmitRegion(
                    ticket=ticket,
                    region=asked.region,
                    jurisdiction=asked.jurisdiction,
                    actor=actor,
                )

            await pump.ask(make)

        assert self._server is not None, "services are added to a server"
        tasks, tokens = Tasks(pump, self._clock), Tokens(keys.tokens)
        add_enrollment(self._server, pump, tasks, tokens, office, admit, self._distances)

    def _access(self, keys: Keys) -> Access:
        enrollment = self.config.enrollment
        return Access(
            trust_domain=self.config.trust_domain,
            endpoints=enrollment.endpoints or (self.address,),
            join_endpoints=enrollment.join_endpoints or (self.join_address,),
            grant_keys=(keys.statements.key.public.hex(),),
            witnesses=(keys.witness.key.vkey,),
            price_version=self._prices.version,
        )

    def _record_of(self, region: str) -> RegionRecord | None:
        assert self._pump is not None, "regions are asked for while serving"
        record = self._pump.drive.view.get(REGION, region)
        return record if isinstance(record, RegionRecord) else None

    def _policy_changed(self, policy: Policy) -> None:
        assert self._book is not None, "the book tells of its own changes"
        assert self._pump is not None, "the pump starts before the book opens"
        self._pump.tell(PolicyChanged(policy=policy))
        self._links.tell_all(POLICY, self._book.update())

    def _place_of(self, region: str) -> str:
        record = self._record_of(region)
        return record.jurisdiction if record is not None else ""

    def _hang_up(self, effect: HangUp) -> None:
        self._links.close(effect.region, effect.why)

    def _join(self) -> None:
        """Seek our place in etcd, if there is one; nothing waits for it."""
        etcd = self.config.etcd
        if not etcd.endpoints:
            return
        tls = None
        if etcd.ca is not None and etcd.cert is not None and etcd.key is not None:
            tls = read_tls(etcd.ca, etcd.cert, etcd.key)
        self._membership = ReplicaMembership(
            EtcdClient(etcd.endpoints, tls=tls),
            self._clock,
            self.config.replica,
            self._ids.uuid7(),
            bans=self.bans,
            ttl_s=etcd.ttl_seconds,
            taken=lambda: self.metrics.counter(ALARMS, "replica_session_taken").inc(),
        )
        self._membership.start()

    def _make_pump(self, store: Store, keys: Keys) -> Pump:
        reads = self._grant_reads = GrantReads(store, lambda read: pump.tell(read))
        reads.start()
        release = Release(self._links.send, reads.ask, keys.statements, self._specs, self._hang_up)
        self._changes = Changes(store, lambda: pump.heads, decode_event)

        def released(effects: Sequence[object], logged: Sequence[Logged]) -> None:
            self._changes.committed(logged)
            release(effects)

        pump = Pump(
            Drive(self._make_core, encode_body, unseen=UNSEEN),
            store,
            self._clock,
            shards=range(SHARDS),
            decoders={
                LIVE: decode_task,
                SPEC: decode_spec,
                REGION: decoder(RegionRecord),
                DRAIN: decoder(Drain),
                PROJECT: decoder(ProjectRecord),
                HISTORY: decoder(Record),
            },
            release=released,
        )
        return pump

    def _make_core(self, loaded: Iterable[Loaded], now: Now) -> FederationCore:
        assert self._pump is not None, "the pump makes its core"
        # A core that was loaded anew knows no link: regions attach again.
        self._links.close_all(unconfirmed())
        return FederationCore(
            loaded,
            now,
            rng=random.Random(self._ids.token_hex(16)),  # noqa: S311 - draws of regions, no secrets
            timing=self.config.timing.as_values(),
            price_version=self._prices.version,
            prices=Prices(self._prices),
            latencies=self._distances,
            spec_digest=self._specs.digest,
            policy=self._book.policy if self._book is not None else NONE,
            max_open=self.config.limits.open_tasks_per_project,
            replica=self.config.replica,
            shard_epochs={head.shard: head.epoch for head in self._pump.heads.values()},
        )

    def _make_server(self) -> Server:
        config, limits = self.config, self.config.limits
        return Server(
            IdentityDirectory(config.identity, config.trust_domain),
            PeerCheck(config.trust_domain, self.bans),
            clock=self._clock,
            ids=self._ids,
            metrics=self.metrics,
            options=ServerOptions(
                limits=Limits(limits.calls_per_second, limits.burst, limits.streams)
            ),
        )

    def _regions(self) -> Iterator[RegionRecord]:
        assert self._pump is not None, "regions are asked for while serving"
        values = self._pump.drive.view.values(REGION)
        return (value for value in values if isinstance(value, RegionRecord))

    def _needs(
        self,
        pump: Pump,
        tasks: Tasks,
        blobs: BlobStore,
        rights: Rights,
        keys: Keys,
        mirror: Mirror,
        origins: Origins,
        prices: Mapping[str, PriceList],
    ) -> Needs:
        relay, book = Relay(self._links.send), self._book
        assert book is not None, "opened before it is served"
        return Needs(
            pump=pump,
            tasks=tasks,
            clock=self._clock,
            ids=self._ids,
            changes=self._changes,
            links=self._links,
            relay=relay,
            answered=relay.answered,
            blobs=blobs,
            rights=rights,
            tokens=Tokens(keys.tokens),
            principal_of=lambda identity: keys.principal_of(str(identity)),
            logs=mirror,
            origins=origins,
            prices=prices,
            signer=keys.statements,
            witness=keys.witness.key,
            replica=self.config.replica,
            generation=FIRST_EPOCH.generation,
            book=book,
            egress=Egress(
                self.config.jurisdiction,
                self.config.readers,
                lambda: book.policy,
                self._place_of,
                self._clock,
            ),
            trust_domain=self.config.trust_domain,
            silence_s=self.config.timing.unknown_after / 1000,
            distances=self._distances,
        )
