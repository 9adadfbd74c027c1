"""The agent's configuration: what is refused, and how."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from edge_agent.config import Config
from intertie.config import load
from intertie.errors import IntertieError

GOOD = {
    "node": "n1",
    "region": "eu",
    "scheduler": "127.0.0.1:7000",
    "trust_domain": "intertie.example",
    "state_dir": "/var/lib/intertie/agent",
    "identity_dir": "/var/lib/intertie/identity",
}


def read(**changes: Any) -> Config:
    flags = [f'{key.replace("__", ".")}="{value}"' for key, value in {**GOOD, **changes}.items()]
    return load(Config, flags=flags, environment={})


def test_sizes_and_durations_are_written_as_people_write_them() -> None:
    settings = read(
        cache="2GiB", timing__kill="1500ms", capacity__cpu="1.5", capacity__memory="512MiB"
    ).as_settings()
    assert settings.cache_bytes == 2 << 30
    assert settings.kill_ms == 1_500
    assert (settings.cpu, settings.memory) == (1_500, 512 << 20)


def test_the_path_of_tasks_is_a_list_of_folders() -> None:
    assert read(task_path="/a/bin:/b/bin").as_settings().task_path == ("/a/bin", "/b/bin")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("node", "Not A Node", "node"),
        ("region", "X", "region"),
        ("scheduler", "nowhere", "scheduler"),
        ("site", "Germany", "site"),
        ("state_dir", "relative/path", "state_dir must be an absolute path"),
        ("state_dir", "/" + "x" * 90, "state_dir must have at most"),
        ("capacity__cpu", "-1", "capacity.cpu"),
        ("timing__reconnect_most", "1ms", "reconnect_most"),
        ("task__cgroup", "maybe", "task.cgroup"),
        ("uid_bas", "1", "nearest is uid_base"),
    ],
)
def test_a_wrong_setting_is_named(key: str, value: str, words: str) -> None:
    with pytest.raises(IntertieError, match=words):
        read(**{key: value})


def test_without_root_or_with_base_zero_tasks_have_our_own_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert read(uid_base="0").as_settings().first_uid is None
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert read().as_settings().first_uid is None
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert read().as_settings().first_uid == 60_000


def test_check_validates_and_runs_nothing(tmp_path: Path) -> None:
    good = tmp_path / "agent.toml"
    good.write_text("".join(f'{key} = "{value}"\n' for key, value in GOOD.items()))
    bad = tmp_path / "bad.toml"
    bad.write_text(good.read_text() + "colour = 1\n")
    command = [sys.executable, "-m", "edge_agent", "--check", "--config"]
    valid = subprocess.run([*command, str(good)], capture_output=True, text=True, check=False)
    assert (valid.returncode, valid.stdout) == (0, "The configuration is valid.\n")
    invalid = subprocess.run([*command, str(bad)], capture_output=True, text=True, check=False)
    assert invalid.returncode == 2
    assert "colour" in invalid.stderr
