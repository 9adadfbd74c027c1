"""The configuration of an edge agent: every setting with its unit, default and meaning.

TOML file < environment `INTERTIE_AGENT_*` < flags; see `intertie.config`.
"""

import os
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_settings import SettingsConfigDict

from edge_agent.domain.settings import Settings as AgentSettings
from intertie.config import NESTED, Bytes, Millis, Section, Settings, of_text
from intertie.errors import IntertieError
from intertie.model.jurisdiction import path_fault
from intertie.model.names import NODE, REGION
from intertie.model.units import parse_milli

MAX_STATE_DIR_BYTES = 80
"""A Unix socket's path has 108 bytes at most, and the keeper's lies below the state directory."""

LAST_UID = 2**31


def _node_id(text: str) -> str:
    if NODE.fullmatch(text) is None:
        message = f"{text[:40]!r} is not a node id: [a-z0-9][a-z0-9.-]{{0,62}}"
        raise ValueError(message)
    return text


def _region_id(text: str) -> str:
    if REGION.fullmatch(text) is None:
        message = f"{text[:40]!r} is not a region id: [a-z][a-z0-9-]{{1,30}}"
        raise ValueError(message)
    return text


def _site(text: str) -> str:
    fault = path_fault(text) if text else ""
    if fault:
        raise ValueError(fault)
    return text


def _cores(text: str) -> str:
    try:
        parse_milli(text)
    except IntertieError as fault:
        raise ValueError(fault.fields[0].description) from None
    return text


class Capacity(Section):
    """Bounds on what the node offers, for a machine that has other work; 0 = all that was found."""

    cpu: Annotated[str, AfterValidator(_cores)] = Field(
        default="0", description="Cores, such as `2` or `0.5`."
    )
    memory: Bytes = Field(default=0, ge=0, description="Memory of all tasks together.")
    disk: Bytes = Field(default=0, ge=0, description="Disk of all tasks together.")

    @property
    def cpu_millis(self) -> int:
        """Thousandths of a core."""
        return parse_milli(self.cpu)


class TimingSection(Section):
    """How long things last. Durations such as `90s` or `5m`."""

    kill: Millis = Field(
        default=of_text("10s"),
        gt=0,
        description="Within which a kill is verified; the region's `timing.kill` may not be less.",
    )
    delta: Millis = Field(
        default=of_text("1s"),
        ge=0,
        description="Margin of every lease; that of the region counts where it is more.",
    )
    resend: Millis = Field(
        default=of_text("5s"),
        gt=0,
        description="After which what the region did not acknowledge is told again.",
    )
    grace: Millis = Field(
        default=of_text("10s"),
        ge=0,
        description="Between SIGTERM and SIGKILL at a task's own timeout.",
    )
    reconnect: Millis = Field(
        default=of_text("200ms"), gt=0, description="First pause before the region is dialled anew."
    )
    reconnect_most: Millis = Field(
        default=of_text("5s"), gt=0, description="Longest such pause; it doubles up to this."
    )

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.reconnect_most < self.reconnect:
            raise ValueError("reconnect_most must be at least reconnect")
        return self


class TaskSection(Section):
    """Bounds of each task beyond those of its spec."""

    log_bytes: Bytes = Field(
        default=16 << 20,
        ge=65_536,
        description="Of each stream that are kept: its beginning and its end.",
    )
    pids: int = Field(default=4_096, ge=1, description="Processes and threads at once.")
    cgroup: str = Field(
        default="auto",
        pattern="^(auto|none)$",
        description="`auto`: control groups where the machine has them; `none`: rlimits only.",
    )


class Config(Settings):
    """All settings of an agent."""

    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, env_nested_delimiter=NESTED, env_prefix="INTERTIE_AGENT_"
    )

    node: Annotated[str, AfterValidator(_node_id)] = Field(
        description="Id of this node, the same as in its certificate."
    )
    region: Annotated[str, AfterValidator(_region_id)] = Field(
        description="Id of the region that the node belongs to."
    )
    scheduler: str = Field(pattern=r"^\S+:\d+$", description="host:port of the region's scheduler.")
    trust_domain: str = Field(description="The federation's trust domain.")
    site: Annotated[str, AfterValidator(_site)] = Field(
        default="", description="Jurisdiction path of the node; empty: the region's."
    )
    state_dir: Path = Field(description="Where the agent keeps runs, logs and blobs. Absolute.")
    identity_dir: Path = Field(
        description="Directory with key.pem, cert.pem, chain.pem and trust.pem of the node."
    )
    renew: bool = Field(
        default=False,
        description="Have the region renew our certificate; only it can that issued it.",
    )
    metrics_port: int = Field(
        default=0, ge=0, le=65_535, description="Loopback port of /metrics; 0: any free one."
    )
    log_level: str = Field(default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")
    task_path: str = Field(
        default="",
        description="Folders that come first in the PATH of tasks, separated by colons. Users of "
        "tasks must be able to enter them.",
    )
    uid_base: int = Field(
        default=60_000,
        ge=0,
        description="First user id of the tasks; agents of one machine need disjoint ranges. 0, or "
        "an agent that is not root: tasks run as the agent's user, and are not kept apart.",
    )
    uid_count: int = Field(
        default=1_000, ge=1, le=20_000, description="How many: so many runs at once, at most."
    )
    cache: Bytes = Field(
        default=4 << 30, ge=0, description="Blobs kept for later tasks, in `state_dir`/cache."
    )
    capacity: Capacity = Capacity()
    timing: TimingSection = TimingSection()
    task: TaskSection = TaskSection()

    @model_validator(mode="after")
    def _can_work(self) -> Self:
        if not self.state_dir.is_absolute():
            raise ValueError("state_dir must be an absolute path: tasks are told it")
        if len(os.fsencode(self.state_dir)) > MAX_STATE_DIR_BYTES:
            raise ValueError(
                f"state_dir must have at most {MAX_STATE_DIR_BYTES} bytes: a socket lies below it"
            )
        if self.uid_base + self.uid_count > LAST_UID:
            raise ValueError(f"uid_base + uid_count must be at most {LAST_UID}")
        return self

    def as_settings(self) -> AgentSettings:
        """The same for code, with what this process may do."""
        may_change_users = os.geteuid() == 0
        return AgentSettings(
            node=self.node,
            region=self.region,
            scheduler=self.scheduler,
            trust_domain=self.trust_domain,
            site=self.site,
            state_dir=str(self.state_dir),
            identity_dir=str(self.identity_dir.absolute()),
            renew=self.renew,
            metrics_port=self.metrics_port,
            log_level=self.log_level,
            task_path=tuple(part for part in self.task_path.split(":") if part),
            uid_base=self.uid_base,
            uid_count=self.uid_count,
            first_uid=self.uid_base if self.uid_base and may_change_users else None,
            cache_bytes=self.cache,
            cpu=self.capacity.cpu_millis,
            memory=self.capacity.memory,
            disk=self.capacity.disk,
            kill_ms=self.timing.kill,
            delta_ms=self.timing.delta,
            resend_ms=self.timing.resend,
            grace_ms=self.timing.grace,
            reconnect_ms=self.timing.reconnect,
            reconnect_most_ms=self.timing.reconnect_most,
            log_bytes=self.task.log_bytes,
            pids=self.task.pids,
            cgroup=self.task.cgroup,
        )
