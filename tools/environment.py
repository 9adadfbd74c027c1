"""Make the development environment: `.venv/`, `.tools/`, and the Debian packages that are missing.

Runs under the system's Python before anything is installed: it imports the standard library only.
Doing nothing is its normal case: a stamp holds the digest of everything the environment depends on.
It must never leave a system service running: Debian's etcd is installed for its program only.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
TOOLS = ROOT / ".tools"
PIP = "pip==26.3"
BUF = "@bufbuild/buf@1.75.0"
STAMPED_FILES = ("pyproject.toml", "tools/environment.py", "tools/constraints.txt")

DEMO_PROGRAMS = {"etcd": ("etcd-server",)}
"""Program looked for on PATH -> Debian packages that bring it."""
TEST_PROGRAMS = {
    "etcd": ("etcd-server",),
    "gcc": ("gcc", "libc6-dev"),
    "make": ("make",),
    "openssl": ("openssl",),
}

INSTALL_SCRIPT = """
set -eu
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\\nexit 101\\n' >"$policy"
    chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
apt-get -qq update
apt-get -qq install -y --no-install-recommends "$@" >/dev/null
for package in "$@"; do
    if [ "$package" = etcd-server ] && [ -d /run/systemd/system ]; then
        systemctl disable --quiet --now etcd || true
    fi
done
"""
"""Installs packages while policy-rc.d forbids them to start services (invoke-rc.d(8))."""


def main(purpose: str) -> int:
    """Bring the environment up to date for `purpose`: `demo` or `test`."""
    install_debian_packages(missing_packages(purpose))
    install_python_packages()
    if purpose == "test":
        install_buf()
    return 0


def missing_packages(purpose: str) -> list[str]:
    """Debian packages whose programs are not on PATH; those already there are left alone."""
    programs = dict(DEMO_PROGRAMS if purpose == "demo" else TEST_PROGRAMS)
    if purpose == "test" and not buf_program().exists():
        programs |= {"node": ("nodejs",), "npm": ("npm",)}
    missing = [
        package
        for program, packages in programs.items()
        if shutil.which(program) is None
        for package in packages
    ]
    if importlib.util.find_spec("ensurepip") is None:
        missing.append(f"python{sys.version_info.major}.{sys.version_info.minor}-venv")
    return missing


def install_debian_packages(packages: list[str]) -> None:
    """Install `packages`, asking nothing; name the remedy where that is not possible."""
    if not packages:
        return
    by_hand = f"install these packages by hand and run make again: {' '.join(packages)}"
    if shutil.which("apt-get") is None:
        sys.exit(f"this system has no apt-get; {by_hand}")
    command = ["sh", "-c", INSTALL_SCRIPT, "install", *packages]
    if os.geteuid() != 0:
        if shutil.which("sudo") is None:
            sys.exit(f"not root and no sudo; {by_hand}")
        command = ["sudo", *command]
    say(f"installing Debian packages: {' '.join(packages)}")
    if subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode != 0:
        sys.exit(f"apt-get failed; {by_hand}")


def install_python_packages() -> None:
    """Create `.venv/` and install this project and the pinned tools, unless the stamp says done."""
    stamp = VENV / "intertie.stamp"
    wanted = environment_digest()
    if stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return
    say("installing Python packages into .venv/")
    python = VENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    constraints = ROOT / "tools" / "constraints.txt"
    pinned = ["--constraint", str(constraints)] if constraints.exists() else []
    subprocess.run([*pip, PIP], check=True, cwd=ROOT)
    subprocess.run(
        [*pip, *pinned, "--editable", ".[examples]", "--group", "dev"], check=True, cwd=ROOT
    )
    stamp.write_text(wanted, encoding="ascii")


def environment_digest() -> str:
    """SHA-256 over the interpreter's version and the files that say what is installed."""
    digest = hashlib.sha256(sys.version.encode())
    for name in STAMPED_FILES:
        path = ROOT / name
        digest.update(path.read_bytes() if path.exists() else b"absent")
    return digest.hexdigest()


def buf_program() -> Path:
    """Where the pinned buf is installed: the version is in the path, so an upgrade reinstalls."""
    version = BUF.rpartition("@")[2]
    return TOOLS / f"buf-{version}" / "node_modules" / ".bin" / "buf"


def install_buf() -> None:
    """Install buf from its npm package, which carries the program itself."""
    if buf_program().exists():
        return
    say(f"installing {BUF} into .tools/")
    prefix = buf_program().parent.parent.parent
    prefix.mkdir(parents=True, exist_ok=True)
    quiet = ["--silent", "--no-audit", "--no-fund", "--no-save", "--no-package-lock"]
    subprocess.run(["npm", "install", *quiet, "--prefix", str(prefix), BUF], check=True, cwd=prefix)


def say(message: str) -> None:
    """Print one line of progress at once."""
    print(message, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "test"))
