"""From a request's JSON to an event for the table: validation only, no decision, no effect."""

from edge_agent.keeper.domain.events import Admission, Extend, Forget, Key, Start, Stop
from edge_agent.keeper.protocol import INVALID_ARGUMENT, Body, ProtocolFault
from edge_agent.keeper.spec import (
    StartSpec,
    read_run,
    read_start,
    read_stop,
    read_text,
    read_token,
    read_whole,
)

READS = ("hello", "list", "status", "usage")
"""Answered from what is committed; all others change the table."""


def read_key(body: Body) -> Key:
    """The run and token that a request names."""
    return Key(read_run(body), read_token(body))


def start_of(body: Body, tag: int, mark: str) -> tuple[Start, StartSpec]:
    """A start and the spec that the table need not see."""
    spec = read_start(body)
    return Start(Admission.of(spec, mark), tag), spec


def change_of(op: str, body: Body, tag: int) -> Extend | Stop | Forget:
    """The other changes."""
    if op == "stop":
        return Stop(read_stop(body), tag)
    if op == "forget":
        return Forget(read_key(body), tag)
    assert op == "extend", op
    return Extend(
        deadline_boot_ns=read_whole(body, "deadline_boot_ns", least=1),
        boot_id=read_text(body, "boot_id", most=64),
        runs=_runs(body),
        tag=tag,
    )


def _runs(body: Body) -> frozenset[str] | None:
    names = body.get("runs")
    if names is None:
        return None
    if not isinstance(names, list):
        raise ProtocolFault(INVALID_ARGUMENT, "give a list of run names or null", "runs")
    return frozenset(read_run({"run": name}) for name in names)
