"""`intertie task residency ID`: where a task was, proved offline.

From pulled logs and receipts, each verified by a trust file that one believes: every placement with
its jurisdiction, its verdict, and the policy by which it was allowed. A run that was billed and has
no placement is told, for its place is not proved. Must not ask any server.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from intertie.cli.options import Format, Output
from intertie.cli.printing import Column, View, notice
from intertie.cli.shown import instant
from intertie.errors import Exit, Reason, error
from intertie.metering.cursor import Cursor
from intertie.metering.faults import MeteringError
from intertie.metering.log.receipt import check_receipt
from intertie.metering.log.trust import Trust, parse_trust
from intertie.metering.records import parse_record
from intertie.metering.verify import verify_log
from intertie.residency import NO_POLICY
from intertie.sdk.metering.directory import LogDirectory, logs_in, read_file

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Placed:
    """A placement record with what proves it: a whole log, or a receipt."""

    record: Record
    origin: str
    proof: str

    @property
    def policy(self) -> str:
        """The digest of the policy, or that there was none."""
        sha256 = str(self.record["policy_sha256"])
        return "none was set" if sha256 == NO_POLICY else sha256


_PLACED: View[Placed] = View(
    "placements",
    (
        Column("RUN", lambda placed: str(placed.record["run"])),
        Column("PLACED", lambda placed: instant(int(placed.record["start_ms"]))),
        Column("REGION", lambda placed: str(placed.record["region"])),
        Column("NODE", lambda placed: str(placed.record["node"])),
        Column("JURISDICTION", lambda placed: str(placed.record["jurisdiction"])),
        Column("VERDICT", lambda placed: str(placed.record["verdict"])),
        Column("POLICY", lambda placed: placed.policy),
        Column("PROOF", lambda placed: placed.proof),
    ),
    lambda placed: str(placed.record["jurisdiction"]),
    lambda placed: {"origin": placed.origin, "proof": placed.proof, "record": dict(placed.record)},
)


def residency(
    task_id: Annotated[str, typer.Argument(metavar="ID", help="Id or full name of the task.")],
    trust: Annotated[
        Path, typer.Option("--policy", metavar="TRUST", help="The trust file that you believe.")
    ],
    folder: Annotated[
        Path | None, typer.Option("--dir", metavar="DIR", help="A pulled folder of logs.")
    ] = None,
    receipts: Annotated[
        list[Path] | None, typer.Option("--receipt", metavar="FILE", help="Repeatable.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Prove offline where a task was: its placements in verified logs, or by receipts.

    1 if a log does not verify, if a billed run has no placement, or if nothing is proved.
    """
    if folder is None and not receipts:
        told = "Give a pulled folder (--dir) or receipts (--receipt)."
        raise error(Reason.INVALID_FIELD, told)
    believed = parse_trust(read_file(trust).decode("utf-8", "replace"))
    id_ = task_id.rpartition("/")[2]
    placed: list[Placed] = []
    unproved: set[str] = set()
    is_sound = True
    for log in logs_in(folder) if folder is not None else ():
        fault = _fault(log, believed)
        if fault:
            is_sound = False
            notice(f"NOT OK  {log.origin}: {fault}; nothing in it counts.")
            continue
        records = [record for record in _records(log) if record.get("task") == id_]
        found = [Placed(record, log.origin, "log") for record in records if _is_placement(record)]
        proved = {str(each.record["run"]) for each in found}
        unproved |= {str(record["run"]) for record in records if _ran(record)} - proved
        placed += found
    for file in receipts or ():
        placed += _of_receipt(file, believed, id_)
    placed.sort(key=lambda each: (int(each.record["start_ms"]), str(each.record["run"])))
    _PLACED.many(placed, output)
    for run in sorted(unproved - {str(each.record["run"]) for each in placed}):
        notice(f"run {run} was billed and has no placement record: where it was is not proved.")
    if not placed:
        notice(f"No placement of {id_} is proved by what is here.")
    if not is_sound or unproved or not placed:
        raise typer.Exit(Exit.ERROR)
    places = sorted({str(each.record["jurisdiction"]) for each in placed})
    notice(f"OK: {len(placed)} placements, all in {', '.join(places)}.")


def _fault(log: LogDirectory, trust: Trust) -> str:
    """Why a log does not hold; empty if it does."""
    start = Cursor.start(log.origin)
    try:
        report = verify_log(
            log.leaves(), log.checkpoint(), trust, cursor=start, grants=None, leaf_at=log.leaf
        )
    except MeteringError as fault:
        return f"{fault.fault.value}: {fault.message}"
    return "" if report.ok else f"{report.findings[0].fault.value}: {report.findings[0].detail}"


def _records(log: LogDirectory) -> Iterator[Record]:
    return (parse_record(leaf) for leaf in log.leaves() if isinstance(leaf, bytes))


def _of_receipt(file: Path, trust: Trust, id_: str) -> list[Placed]:
    try:
        checked = check_receipt(read_file(file), trust)
        record = parse_record(checked.record)
    except MeteringError as fault:
        told = f"{file}: {fault.fault.value}: {fault.message}."
        raise error(Reason.INVALID_FIELD, told) from None
    if record.get("task") != id_ or not _is_placement(record):
        notice(f"{file} is of no placement of {id_}; it is passed over.")
        return []
    return [Placed(record, checked.opened.checkpoint.origin, "receipt")]


def _is_placement(record: Record) -> bool:
    return str(record["kind"]) == "placement"


def _ran(record: Record) -> bool:
    """Whether a record says that a run was on a node."""
    return str(record["kind"]) == "usage"
