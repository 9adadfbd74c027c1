"""Configuration of a regional scheduler: TOML file < environment INTERTIE_REGIONAL_* < flags.

Durations are written as `30s`, sizes as `64MiB`. Cross-checks stand at the end: what would make a
bound of safety.md untrue is refused at load, naming both keys.
"""

from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_settings import SettingsConfigDict

from intertie.config import NESTED, Millis, Section, Settings, of_text
from intertie.errors import IntertieError
from intertie.metering.dsse import StatementKey
from intertie.metering.log.note import ED25519_COSIGNATURE, Key
from intertie.model.jurisdiction import path_fault
from intertie.model.names import REGION
from intertie.model.requires import requirement_fault
from intertie.model.tags import TAGS
from regional.domain.settings import Timing

_KEY_BYTES = 32


def _region_id(text: str) -> str:
    if REGION.fullmatch(text) is None:
        message = f"{text[:40]!r} is not a region id: [a-z][a-z0-9-]{{1,30}}"
        raise ValueError(message)
    return text


def _jurisdiction(text: str) -> str:
    fault = path_fault(text)
    if fault:
        raise ValueError(fault)
    return text


def _declared(tags: dict[str, str]) -> dict[str, str]:
    known = {name for name, tag in TAGS.items() if tag.declared}
    for name, value in tags.items():
        if name not in known:
            how = "rules derive it" if name in TAGS else "there is no such tag"
            message = f"{name} cannot be declared ({how}); {', '.join(sorted(known))} can"
            raise ValueError(message)
        fault = requirement_fault(f"{name}=={value}")
        if fault:
            raise ValueError(fault)
    return tags


def _grant_key(text: str) -> str:
    _decode_key(text)
    return text


def _decode_key(text: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        message = "is not an Ed25519 public key of 64 hex digits (grant.pub of the federation)"
        raise ValueError(message)
    return key


def _witness_vkey(text: str) -> str:
    try:
        key = Key.parse(text)
    except IntertieError as fault:
        raise ValueError(fault.message) from None
    if key.kind != ED25519_COSIGNATURE:
        message = f"{key.name} is no witness key (type 0x04)"
        raise ValueError(message)
    return text


def _one_replica(endpoints: tuple[str, ...]) -> tuple[str, ...]:
    """A second link would be refused as another life of the region, again and again."""
    if len(endpoints) > 1:
        message = (
            f"names {len(endpoints)} replicas, and a region links to one for now: keep the one"
            " that is nearest, or give the address that stands for all of them"
        )
        raise ValueError(message)
    return endpoints


class Federation(Section):
    """The federation that the region belongs to."""

    endpoints: Annotated[tuple[str, ...], AfterValidator(_one_replica)] = Field(
        default=(),
        description="host:port of the replica; empty: the region works for itself only. One for"
        " now: links to several replicas come with them.",
    )
    grant_keys: tuple[Annotated[str, AfterValidator(_grant_key)], ...] = Field(
        default=(),
        description="Public keys that sign grants, in hex; older ones beside the current one.",
    )
    witnesses: tuple[Annotated[str, AfterValidator(_witness_vkey)], ...] = Field(
        default=(), description="vkeys of the witnesses of which one must cosign the metering log."
    )


class Timings(Section):
    """Leases and intervals; safety.md says what each is for."""

    agent_lease: Millis = Field(
        default=of_text("30s"),
        gt=0,
        description="How long a node may run `move` tasks without an answer.",
    )
    beat: Millis = Field(default=of_text("2s"), gt=0, description="How often an agent beats.")
    kill: Millis = Field(
        default=of_text("10s"), gt=0, description="Within which a kill on a node is verified."
    )
    delta: Millis = Field(default=of_text("1s"), ge=0, description="Margin of every lease.")
    drift: float = Field(
        default=1e-3, ge=0, lt=0.1, description="Most by which clock rates differ."
    )
    unknown_after: Millis = Field(
        default=of_text("6s"), gt=0, description="Silence after which a node is shown as UNKNOWN."
    )
    summary: Millis = Field(
        default=of_text("2s"), gt=0, description="How often the pool is told to the federation."
    )
    notice: Millis = Field(
        default=of_text("10s"), ge=0, description="Between the notice of a stop and the kill."
    )
    hello: Millis = Field(
        default=of_text("10s"), gt=0, description="Within which a link must say its first message."
    )


class Log(Section):
    """The metering log."""

    group: Millis = Field(
        default=of_text("200ms"),
        ge=0,
        description="How long records are gathered for one log checkpoint.",
    )
    records: int = Field(
        default=1_000, ge=1, le=1_000, description="Most records in one transaction."
    )
    heartbeat: Millis = Field(
        default=of_text("60s"), ge=1_000, description="How often an idle log says that it lives."
    )


class Blob(Section):
    """What nodes and operators upload."""

    give_up_after: Millis = Field(
        default=of_text("1d"),
        gt=0,
        description="An unfinished upload that got no byte for so long is given up.",
    )
    collect_every: Millis = Field(
        default=of_text("1h"), gt=0, description="How often such uploads are looked for."
    )


class Beacon(Section):
    """How far other regions are: a UDP port that they probe, and our probes of theirs."""

    listen: str = Field(
        default="",
        description="host:port over UDP where probes are echoed; empty: nobody can measure us, and"
        " tasks with `latency` do not come.",
    )
    advertise: str = Field(
        default="", description="host:port by which others reach it; `listen` if empty."
    )
    per_second: int = Field(
        default=400, ge=4, le=100_000, description="Most echoes a second; one host gets a quarter."
    )
    every: Millis = Field(
        default=of_text("5s"), ge=100, description="How often each beacon is probed, about."
    )
    timeout: Millis = Field(
        default=of_text("2s"), gt=0, le=60_000, description="After which a probe counts as lost."
    )
    window: int = Field(
        default=60, ge=1, le=10_000, description="Newest probes that percentiles are taken of."
    )
    keep: Millis = Field(
        default=of_text("10m"), gt=0, description="Age at which a probe does not count any more."
    )
    via: dict[str, str] = Field(
        default_factory=dict,
        description="host:port of beacons that we reach otherwise than advertised, by region.",
    )

    @model_validator(mode="after")
    def _are_addresses(self) -> Self:
        found = {"listen": self.listen, "advertise": self.advertise}
        found |= {f"via.{region}": address for region, address in self.via.items()}
        for name, address in found.items():
            host, _, port = address.rpartition(":")
            if address and not (host and port.isascii() and port.isdigit() and int(port) < 65_536):
                message = f"{name}: {address[:80]!r} is not host:port"
                raise ValueError(message)
        if self.advertise and not self.listen:
            message = "listen is needed with advertise"
            raise ValueError(message)
        return self


class Etcd(Section):
    """Membership. Without endpoints the region keeps no session there: its link is its session."""

    endpoints: tuple[str, ...] = Field(default=(), description="host:port of each etcd member.")
    ca: Path | None = Field(default=None, description="Trust root of etcd's certificates.")
    cert: Path | None = Field(default=None, description="Our client certificate.")
    key: Path | None = Field(default=None, description="Its key.")
    ttl_seconds: int = Field(default=10, gt=1, description="Life of a session that is silent.")

    @model_validator(mode="after")
    def _all_or_none(self) -> Self:
        given = [path is not None for path in (self.ca, self.cert, self.key)]
        if any(given) and not all(given):
            message = "ca, cert and key go together"
            raise ValueError(message)
        return self


class Enrollment(Section):
    """Joining. Without the CA the region certifies nobody; identities are then made by hand."""

    ca_dir: Path | None = Field(
        default=None,
        description="The region's CA: ca-key.pem ca.pem chain.pem root.pem. With it the scheduler "
        "certifies nodes and renews its own certificate.",
    )
    listen: str = Field(
        default="", description="host:port for nodes that join and have no certificate yet."
    )
    join_endpoints: tuple[str, ...] = Field(
        default=(), description="host:port under which they reach it; `listen` if empty."
    )
    endpoints: tuple[str, ...] = Field(
        default=(),
        description="host:port that agents are to dial; the scheduler's own `listen` if empty.",
    )

    @model_validator(mode="after")
    def _listen_needs_a_ca(self) -> Self:
        if self.listen and self.ca_dir is None:
            message = "ca_dir is needed with listen: else no node could be certified"
            raise ValueError(message)
        return self


class Config(Settings):
    """See the module's text."""

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        env_nested_delimiter=NESTED,
        env_prefix="INTERTIE_REGIONAL_",
    )

    region: Annotated[str, AfterValidator(_region_id)] = Field(description="Id of the region.")
    jurisdiction: Annotated[str, AfterValidator(_jurisdiction)] = Field(
        description="Where its site is, for example CN/CN-JS/suzhou-park."
    )
    trust_domain: str = Field(description="Trust domain of the federation.")
    state_dir: Path = Field(description="Directory of the store, blobs, keys and identity.")
    identity_dir: Path | None = Field(
        default=None, description="Identity; <state_dir>/identity if absent."
    )
    store: str = Field(
        default="", description="URL of the store; SQLite below the state directory if empty."
    )
    blobs: str = Field(
        default="", description="Folder or fsspec URL of the blob root; <state_dir>/blobs if empty."
    )
    listen: str = Field(default="127.0.0.1:7171", description="Where agents and operators connect.")
    metrics_host: str = Field(
        default="127.0.0.1", description="Private address of /metrics and /healthz."
    )
    metrics_port: int = Field(default=0, ge=0, le=65_535, description="0: the system chooses.")
    log_level: str = Field(
        default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="Lowest."
    )
    max_queue: int = Field(
        default=10_000, ge=1, le=1_000_000, description="Most runs that may wait."
    )
    max_nodes: int = Field(
        default=1_000, ge=1, le=100_000, description="Most agents attached at once."
    )
    declared_tags: Annotated[dict[str, str], AfterValidator(_declared)] = Field(
        default_factory=dict,
        description="Capability tags that nothing measures, as the operator says of all nodes, for"
        ' example {"sovereign": "true"}; they stay marked as declared.',
    )
    federation: Federation = Federation()
    timing: Timings = Timings()
    log: Log = Log()
    blob: Blob = Blob()
    beacon: Beacon = Beacon()
    etcd: Etcd = Etcd()
    enrollment: Enrollment = Enrollment()

    @property
    def identity_path(self) -> Path:
        """The directory of the region's identity."""
        return self.identity_dir or self.state_dir / "identity"

    @property
    def blobs_url(self) -> str:
        """The blob root."""
        return self.blobs or str((self.state_dir / "blobs").absolute())

    @property
    def store_url(self) -> str:
        """Where runs and the metering log are."""
        return self.store or f"sqlite:///{(self.state_dir / 'store.sqlite').absolute()}"

    @property
    def log_key_path(self) -> Path:
        """The key that signs log checkpoints."""
        return self.state_dir / "keys" / "log.key"

    @property
    def page_key_path(self) -> Path:
        """The key that page tokens are sealed with."""
        return self.state_dir / "keys" / "token.key"

    def as_timing(self) -> Timing:
        """The intervals, for the domain."""
        timing = self.timing
        return Timing(
            agent_lease_ms=timing.agent_lease,
            beat_ms=timing.beat,
            kill_ms=timing.kill,
            delta_ms=timing.delta,
            drift=timing.drift,
            unknown_after_ms=timing.unknown_after,
            summary_every_ms=timing.summary,
            notice_ms=timing.notice,
        )

    @property
    def origin(self) -> str:
        """Origin of the metering log, and the name of its key."""
        return f"{self.trust_domain}/region/{self.region}/metering"

    @property
    def statement_keys(self) -> tuple[StatementKey, ...]:
        """The keys that grants are verified with."""
        return tuple(StatementKey(_decode_key(text)) for text in self.federation.grant_keys)

    @property
    def witness_keys(self) -> tuple[Key, ...]:
        """The keys of the witnesses."""
        return tuple(Key.parse(text) for text in self.federation.witnesses)

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        timing = self.timing
        if timing.beat * 3 > timing.agent_lease:
            message = "timing.beat: is over a third of timing.agent_lease, one lost beat ends runs"
            raise ValueError(message)
        if timing.kill + timing.delta >= timing.agent_lease:
            message = (
                "timing.agent_lease: is not longer than timing.kill and timing.delta together, "
                "so a `move` run would have no time to run"
            )
            raise ValueError(message)
        if self.federation.endpoints and not self.federation.grant_keys:
            message = "federation.grant_keys: is empty, so no assignment could ever be accepted"
            raise ValueError(message)
        if self.federation.endpoints and not self.federation.witnesses:
            message = "federation.witnesses: is empty, so no cosignature could ever be believed"
            raise ValueError(message)
        return self
