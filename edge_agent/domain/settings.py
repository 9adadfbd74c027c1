"""What an agent is told at its start, in the units that code counts in.

Plain values, apart from how people write them: the link's process holds these and not the library
that checked them, which would be a seventh of its memory. `edge_agent.config` makes them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """See `edge_agent.config` for what each is for. Durations in ms, sizes in bytes.

    `first_uid` None = tasks run as the agent's own user. `cpu`, `memory` and `disk` bound what is
    offered; 0 = all that was found.
    """

    node: str
    region: str
    scheduler: str
    trust_domain: str
    site: str
    state_dir: str
    identity_dir: str
    renew: bool
    metrics_port: int
    log_level: str
    task_path: tuple[str, ...]
    uid_base: int
    uid_count: int
    first_uid: int | None
    cache_bytes: int
    cpu: int
    memory: int
    disk: int
    kill_ms: int
    delta_ms: int
    resend_ms: int
    grace_ms: int
    reconnect_ms: int
    reconnect_most_ms: int
    log_bytes: int
    pids: int
    cgroup: str
