"""The other examples as plain programs: what they leave behind and how they end."""

import csv
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/task.yaml"))
MAX_FILE_BYTES = 50_000

LayOutTask = Callable[[str, str], Any]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_named_after_its_folder_and_says_what_it_is(name: str) -> None:
    spec = yaml.safe_load((EXAMPLES / name / "task.yaml").read_text())
    assert spec["name"] == name
    assert f"examples/{name}/task.yaml" in (EXAMPLES / name / "README.md").read_text()
    assert f"[{name}]({name})" in (EXAMPLES / "README.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_an_example_commits_no_large_file(name: str) -> None:
    listing = subprocess.run(
        ["git", "ls-files", name], cwd=EXAMPLES, capture_output=True, text=True, check=True
    )
    files = [EXAMPLES / line for line in listing.stdout.splitlines()]
    assert files
    assert all(path.stat().st_size < MAX_FILE_BYTES for path in files)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_with_numpy_uses_one_thread(name: str) -> None:
    sources = (EXAMPLES / name).rglob("*.py")
    if any("import numpy" in path.read_text() for path in sources):
        env = yaml.safe_load((EXAMPLES / name / "task.yaml").read_text())["run"]["env"]
        assert env["OMP_NUM_THREADS"] == env["OPENBLAS_NUM_THREADS"] == "1"


def test_the_shards_of_the_inference_cover_all_images_once(lay_out_task: LayOutTask) -> None:
    pytest.importorskip("sklearn", reason="the extra `examples` is not installed")
    images: list[int] = []
    for index in range(4):
        task = lay_out_task("digits-inference", f"shard{index}")
        done = task.run("--limit", "202", index=index)
        assert done.returncode == 0, done.stderr
        with (task.outputs / "predictions.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        images += [int(row["image"]) for row in rows]
        metrics = json.loads((task.outputs / "metrics.json").read_text())
        right = sum(row["predicted"] == row["label"] for row in rows)
        assert metrics == {"shard": index, "images": len(rows), "accuracy": right / len(rows)}
        assert metrics["accuracy"] > 0.9
    assert sorted(images) == list(range(202))


def test_a_shard_that_the_array_does_not_have_is_an_error(lay_out_task: LayOutTask) -> None:
    pytest.importorskip("sklearn", reason="the extra `examples` is not installed")
    done = lay_out_task("digits-inference", "beyond").run(index=4)
    assert done.returncode == 2
    assert "array index 4 is not below --shards 4" in done.stderr


def test_the_solver_shows_the_order_of_its_method(lay_out_task: LayOutTask) -> None:
    pytest.importorskip("numpy", reason="the extra `examples` is not installed")
    task = lay_out_task("numerical", "coarse")
    done = task.run("--grids", "16", "32", "48")
    assert done.returncode == 0, done.stderr
    result = json.loads((task.outputs / "result.json").read_text())
    assert result["converged"]
    assert all(1.9 < order < 2.1 for order in result["observed_orders"])
    assert all(grid["residual"] <= 1e-7 for grid in result["grids"])


def test_the_solver_fails_when_the_order_is_wrong(lay_out_task: LayOutTask) -> None:
    pytest.importorskip("numpy", reason="the extra `examples` is not installed")
    task = lay_out_task("numerical", "too-coarse")
    done = task.run("--grids", "2", "3")
    assert done.returncode == 1
    assert not json.loads((task.outputs / "result.json").read_text())["converged"]


def test_the_build_gives_back_its_artefact_and_its_report(lay_out_task: LayOutTask) -> None:
    task = lay_out_task("ci-build", "build")
    done = task.run(extra={"LONGEST": "4"})
    assert done.returncode == 0, done.stderr
    report = json.loads((task.outputs / "report.json").read_text())
    assert report == {"left": "kitten", "right": "sitting", "distance": 3}
    built = subprocess.run(
        [sys.executable, str(task.outputs / "edits.pyz"), "flaw", "lawn"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(built.stdout)["distance"] == 2


def test_a_failing_test_of_the_build_is_the_exit_code_of_make(lay_out_task: LayOutTask) -> None:
    task = lay_out_task("ci-build", "broken")
    source = task.work / "project" / "edits" / "distance.py"
    source.write_text(source.read_text().replace("+ (a != b)", "+ 1", 1))
    done = task.run(extra={"LONGEST": "3"})
    assert done.returncode == 2
    assert "FAILED (failures=" in done.stderr
    assert not (task.outputs / "report.json").exists()


def test_the_user_error_ends_with_a_traceback_and_code_1(lay_out_task: LayOutTask) -> None:
    task = lay_out_task("user-error", "misspelt")
    done = task.run("--seconds", "0.1")
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("KeyError: 'temprature'")
    assert not list(task.outputs.iterdir())


def test_the_user_error_is_only_the_misspelt_name(lay_out_task: LayOutTask) -> None:
    task = lay_out_task("user-error", "corrected")
    done = task.run("--seconds", "0.1", "--column", "temperature")
    assert done.returncode == 0, done.stderr
    low, high = json.loads((task.outputs / "report.json").read_text())["mean_90_percent"]
    assert 10 < low < high < 12


def test_the_memory_hog_ends_at_the_limit(tmp_path: Path) -> None:
    limit = 256 << 20
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "memory-hog" / "hog.py"), "--step", "32", "--pause", "0"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "MemoryError" in done.stderr
    held = [int(line.split()[1]) for line in done.stdout.splitlines()]
    assert held == list(range(32, held[-1] + 1, 32))
    assert held[-1] < 256


def test_the_memory_hog_stops_itself_where_nothing_limits_it(lay_out_task: LayOutTask) -> None:
    done = lay_out_task("memory-hog", "unlimited").run("--ceiling", "24", "--pause", "0")
    assert done.returncode == 3
    assert "no memory limit stopped this task" in done.stderr


def test_the_no_op_does_nothing_well(lay_out_task: LayOutTask) -> None:
    done = lay_out_task("no-op", "nothing").run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
