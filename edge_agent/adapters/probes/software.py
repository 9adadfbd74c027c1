"""Probes of the software stack: runtimes by trying them, vendor stacks by their version files.

No vendor's tool is run to learn a version: files are cheaper and do not hang on a sick device.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from edge_agent.adapters.probes.model import (
    Absence,
    Found,
    NotFound,
    Probe,
    Proof,
    Runtime,
    Software,
)
from edge_agent.adapters.probes.reading import ROOT, text

COMMAND_TIMEOUT_S = 5.0
VERSION = r"\d+(?:\.\w+)+"

# Places and the pattern whose first group is the version, in the order in which they are believed.
NVIDIA_DRIVER = (
    ("sys/module/nvidia/version", rf"({VERSION})"),
    ("proc/driver/nvidia/version", rf"Kernel Module[^\n]*?\s({VERSION})"),
)
CUDA = (("usr/local/cuda/version.txt", rf"CUDA Version ({VERSION})"),)
CANN = (
    (
        "usr/local/Ascend/ascend-toolkit/latest/*-linux/ascend_toolkit_install.info",
        rf"^version=({VERSION})",
    ),
    ("usr/local/Ascend/nnrt/latest/*-linux/ascend_nnrt_install.info", rf"^version=({VERSION})"),
    ("usr/local/Ascend/ascend-toolkit/latest/version.cfg", rf"_version=\[[^\]]*:({VERSION})\]"),
)
ROCM = (("opt/rocm/.info/version", rf"({VERSION})"), ("opt/rocm-*/.info/version", rf"({VERSION})"))
NEUWARE = (("usr/local/neuware/version.txt", rf"({VERSION})"),)

# Shared libraries that carry a version in their file name, where no version file is.
LIBRARY_FOLDERS = ("usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib")


def probe_software(root: Path = ROOT) -> Software:
    """The whole stack of this node."""
    return Software(
        python=Found(sys.version.split()[0], sys.executable),
        bubblewrap=probe_bubblewrap(),
        podman=probe_podman(),
        docker=probe_docker(),
        nvidia_driver=_by_files(root, NVIDIA_DRIVER),
        cuda=probe_cuda(root),
        cann=_by_files(root, CANN),
        rocm=_by_files(root, ROCM),
        neuware=_by_files(root, NEUWARE),
    )


def probe_cuda(root: Path) -> Probe[str]:
    """The CUDA toolkit (version.json since 11.1), else the runtime library that is installed."""
    path = root / "usr/local/cuda/version.json"
    if path.is_file():
        try:
            return Found(
                str(json.loads(text(path))["cuda"]["version"]), f"/{path.relative_to(root)}"
            )
        except (OSError, ValueError, LookupError, TypeError) as error:
            return NotFound(Absence.FAILED, f"not as expected: {error}", str(path))
    by_file = _by_files(root, CUDA)
    return by_file if isinstance(by_file, Found) else _by_library(root, "libcudart.so") or by_file


def _by_files(root: Path, places: tuple[tuple[str, str], ...]) -> Probe[str]:
    unreadable = None
    for pattern, version in places:
        for path in sorted(root.glob(pattern), reverse=True):
            source = f"/{path.relative_to(root)}"
            try:
                found = re.search(version, text(path), re.MULTILINE)
            except (OSError, UnicodeDecodeError) as error:
                unreadable = NotFound(Absence.FAILED, str(error), source)
                continue
            if found:
                return Found(found[1], source)
            unreadable = NotFound(Absence.FAILED, "no version in the file", source)
    looked_at = ", ".join(f"/{pattern}" for pattern, _ in places)
    return unreadable or NotFound(Absence.ABSENT, "not installed", looked_at)


def _by_library(root: Path, name: str) -> Found[str] | None:
    for folder in LIBRARY_FOLDERS:
        for path in sorted((root / folder).glob(f"{name}.*"), reverse=True):
            version = path.name.removeprefix(f"{name}.")
            if re.fullmatch(VERSION, version):
                return Found(version, f"/{path.relative_to(root)}")
    return None


def probe_bubblewrap() -> Probe[Runtime]:
    """Really start a process in its own namespaces: many systems have the command and forbid it."""
    trial = [
        *("--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc"),
        *("--", "true"),
    ]
    return _try("bwrap", trial, Proof.STARTED)


def probe_podman() -> Probe[Runtime]:
    """Its storage and its OCI runtime answer; nothing is started, as that would need an image."""
    return _try("podman", ["info", "--format", "{{.Host.OCIRuntime.Name}}"], Proof.ANSWERED)


def probe_docker() -> Probe[Runtime]:
    """The daemon answers, not only the command."""
    return _try("docker", ["version", "--format", "{{.Server.Version}}"], Proof.ANSWERED)


def _try(command: str, trial: list[str], proof: Proof) -> Probe[Runtime]:
    path = shutil.which(command)
    if path is None:
        return NotFound(Absence.ABSENT, f"no command {command} in PATH", f"PATH: {command}")
    outputs = []
    for arguments in (["--version"], trial):
        source = " ".join([path, *arguments])
        answer = _answer([path, *arguments])
        if isinstance(answer, str):
            return NotFound(Absence.FAILED, answer, source)
        outputs.append(answer.stdout)
    version = re.search(VERSION, outputs[0])
    return Found(Runtime(version[0] if version else "unknown", path, proof), source)


def _answer(argv: list[str]) -> subprocess.CompletedProcess[str] | str:
    """What a command printed, or why it did not do its work."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {COMMAND_TIMEOUT_S:g} s"
    except OSError as error:
        return f"cannot be started: {error.strerror}"
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["nothing on stderr"]
        return f"exit code {done.returncode}: {said[-1]}"
    return done
