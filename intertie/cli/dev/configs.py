"""The configuration files of a development federation, from its description.

Leases are short, so that what a person tries out (kill a node, watch the move) takes seconds. The
values are written as a person would write them; each service checks its own file.
"""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from intertie.cli.dev.identities import REPLICA
from intertie.cli.dev.layout import TRUST_DOMAIN, Description, Layout
from intertie.cli.dev.processes import interpreter

Value = str | int | float | bool | list[str]
Table = Mapping[str, Value]

AGENT_CPU = "2"
AGENT_MEMORY = "2GiB"
AGENT_DISK = "4GiB"
FIRST_UID = 61_000
UIDS_PER_AGENT = 500


def federation(layout: Layout, description: Description) -> dict[str, Table]:
    """Of the one replica."""
    return {
        "": {
            "state_dir": str(layout.process("federation")),
            "replica": REPLICA,
            "trust_domain": TRUST_DOMAIN,
            "listen": f"127.0.0.1:{description.federation.grpc}",
            "metrics_port": description.federation.telemetry,
            "identity_dir": str(layout.identity("federation")),
            "prices_file": str(layout.root / "prices.json"),
            **({"latencies_file": str(layout.latencies_file)} if description.is_delayed else {}),
        },
        "timing": {
            "beat": "1s",
            "lease": "20s",
            "unknown_after": "3s",
            "summary_max_age": "10s",
        },
        "etcd": _etcd(layout, description),
    }


def region(layout: Layout, description: Description, name: str) -> dict[str, Table]:
    """Of one region; the federation must have made its keys."""
    keys = layout.process("federation") / "keys"
    own = description.regions[name]
    return {
        "": {
            "region": own.id,
            "jurisdiction": own.jurisdiction,
            "trust_domain": TRUST_DOMAIN,
            "state_dir": str(layout.process(name)),
            "identity_dir": str(layout.identity(name)),
            "listen": f"127.0.0.1:{own.ports.grpc}",
            "metrics_port": own.ports.telemetry,
        },
        "federation": {
            "endpoints": [f"127.0.0.1:{own.uplink or description.federation.grpc}"],
            "grant_keys": [_line(keys / "grant.pub")],
            "witnesses": [_line(keys / "witness.vkey")],
        },
        "timing": {
            "agent_lease": "10s",
            "beat": "1s",
            "kill": "2s",
            "notice": "2s",
            "unknown_after": "3s",
            "summary": "1s",
        },
        "log": {"heartbeat": "10s"},
        "etcd": _etcd(layout, description),
    }


def agent(layout: Layout, description: Description, name: str) -> dict[str, Table]:
    """Of one agent. Each has its share of this machine and its own range of user ids."""
    number = list(description.agents).index(name)
    region = description.region_of(name)
    return {
        "": {
            "node": name,
            "region": region.id,
            "trust_domain": TRUST_DOMAIN,
            "site": region.agents[name].site,
            "scheduler": f"127.0.0.1:{region.ports.grpc}",
            "state_dir": str(layout.process(name)),
            "identity_dir": str(layout.identity(name)),
            "metrics_port": description.agents[name].telemetry,
            "task_path": str(Path(interpreter()).parent),
            "uid_base": first_uid(number),
            "uid_count": UIDS_PER_AGENT,
        },
        "capacity": {"cpu": AGENT_CPU, "memory": AGENT_MEMORY, "disk": AGENT_DISK},
        "timing": {"kill": "2s"},
    }


def first_uid(number: int) -> int:
    """The first user id of an agent's tasks; 0 = tasks run as our own user."""
    return 0 if why_one_user() else FIRST_UID + number * UIDS_PER_AGENT


def why_one_user() -> str:
    """Why tasks run as our own user; empty if each has a user of its own."""
    if os.geteuid() != 0:
        return "only root can give each task a user of its own"
    if closed := closed_to_others(Path(interpreter()).resolve()):
        return f"other users cannot reach {interpreter()}: {closed} is private"
    return ""


def closed_to_others(program: Path) -> Path | None:
    """The program or the folder above it that only its owner may enter, if there is one."""
    steps = (program, *program.parents)
    return next((step for step in steps if not step.stat().st_mode & stat.S_IXOTH), None)


def isolation() -> str:
    """What people should know of the users that tasks run as; empty if nothing."""
    why = why_one_user()
    if not why:
        return ""
    return (
        f"Tasks run as the user that you are, for {why}. They can read, change and end whatever "
        "you can, the federation's keys among it: run only tasks that you trust."
    )


def write(layout: Layout, name: str, tables: Mapping[str, Table]) -> None:
    """Write the file of a process."""
    lines = []
    for table, values in tables.items():
        if table:
            lines.append(f"\n[{table}]")
        # JSON's strings, numbers, booleans and arrays of strings are TOML's too.
        lines.extend(f"{key} = {json.dumps(value)}" for key, value in values.items())
    path = layout.config(name)
    path.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _etcd(layout: Layout, description: Description) -> Table:
    identity = layout.identity("etcd-client")
    return {
        "endpoints": [f"127.0.0.1:{description.etcd[0]}"],
        "ca": str(identity / "trust.pem"),
        "cert": str(identity / "cert.pem"),
        "key": str(identity / "key.pem"),
    }


def _line(path: Path) -> str:
    return path.read_text(encoding="ascii").strip()
