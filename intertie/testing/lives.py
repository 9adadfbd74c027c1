"""Witness of tasks: each process says when it lives, in one shared file, and a checker reads it.

A task that begins looks for live processes of itself that said something before it, at that very
instant and by pid and start time; and everyone says its pid and the boot clock again and again. So
two live processes of one task are seen even if one of them was killed without a word (I2a).

Must not be told by any part of the system what should be true.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

WITNESS = r"""
say() { read -r up rest < /proc/uptime; echo "$1 $INTERTIE_TASK $2 $3 $up" >> "$LIVES"; }
born_of() {
    read -r stat 2>/dev/null < "/proc/$1/stat" || return 1
    set -- $stat
    [ "$3" != Z ] && [ "$3" != X ] && born=${22}
}
born_of $$; me=$born
say live $$ $me
sort -u -k2,4 "$LIVES" | while read -r word task pid since at; do
    [ "$task" = "$INTERTIE_TASK" ] && [ "$pid" != $$ ] || continue
    born_of "$pid" && [ "$born" = "$since" ] && say twice "$pid" "$since"
done
"""
"""Put before a shell script; `say live $$ $me` says again that it lives. Needs LIVES in its
environment: the absolute path of a file that every user may append to."""


@dataclass(frozen=True, slots=True)
class Life:
    """One process of a task and the first and last instant at which it was surely alive."""

    task: str
    pid: int
    began_s: float
    seen_s: float


def read_lives(path: Path) -> tuple[list[Life], list[str]]:
    """The lives in a witness file, and its words on processes that were found beside another."""
    lives: dict[tuple[str, str, str], Life] = {}
    twice = []
    for line in path.read_text(encoding="ascii").splitlines():
        word, task, pid, born, at = line.split()
        if word == "twice":
            twice.append(line)
            continue
        key = (task, pid, born)
        began_s = lives[key].began_s if key in lives else float(at)
        lives[key] = Life(task, int(pid), began_s, float(at))
    return list(lives.values()), twice


def overlaps(lives: Iterable[Life]) -> list[tuple[Life, Life]]:
    """Pairs of processes of one task that lived at one instant."""
    found = []
    last: dict[str, Life] = {}
    for life in sorted(lives, key=lambda each: each.began_s):
        before = last.get(life.task)
        if before is not None and life.began_s < before.seen_s:
            found.append((before, life))
        if before is None or life.seen_s > before.seen_s:
            last[life.task] = life
    return found
