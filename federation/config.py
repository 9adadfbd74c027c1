"""The configuration of a federation replica: every setting with its unit, default and meaning.

TOML file < environment `INTERTIE_FEDERATION_*` < flags; see `intertie.config`.
"""

from pathlib import Path

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from federation.domain.fleet import Timing
from intertie.config import Bytes, Millis, Section, Settings, of_text
from intertie.model.jurisdiction import path_fault
from intertie.store.blobs import BlobLimits
from intertie.store.retention import KEEP_MS

_LEAST_KEEP_MS = 600_000
_ANY_HOST = ("0.0.0.0:", "[::]:")
MAX_PUSH = 10_000
"""Entries of one push at most: each must have room."""
RENEWALS = 6
"""Regions renew their lease every sixth of it (safety.md)."""


class TimingSection(Section):
    """How long things last. Durations such as `90s` or `5m`."""

    beat: Millis = Field(
        default=of_text("2s"), gt=0, description="How often a region speaks, at least."
    )
    lease: Millis = Field(
        default=of_text("10m"),
        gt=0,
        description="For how long a region may run `move` tasks after it was last heard.",
    )
    delta: Millis = Field(
        default=of_text("1s"),
        description="Allowance for whatever the bounds on clocks do not cover.",
    )
    unknown_after: Millis = Field(
        default=of_text("15s"),
        description="Silence after which a region's tasks are shown as UNKNOWN.",
    )
    offer_wait: Millis = Field(
        default=of_text("1s"), gt=0, description="How long a round waits for offers."
    )
    hold: Millis = Field(
        default=of_text("3s"), description="How long a region holds what it offers."
    )
    summary_max_age: Millis = Field(
        default=of_text("30s"), description="Age at which a region's summary is not used any more."
    )
    rtt_max_age: Millis = Field(
        default=of_text("2m"),
        gt=0,
        description="Age at which a round trip between regions counts as unmeasured.",
    )
    digest_every: Millis = Field(
        default=of_text("60s"), gt=0, description="How often both sides compare their runs."
    )

    @model_validator(mode="after")
    def _fit_together(self) -> "TimingSection":
        if self.lease < RENEWALS * self.beat:
            raise ValueError(f"lease must be at least {RENEWALS} beats: a region renews that often")
        if self.unknown_after < 2 * self.beat:
            raise ValueError("unknown_after must be at least 2 beats: one late word is no silence")
        if self.summary_max_age < 2 * self.beat:
            raise ValueError("summary_max_age must be at least 2 beats")
        if self.hold <= self.offer_wait:
            raise ValueError("hold must be above offer_wait: else offers end before they are taken")
        return self

    def as_values(self) -> Timing:
        """The same for the domain."""
        return Timing(
            lease_ms=self.lease,
            delta_ms=self.delta,
            unknown_after_ms=self.unknown_after,
            offer_wait_ms=self.offer_wait,
            hold_ms=self.hold,
            summary_max_age_ms=self.summary_max_age,
            digest_every_ms=self.digest_every,
        )


class LimitsSection(Section):
    """What one caller may ask for."""

    open_tasks_per_project: int = Field(
        default=1_000_000, gt=0, description="Tasks of one project that have not ended."
    )
    calls_per_second: float = Field(
        default=2_000, gt=0, description="Calls of one identity, on average."
    )
    burst: int = Field(default=4_000, gt=0, description="Calls of one identity at once.")
    streams: int = Field(default=200, gt=0, description="Open streams of one identity.")


class BlobSection(Section):
    """What clients upload, and for how long it is kept."""

    max_size: Bytes = Field(default=1 << 40, gt=0, description="Largest blob, such as `4GiB`.")
    unfinished: int = Field(
        default=1_000, gt=0, description="Unfinished uploads of one identity at a time."
    )
    unfinished_size: Bytes = Field(
        default=1 << 40,
        gt=0,
        description="Bytes of the unfinished uploads of one identity together.",
    )
    give_up_after: Millis = Field(
        default=of_text("1d"),
        gt=0,
        description="An unfinished upload that got no byte for so long is given up.",
    )
    keep: Millis = Field(
        default=of_text("14d"),
        gt=0,
        description="How long a blob that no live task needs is kept after it was last uploaded or "
        "asked for; then it has to be uploaded again.",
    )
    collect_every: Millis = Field(
        default=of_text("1h"), gt=0, description="How often both are looked for."
    )

    @model_validator(mode="after")
    def _fit_together(self) -> "BlobSection":
        if self.unfinished_size < self.max_size:
            raise ValueError(
                "unfinished_size must be at least max_size: else the largest blob can never come"
            )
        if self.keep < _LEAST_KEEP_MS:
            raise ValueError("keep must be at least 10 minutes: a submission relies on it")
        return self

    def as_limits(self) -> BlobLimits:
        """The same for the blob root."""
        return BlobLimits(
            max_blob_bytes=self.max_size,
            max_owner_uploads=self.unfinished,
            max_owner_bytes=self.unfinished_size,
        )


class RetentionSection(Section):
    """For how long what is over is kept."""

    tasks: Millis = Field(
        default=of_text("90d"),
        gt=0,
        description="How long a task is shown after its end. What bills are checked with stays.",
    )

    @model_validator(mode="after")
    def _fit_together(self) -> "RetentionSection":
        if self.tasks < KEEP_MS:
            raise ValueError("tasks must be at least 8 days: repeated requests find their task")
        return self


class MirrorSection(Section):
    """The mirror of the regions' metering logs."""

    ahead: int = Field(
        default=100_000,
        ge=MAX_PUSH,
        description="Entries of one region's log that are kept without a cosigned checkpoint; it "
        "may push more once one covers them. A region always gets its log cosigned, however long.",
    )


class EtcdSection(Section):
    """Membership. Without endpoints the replica stands alone; etcd never stops a submission."""

    endpoints: tuple[str, ...] = Field(default=(), description="host:port of each etcd member.")
    ca: Path | None = Field(default=None, description="Trust root of etcd's certificates.")
    cert: Path | None = Field(default=None, description="Our client certificate.")
    key: Path | None = Field(default=None, description="Its key.")
    ttl_seconds: int = Field(
        default=10, gt=1, description="How long our session outlives this process."
    )

    @model_validator(mode="after")
    def _all_or_none(self) -> "EtcdSection":
        given = [path is not None for path in (self.ca, self.cert, self.key)]
        if any(given) and not all(given):
            raise ValueError("ca, cert and key go together")
        return self


class EnrollmentSection(Section):
    """Joining. Without a CA the replica certifies nobody; identities are then made by hand."""

    ca_dir: Path | None = Field(
        default=None,
        description="CA that certifies regions and people: ca-key.pem ca.pem chain.pem root.pem; "
        "better an intermediate than the root (intertie ca init --intermediate).",
    )
    listen: str = Field(
        default="", description="host:port for those who join and have no certificate yet."
    )
    join_endpoints: tuple[str, ...] = Field(
        default=(), description="host:port under which they reach it; `listen` if empty."
    )
    endpoints: tuple[str, ...] = Field(
        default=(),
        description="host:port of the replicas that whoever joined is to dial; our own `listen` "
        "if empty.",
    )

    @model_validator(mode="after")
    def _listen_needs_a_ca(self) -> "EnrollmentSection":
        if self.listen and self.ca_dir is None:
            raise ValueError("ca_dir is needed with listen: else nobody could be certified")
        return self


class Config(Settings):
    """Everything."""

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        env_prefix="INTERTIE_FEDERATION_",
        env_nested_delimiter="__",
    )

    state_dir: Path = Field(description="Where this replica keeps everything it owns.")
    replica: str = Field(
        default="r1",
        pattern=r"^[a-z][a-z0-9-]{0,30}$",
        description="Our id; the certificate names the same one.",
    )
    trust_domain: str = Field(
        default="intertie.example", description="Trust domain of the federation's identities."
    )
    listen: str = Field(
        default="127.0.0.1:7443",
        description="host:port for gRPC; port 0 lets the system choose.",
    )
    metrics_port: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="Loopback port of /metrics and /healthz; 0 lets the system choose.",
    )
    identity_dir: Path | None = Field(
        default=None,
        description="key.pem cert.pem chain.pem trust.pem; <state_dir>/identity if absent.",
    )
    jurisdiction: str = Field(
        default="",
        description="Where this replica is, as a path like DE/DE-HE/fra1. It relays logs and "
        "outputs: without a place, none of tasks with a residency.",
    )
    readers: dict[str, str] = Field(
        default={},
        description="Where those who read logs and outputs are: a path by project, or by "
        "admin/NAME. Who is not here gets none of tasks with a residency.",
    )
    store: str = Field(
        default="", description="URL of the store; SQLite below the state directory if empty."
    )
    blobs: str = Field(
        default="", description="Folder or fsspec URL of the blob root; <state_dir>/blobs if empty."
    )
    prices_file: Path | None = Field(
        default=None, description="Price list as JSON; without one nothing has a price."
    )
    latencies_file: Path | None = Field(
        default=None,
        description="Declared round trips between regions as JSON; they count as estimates.",
    )
    log_level: str = Field(
        default="INFO", pattern=r"^(DEBUG|INFO|WARNING|ERROR)$", description="Lowest level logged."
    )
    timing: TimingSection = TimingSection()
    limits: LimitsSection = LimitsSection()
    blob: BlobSection = BlobSection()
    retention: RetentionSection = RetentionSection()
    mirror: MirrorSection = MirrorSection()
    etcd: EtcdSection = EtcdSection()
    enrollment: EnrollmentSection = EnrollmentSection()

    @model_validator(mode="after")
    def _places_are_paths(self) -> "Config":
        places = {"jurisdiction": self.jurisdiction}
        places |= {f"readers.{name}": path for name, path in self.readers.items()}
        for name, path in places.items():
            if path and (fault := path_fault(path)):
                raise ValueError(f"{name}: {fault}")
        return self

    @model_validator(mode="after")
    def _joiners_can_dial(self) -> "Config":
        enrollment = self.enrollment
        dialled = {
            "enrollment.endpoints": enrollment.endpoints or (self.listen,),
            "enrollment.join_endpoints": enrollment.join_endpoints or (enrollment.listen,),
        }
        for name, targets in dialled.items():
            if enrollment.listen and any(target.startswith(_ANY_HOST) for target in targets):
                raise ValueError(f"{name}: nobody can dial {', '.join(targets)}; name a host")
        return self

    @property
    def store_url(self) -> str:
        """Where tasks are."""
        return self.store or f"sqlite:///{(self.state_dir / 'store.sqlite').absolute()}"

    @property
    def blob_root(self) -> str:
        """Where blobs are."""
        return self.blobs or str((self.state_dir / "blobs").absolute())

    @property
    def identity(self) -> Path:
        """Where our certificate is."""
        return self.identity_dir or self.state_dir / "identity"
