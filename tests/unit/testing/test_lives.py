"""The witness file: who lived when, and who lived at once."""

import os
import subprocess
from pathlib import Path
from subprocess import PIPE

from intertie.testing.lives import WITNESS, Life, overlaps, read_lives


def argv(lives: Path, task: str, then: str) -> list[str]:
    """Under `env -i`, so that the two see only what is theirs."""
    told = [f"LIVES={lives}", f"INTERTIE_TASK={task}", f"PATH={os.environ['PATH']}"]
    return ["env", "-i", *told, "/bin/sh", "-c", WITNESS + then]


def test_a_process_that_begins_beside_another_of_its_task_says_so(tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    with subprocess.Popen(
        argv(lives, "t1", "echo ready; read -r end"), stdin=PIPE, stdout=PIPE
    ) as first:
        assert first.stdout is not None
        first.stdout.readline()
        subprocess.run(argv(lives, "t1", ""), check=True)
        subprocess.run(argv(lives, "t2", ""), check=True)
        first.kill()
    found, twice = read_lives(lives)
    assert [line.split()[:3] for line in twice] == [["twice", "t1", str(first.pid)]]
    assert sorted(life.task for life in found) == ["t1", "t1", "t2"]
    subprocess.run(argv(lives, "t1", ""), check=True)
    assert len(read_lives(lives)[1]) == 1, "the first one is dead now"


def test_lives_of_one_task_that_overlap_are_found() -> None:
    apart = [Life("a", 1, 0.0, 1.0), Life("a", 2, 1.0, 5.0), Life("b", 3, 0.0, 9.0)]
    assert overlaps(apart) == []
    beside = Life("a", 4, 4.9, 5.1)
    assert overlaps([*apart, beside]) == [(apart[1], beside)]
    inside = [Life("c", 5, 0.0, 9.0), Life("c", 6, 1.0, 2.0), Life("c", 7, 3.0, 4.0)]
    assert len(overlaps(inside)) == 2
