"""Reading the kernel's small text files, and turning what goes wrong into a `NotFound`.

The file system's root is an argument everywhere, so that a test can lay out another machine.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from edge_agent.adapters.probes.model import Absence, Found, NotFound, Probe

T = TypeVar("T")

ROOT = Path("/")


def attempt(source: str, read: Callable[[], T]) -> Probe[T]:
    """Run a reader of files; every way in which files disappoint becomes a finding."""
    try:
        return Found(read(), source)
    except FileNotFoundError as error:
        return NotFound(Absence.ABSENT, f"{error.filename} does not exist", source)
    except PermissionError as error:
        return NotFound(Absence.DENIED, f"{error.filename} may not be read", source)
    except (OSError, UnicodeDecodeError, ValueError, LookupError) as error:
        return NotFound(Absence.FAILED, f"{type(error).__name__}: {error}", source)


def text(path: Path) -> str:
    """A file's content without the white space around it."""
    return path.read_text().strip()


def id_list(ranges: str) -> tuple[int, ...]:
    """The kernel's list format: `0-3,8` gives (0, 1, 2, 3, 8); empty gives ()."""
    ids: list[int] = []
    for part in filter(None, ranges.strip().split(",")):
        first, _, last = part.partition("-")
        ids.extend(range(int(first), int(last or first) + 1))
    return tuple(ids)


def kib_fields(content: str) -> dict[str, int]:
    """`Name: 123 kB` lines of meminfo, in KiB; the prefix `Node 0 ` of NUMA's files is dropped."""
    found = re.findall(r"^(?:Node \d+ )?([\w()]+):\s+(\d+) kB$", content, flags=re.MULTILINE)
    return {name: int(kib) for name, kib in found}
