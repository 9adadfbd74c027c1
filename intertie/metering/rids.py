"""Record ids: the natural key of a record, by which a replay is told from a new fact.

    usage                 <task>/<epoch>.<sub>/<rank>/<interval>/<meter>
    run_end, placement    <task>/<epoch>.<sub>/<rank>/<kind>
    adjustment            <rid>/adj/<n>
    void                  <rid>/void/<n>
    heartbeat             heartbeat/<n>          key_rotation   key_rotation/<n>
    period_close          <payer>/<YYYY-MM>

`<epoch>` is `<generation>-<n>`. Ids are text and compared as text: each number has one spelling.
"""

import re
from dataclasses import dataclass

from intertie.metering.faults import Fault, MeteringError

MAX_RID = 512

_N = r"(?:0|[1-9][0-9]{0,15})"
_ID = r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}"
_TOKEN = rf"{_N}-{_N}\.{_N}"

ID = re.compile(_ID)
"""Projects, payers, tasks and regions inside records: no slash, because rids are cut at slashes."""
TOKEN = re.compile(_TOKEN)
MONTH = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])")

_RUN = rf"(?P<task>{_ID})/(?P<run>{_TOKEN})/(?P<rank>{_N})"
_USAGE = rf"{_RUN}/(?P<interval>{_N})/(?P<meter>[a-z]+\.[a-z_]+)"
_FORMS = (
    ("usage", re.compile(_USAGE)),
    ("run_end", re.compile(rf"{_RUN}/run_end")),
    ("placement", re.compile(rf"{_RUN}/placement")),
    ("adjustment", re.compile(rf"(?P<base>{_USAGE})/adj/(?P<n>[1-9][0-9]{{0,8}})")),
    ("void", re.compile(rf"(?P<base>{_USAGE})/void/(?P<n>[1-9][0-9]{{0,8}})")),
    ("heartbeat", re.compile(r"heartbeat/(?P<n>[1-9][0-9]{0,15})")),
    ("key_rotation", re.compile(r"key_rotation/(?P<n>[1-9][0-9]{0,15})")),
    ("period_close", re.compile(rf"(?P<payer>{_ID})/(?P<month>{MONTH.pattern})")),
)


@dataclass(frozen=True, slots=True)
class Rid:
    """A record id taken apart; fields that its kind does not have are empty or -1."""

    kind: str
    task: str = ""
    run: str = ""
    rank: int = -1
    interval: int = -1
    meter: str = ""
    base: str = ""
    n: int = -1
    payer: str = ""
    month: str = ""


def usage_rid(task: str, run: str, rank: int, interval: int, meter: str) -> str:
    """Id of one meter over one interval of one rank of a run."""
    assert rank >= 0, f"no rank is {rank}"
    assert interval >= 0, f"no interval is {interval}"
    return f"{task}/{run}/{rank}/{interval}/{meter}"


def run_rid(task: str, run: str, rank: int, kind: str) -> str:
    """Id of a run_end or placement."""
    assert kind in ("run_end", "placement"), f"{kind} is not of a run as a whole"
    assert rank >= 0, f"no rank is {rank}"
    return f"{task}/{run}/{rank}/{kind}"


def parse_rid(text: str) -> Rid:
    """Take a record id apart; refuse text that is none."""
    if len(text) <= MAX_RID:
        for kind, form in _FORMS:
            match = form.fullmatch(text)
            if match is not None:
                return _rid(kind, match.groupdict())
    raise MeteringError(Fault.NON_CANONICAL, f"rid: {text[:120]!r} has no known form")


def _rid(kind: str, parts: dict[str, str]) -> Rid:
    return Rid(
        kind=kind,
        task=parts.get("task", ""),
        run=parts.get("run", ""),
        rank=int(parts.get("rank", "-1")),
        interval=int(parts.get("interval", "-1")),
        meter=parts.get("meter", ""),
        base=parts.get("base", ""),
        n=int(parts.get("n", "-1")),
        payer=parts.get("payer", ""),
        month=parts.get("month", ""),
    )
