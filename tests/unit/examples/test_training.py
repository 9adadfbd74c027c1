"""The training example: deterministic, and the same after a kill or a stop and a resume."""

import json
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy", reason="the extra `examples` is not installed")
pytest.importorskip("sklearn", reason="the extra `examples` is not installed")

SHORT = ("--epochs", "6", "--copies", "4", "--checkpoint-every", "0")

LayOutTask = Callable[[str, str], Any]


def weights(outputs: Path) -> dict[str, Any]:
    with np.load(outputs / "model.npz") as stored:
        return dict(stored)


def assert_same_weights(first: Path, second: Path) -> None:
    left, right = weights(first), weights(second)
    assert left.keys() == right.keys()
    assert all(np.array_equal(left[name], right[name]) for name in left)


def read_until(process: subprocess.Popen[str], line: str) -> list[str]:
    """Lines of stdout up to and including one; bounded by the test's time limit."""
    seen: list[str] = []
    assert process.stdout is not None
    for read in process.stdout:
        seen.append(read.strip())
        if seen[-1] == line:
            return seen
    raise AssertionError(seen)


def test_a_killed_training_resumes_and_ends_as_an_uninterrupted_one(
    lay_out_task: LayOutTask,
) -> None:
    whole = lay_out_task("digits-training", "whole")
    assert whole.run(*SHORT).returncode == 0

    broken = lay_out_task("digits-training", "broken")
    process = broken.start(*SHORT)
    read_until(process, "checkpoint at step 2")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not list(broken.outputs.iterdir())

    done = broken.run(*SHORT)
    assert done.returncode == 0, done.stderr
    resumed = re.match(r"resumed from step (\d+)$", done.stdout.splitlines()[0])
    assert resumed is not None
    assert int(resumed[1]) >= 2
    assert_same_weights(whole.outputs, broken.outputs)
    assert (whole.outputs / "metrics.json").read_text() == (
        broken.outputs / "metrics.json"
    ).read_text()


def test_a_stop_notice_leaves_a_checkpoint_and_the_rest_is_done_later(
    lay_out_task: LayOutTask,
) -> None:
    whole = lay_out_task("digits-training", "whole")
    assert whole.run(*SHORT).returncode == 0

    stopped = lay_out_task("digits-training", "stopped")
    process = stopped.start(*SHORT, "--checkpoint-every", "3600")
    read_until(process, "started from step 0")
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "checkpoint at step 1" in out
    assert [entry.name for entry in stopped.checkpoints.iterdir()] == ["1"]

    done = stopped.run(*SHORT)
    assert done.stdout.startswith("resumed from step 1\n")
    assert_same_weights(whole.outputs, stopped.outputs)


def test_a_half_written_checkpoint_is_not_resumed_from(lay_out_task: LayOutTask) -> None:
    task = lay_out_task("digits-training", "one")
    unfinished = task.checkpoints / "5.tmp"
    unfinished.mkdir()
    (unfinished / "state.npz").write_bytes(b"half")
    done = task.run(*SHORT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("started from step 0\n")
    assert sorted(entry.name for entry in task.checkpoints.iterdir()) == ["4", "5", "6"]


def test_the_classifier_is_a_good_one(lay_out_task: LayOutTask) -> None:
    task = lay_out_task("digits-training", "good")
    assert task.run("--epochs", "12", "--copies", "12").returncode == 0
    metrics = json.loads((task.outputs / "metrics.json").read_text())
    assert metrics["train_images"] == 1437
    assert metrics["test_images"] == 360
    assert metrics["test_accuracy"] > 0.95
