"""`intertie metering verify` and `check-receipt`: offline, against a trust file that one believes.

Every reason of metering.md is told by its own word, for people and with -o json for programs; the
exit code is 1 if anything is wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from intertie.cli.options import Format, Output
from intertie.cli.printing import facts, lines, structured, table
from intertie.cli.shown import instant
from intertie.clock import SystemClock
from intertie.errors import Exit
from intertie.metering.audit.findings import Finding
from intertie.metering.cursor import Cursor
from intertie.metering.faults import MeteringError
from intertie.metering.grant import Grant
from intertie.metering.log.receipt import check_receipt as check
from intertie.metering.log.trust import Trust, parse_trust
from intertie.metering.records import parse_record
from intertie.metering.verify import Freshness, Report, verify_log
from intertie.model.units import parse_millis
from intertie.sdk.metering.directory import LogDirectory, logs_in, read_file
from intertie.sdk.metering.grants import KEYS, load_grants, read_keys

Policy = Annotated[
    Path, typer.Option("--policy", metavar="TRUST", help="The trust file that you believe.")
]
_SHOWN_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class Verified:
    """One log and what was found."""

    log: LogDirectory
    report: Report

    @property
    def cosigned(self) -> str:
        """Who cosigned the checkpoint, and when the newest of them did."""
        opened = self.report.opened
        if opened is None or not opened.cosignatures:
            return ""
        newest = max(time_s for _, time_s in opened.cosignatures)
        names = ", ".join(name for name, _ in opened.cosignatures)
        return f"{names} at {instant(newest * 1000)}"


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A pulled folder.")],
    policy: Policy,
    max_age: Annotated[
        str, typer.Option("--max-age", help="The checkpoint must be younger: 2h, for instance.")
    ] = "",
    grant_keys: Annotated[
        Path | None,
        typer.Option(
            "--grant-keys", metavar="KEYS", help="Whose grants you believe; else DIR/grant.keys."
        ),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Verify pulled logs offline: signatures, completeness, every record, and caps by its grant."""
    trust = _trust(policy)
    grants = _grants(folder, grant_keys)
    freshness = None
    if max_age:
        freshness = Freshness(SystemClock().now().utc_ms, parse_millis(max_age, "--max-age"))
    verified = [Verified(log, _verify(log, trust, grants, freshness)) for log in logs_in(folder)]
    ok = all(found.report.ok for found in verified)
    if output in (Format.JSON, Format.YAML):
        logs = [_json(found) for found in verified]
        checked = None if grants is None else len(grants)
        structured({"ok": ok, "grants_checked": checked, "logs": logs}, output)
    elif output is Format.NAME:
        lines(sorted({f.fault.value for v in verified for f in v.report.findings}))
    else:
        _print(verified, grants)
        lines(["", "OK: every log holds" if ok else "NOT OK"])
    raise typer.Exit(Exit.OK if ok else Exit.ERROR)


def _trust(policy: Path) -> Trust:
    return parse_trust(read_file(policy).decode("utf-8", "replace"))


def _grants(folder: Path, keys: Path | None) -> dict[str, Grant] | None:
    """The grants of the folder; None if nobody says whose grants to believe."""
    path = keys or folder / KEYS
    return load_grants(folder, read_keys(path)) if keys or path.exists() else None


def _verify(
    log: LogDirectory,
    trust: Trust,
    grants: Mapping[str, Grant] | None,
    freshness: Freshness | None,
) -> Report:
    start = Cursor.start(log.origin)
    try:
        return verify_log(
            log.leaves(),
            log.checkpoint(),
            trust,
            cursor=start,
            grants=grants,
            leaf_at=log.leaf,
            freshness=freshness,
        )
    except MeteringError as fault:  # a file of entries that cannot even be cut into leaves
        finding = Finding(fault.fault, None, fault.message)
        return Report(start, None, (finding,), 1, 0)


def _json(found: Verified) -> dict[str, Any]:
    report = found.report
    head = report.opened.checkpoint if report.opened else None
    return {
        "origin": found.log.origin,
        "ok": report.ok,
        "size": head.size if head else 0,
        "root": head.root.hex() if head else "",
        "records": report.records,
        "hidden": report.hidden,
        "unchecked_corrections": report.unchecked_corrections,
        "cosignatures": [
            {"witness": name, "time": instant(time_s * 1000)}
            for name, time_s in (report.opened.cosignatures if report.opened else ())
        ],
        "findings_total": report.total,
        "findings": [
            {"reason": f.fault.value, "detail": f.detail}
            | ({} if f.seq is None else {"seq": f.seq})
            for f in report.findings
        ],
    }


def _print(verified: list[Verified], grants: Mapping[str, Grant] | None) -> None:
    caps = f"checked: {len(grants)} grants" if grants is not None else "not checked: no grant keys"
    for found in verified:
        report = found.report
        head = report.opened.checkpoint if report.opened else None
        pairs = [
            ("log", found.log.origin),
            ("verdict", "ok" if report.ok else f"{report.total} findings"),
            ("records", str(report.records)),
            ("hidden", f"{report.hidden} of other payers" if report.hidden else ""),
            ("checkpoint", f"size {head.size}, root {head.root.hex()}" if head else ""),
            ("cosigned by", found.cosigned),
            ("caps", caps),
        ]
        facts(pairs)
        if report.findings:
            rows = [
                [f.fault.value, "" if f.seq is None else str(f.seq), f.detail]
                for f in report.findings[:_SHOWN_FINDINGS]
            ]
            table(["REASON", "SEQ", "DETAIL"], rows)
            if report.total > _SHOWN_FINDINGS:
                lines([f"... and {report.total - _SHOWN_FINDINGS} more; -o json lists them"])


def check_receipt(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A receipt.")],
    policy: Policy,
    output: Output = Format.TABLE,
) -> None:
    """Check a receipt offline: that its record stands in a log that the trust file vouches for."""
    structure = output in (Format.JSON, Format.YAML)
    try:
        checked = check(read_file(file), _trust(policy))
        record = dict(parse_record(checked.record))
    except MeteringError as fault:
        if structure:
            found = {"ok": False, "reason": fault.fault.value, "detail": fault.message}
            structured(found, output)
        else:
            lines([f"NOT OK  {fault.fault.value}: {fault.message}"])
        raise typer.Exit(Exit.ERROR) from None
    head = checked.opened.checkpoint
    cosigned = [name for name, _ in checked.opened.cosignatures]
    if structure:
        told = {"ok": True, "origin": head.origin, "index": checked.index, "size": head.size}
        structured(told | {"cosigned_by": cosigned, "record": record}, output)
        return
    where = [("log", head.origin), ("index", f"{checked.index} of {head.size}")]
    facts([*where, ("cosigned by", ", ".join(cosigned))])
    lines([""])
    facts([(name, str(value)) for name, value in record.items()])
    lines(["", "OK: the record stands in the log"])
