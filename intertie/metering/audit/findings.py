"""What an audit found, bounded: a log that is wrong throughout must not fill memory."""

from dataclasses import dataclass, field

from intertie.metering.faults import Fault

MAX_FINDINGS = 1_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong; `seq` is the record's, None for the log as a whole."""

    fault: Fault
    seq: int | None
    detail: str


@dataclass(slots=True)
class Findings:
    """Findings up to a limit; `total` counts those beyond it too."""

    listed: list[Finding] = field(default_factory=list)
    total: int = 0

    def add(self, fault: Fault, seq: int | None, detail: str) -> None:
        """Note one."""
        self.total += 1
        if len(self.listed) < MAX_FINDINGS:
            self.listed.append(Finding(fault, seq, detail))
