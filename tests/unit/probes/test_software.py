"""The software stack: version files as vendors write them, runtimes that answer or do not."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from edge_agent.adapters.probes.model import Absence, Found, NotFound, Proof
from edge_agent.adapters.probes.software import (
    probe_bubblewrap,
    probe_docker,
    probe_podman,
    probe_software,
)

LayOut = Callable[[dict[str, str]], Path]

OPEN_DRIVER = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build\n"
    "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"
)


@pytest.mark.parametrize(
    ("package", "path", "content", "version"),
    [
        ("nvidia_driver", "sys/module/nvidia/version", "550.54.15\n", "550.54.15"),
        ("nvidia_driver", "proc/driver/nvidia/version", OPEN_DRIVER, "560.35.03"),
        ("cuda", "usr/local/cuda/version.json", '{"cuda": {"version": "12.4.1"}}', "12.4.1"),
        ("cuda", "usr/local/cuda/version.txt", "CUDA Version 10.2.89\n", "10.2.89"),
        ("cuda", "usr/lib/x86_64-linux-gnu/libcudart.so.11.8.89", "", "11.8.89"),
        (
            "cann",
            "usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info",
            "package_name=Ascend-cann-toolkit\nversion=8.0.RC1\ninnerversion=V100R001\n",
            "8.0.RC1",
        ),
        (
            "cann",
            "usr/local/Ascend/ascend-toolkit/latest/version.cfg",
            "# version: 1.0\nruntime_running_version=[7.3.0.1.231:8.0.RC2]\n",
            "8.0.RC2",
        ),
        ("rocm", "opt/rocm/.info/version", "6.2.0-66\n", "6.2.0"),
        ("rocm", "opt/rocm-6.1.3/.info/version", "6.1.3-122\n", "6.1.3"),
        ("neuware", "usr/local/neuware/version.txt", "Neuware Version 3.8.4\n", "3.8.4"),
    ],
)
def test_a_vendor_stack_is_found_by_its_own_file(
    lay_out: LayOut, package: str, path: str, content: str, version: str
) -> None:
    probe = getattr(probe_software(lay_out({path: content})), package)
    assert probe == Found(version, f"/{path}")


@pytest.mark.parametrize("package", ["nvidia_driver", "cuda", "cann", "rocm", "neuware"])
def test_a_stack_that_is_not_installed_is_absent_and_says_where_we_looked(
    tmp_path: Path, package: str
) -> None:
    probe = getattr(probe_software(tmp_path), package)
    assert isinstance(probe, NotFound)
    assert probe.absence is Absence.ABSENT
    assert probe.source.startswith("/")


@pytest.mark.parametrize("content", ["not json", "[]", '{"cuda": {}}'])
def test_a_version_file_that_makes_no_sense_is_a_failure_not_an_absence(
    lay_out: LayOut, content: str
) -> None:
    probe = probe_software(lay_out({"usr/local/cuda/version.json": content})).cuda
    assert isinstance(probe, NotFound)
    assert probe.absence is Absence.FAILED


def test_a_version_file_without_a_version_is_a_failure(lay_out: LayOut) -> None:
    probe = probe_software(lay_out({"opt/rocm/.info/version": "unknown\n"})).rocm
    assert isinstance(probe, NotFound)
    assert probe.absence is Absence.FAILED


def test_python_is_the_one_that_runs_us(tmp_path: Path) -> None:
    python = probe_software(tmp_path).python
    assert python == Found(sys.version.split()[0], sys.executable)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put a shell script in front of PATH."""

    def install(name: str, script: str) -> None:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")

    return install


def test_a_runtime_that_starts_a_process_is_found_with_that_proof(
    command: Callable[[str, str], None],
) -> None:
    command("bwrap", 'if [ "$1" = --version ]; then echo bubblewrap 0.8.0; fi')
    probe = probe_bubblewrap()
    assert isinstance(probe, Found)
    assert probe.value.version == "0.8.0"
    assert probe.value.proof is Proof.STARTED


def test_an_installed_runtime_that_may_not_start_says_the_reason(
    command: Callable[[str, str], None],
) -> None:
    refusal = "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1"
    command("bwrap", f'if [ "$1" = --version ]; then echo bubblewrap 0.8.0; else {refusal}; fi')
    probe = probe_bubblewrap()
    assert isinstance(probe, NotFound)
    assert probe.absence is Absence.FAILED
    assert "uid map: Permission denied" in probe.reason


def test_a_runtime_without_its_daemon_is_not_found(command: Callable[[str, str], None]) -> None:
    command("docker", 'if [ "$1" = --version ]; then echo Docker version 26.1; else exit 3; fi')
    probe = probe_docker()
    assert isinstance(probe, NotFound)
    assert probe.reason == "exit code 3: nothing on stderr"


def test_a_runtime_that_hangs_is_given_up(
    command: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edge_agent.adapters.probes.software.COMMAND_TIMEOUT_S", 0.2)
    command("podman", "exec sleep 30")
    probe = probe_podman()
    assert isinstance(probe, NotFound)
    assert probe.reason == "no answer within 0.2 s"


def test_a_command_that_is_no_program_is_a_failure(
    command: Callable[[str, str], None], tmp_path: Path
) -> None:
    command("podman", "")
    (tmp_path / "bin" / "podman").write_text("#!/nowhere/interpreter\n")
    probe = probe_podman()
    assert isinstance(probe, NotFound)
    assert "cannot be started" in probe.reason


def test_a_runtime_that_is_not_installed_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    probe = probe_podman()
    assert isinstance(probe, NotFound)
    assert probe.absence is Absence.ABSENT
