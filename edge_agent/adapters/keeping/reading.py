"""From the keeper's words to the core's values, and from an end to the evidence of its cause.

Evidence is what the region classifies by (tasks.md, Failure classes): each key is a fact that was
seen here, its value the words for people.
"""

from collections.abc import Mapping

from edge_agent.domain.events import Process, ProcessEnd, RunKey
from edge_agent.keeper import report
from edge_agent.keeper.report import Ended, RunView, StartFault
from edge_agent.keeper.spec import Token as KeeperToken
from edge_agent.keeper.spec import task_of
from intertie.model.token import Epoch, Token

NS_PER_MS = 1_000_000

_BY: Mapping[str, str] = {
    report.BY_STOP: "stopped",
    report.BY_TIMEOUT: "timeout",
    report.BY_DEADLINE: "deadline",
    report.BY_DISK: "disk",
    report.BY_SUPERSEDED: "superseded",
    report.BY_SHUTDOWN: "lost",
    report.BY_LOST: "lost",
}
"""Who ended it -> the evidence. A keeper that was told to stop lost its runs for the region."""


def run_name(task: str, n: int) -> str:
    """The keeper's name of a run."""
    return f"{task}/runs/{n}"


def keeper_token(token: Token) -> KeeperToken:
    """The token as the keeper compares it."""
    return KeeperToken(token.epoch.generation, token.epoch.n, token.sub)


def key_of(view: RunView) -> RunKey:
    """The run and token of a view."""
    generation, n, sub = view.token
    return RunKey(task_of(view.run), Token(Epoch(generation, n), sub))


def process_of(view: RunView) -> Process:
    """What the core learns of a run."""
    return Process(
        key=key_of(view),
        n=int(view.run.rpartition("/")[2]),
        boot_id=view.boot_id,
        pid=view.pid or 0,
        started_ns=view.started_boot_ns,
        running=view.state in (report.RUNNING, report.STOPPING) and view.ended is None,
        unkillable=view.unkillable,
        end=end_of(view.ended) if view.ended is not None else None,
    )


def end_of(ended: Ended) -> ProcessEnd:
    """How it ended, with evidence."""
    fault = ended.start_fault
    return ProcessEnd(
        at_ns=ended.boot_ns,
        exit_code=ended.code,
        signal=ended.signal or 0,
        evidence=evidence_of(ended),
        message=fault.message if fault is not None else ended.reason,
        cpu_ms=(ended.cpu_ns or 0) // NS_PER_MS,
        memory_peak=ended.max_rss_bytes or 0,
        log_bytes=ended.stdout_bytes + ended.stderr_bytes,
        lost=ended.by == report.BY_LOST,
    )


def evidence_of(ended: Ended) -> dict[str, str]:
    """The facts about an end that say why."""
    found: dict[str, str] = {}
    name = _BY.get(ended.by)
    if name is not None:
        found[name] = ended.reason or "1"
    if ended.oom is not None:
        found["oom"] = ended.oom
    if ended.unkillable:
        found["unkillable"] = "1"
    if ended.start_fault is not None:
        found |= start_evidence(ended.start_fault)
    if ended.leftovers:
        found["leftovers"] = str(ended.leftovers)
    return found


def start_evidence(fault: StartFault) -> dict[str, str]:
    """Why there was no program: the task's doing if it could not be executed, else the node's."""
    if fault.stage == "exec":
        return {"errno": fault.errno}
    return {"staging": f"{fault.stage}: {fault.message} ({fault.errno})"}
