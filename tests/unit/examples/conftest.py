"""Run an example as a task would be run, without Intertie: its environment, its own copy."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@dataclass
class Task:
    """One example laid out in a folder, with its task environment; can be run more than once."""

    folder: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def outputs(self) -> Path:
        return self.folder / "outputs"

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def spec(self) -> dict[str, Any]:
        loaded: dict[str, Any] = yaml.safe_load((self.work / "task.yaml").read_text())
        return loaded

    def environment(self, index: int | None) -> dict[str, str]:
        """Nothing of this process's environment but what a program needs to start."""
        values = {
            "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "INTERTIE_TASK": "projects/p/tasks/00-x",
            "INTERTIE_RUN": "1",
            "INTERTIE_WORK_DIR": str(self.work),
            "INTERTIE_OUTPUT_DIR": str(self.outputs),
            "INTERTIE_CHECKPOINT_DIR": str(self.checkpoints),
            "INTERTIE_SCRATCH": str(self.folder / "scratch"),
        }
        if index is not None:
            values["INTERTIE_ARRAY_INDEX"] = str(index)
        return values | {
            name: str(value) for name, value in self.spec["run"].get("env", {}).items()
        }

    def start(
        self, *arguments: str, index: int | None = None, extra: dict[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start the task's own command; `arguments` come last and so win over those in the file."""
        process = subprocess.Popen(
            [*self.spec["run"]["command"], *arguments],
            cwd=self.work,
            env=self.environment(index) | (extra or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def run(
        self, *arguments: str, index: int | None = None, extra: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the task to its end."""
        process = self.start(*arguments, index=index, extra=extra)
        out, err = process.communicate(timeout=90)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def close(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.communicate()


LayOutTask = Callable[[str, str], Task]


@pytest.fixture
def lay_out_task(tmp_path: Path) -> Iterator[LayOutTask]:
    """Copy an example into a fresh folder under a name of its own."""
    tasks: list[Task] = []

    def lay_out(example: str, name: str) -> Task:
        task = Task(tmp_path / name)
        shutil.copytree(
            EXAMPLES / example, task.work, ignore=shutil.ignore_patterns("build", "out")
        )
        for folder in (task.outputs, task.checkpoints, task.folder / "scratch"):
            folder.mkdir()
        tasks.append(task)
        return task

    yield lay_out
    for task in tasks:
        task.close()
