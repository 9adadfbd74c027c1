"""The task's half of the checkpoint protocol: a complete entry appears by one rename.

An entry is `$INTERTIE_CHECKPOINT_DIR/<step>/`. It is written as `<step>.tmp/` and renamed when it
is whole, so whoever looks (the agent, or this program after a restart) sees all of it or nothing.
Must not know what is in a checkpoint beyond named arrays.
"""

import os
import shutil
from pathlib import Path

import numpy as np

# The agent may still be reading the entry before the newest one, so more than one stays.
KEPT = 3

Arrays = dict[str, np.ndarray]


def folder() -> Path:
    """Where checkpoints are; a plain folder when the program runs outside of Intertie."""
    path = Path(os.environ.get("INTERTIE_CHECKPOINT_DIR", "checkpoints"))
    path.mkdir(parents=True, exist_ok=True)
    return path


def steps(path: Path) -> list[int]:
    """The steps of all complete entries, ascending; unfinished ones (.tmp) do not count."""
    return sorted(int(entry.name) for entry in path.iterdir() if entry.name.isdecimal())


def save(path: Path, step: int, arrays: Arrays) -> None:
    """Write one entry and drop the oldest ones."""
    unfinished = path / f"{step}.tmp"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    with (unfinished / "state.npz").open("wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path / str(step))
    for old in steps(path)[:-KEPT]:
        shutil.rmtree(path / str(old))


def load_newest(path: Path) -> tuple[int, Arrays] | None:
    """The newest complete entry, or None on a first start."""
    complete = steps(path)
    if not complete:
        return None
    with np.load(path / str(complete[-1]) / "state.npz") as stored:
        return complete[-1], dict(stored)
