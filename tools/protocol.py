"""Lint the protocol with buf, compare it with the committed baseline, or accept a new baseline.

buf reads `buf.yaml`. It cannot fetch Google's protos here, so those of the installed
googleapis-common-protos are copied to `.tools/googleapis/` first; they are never committed.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence

from tools.environment import ROOT, TOOLS, buf_program
from tools.stubs import google_protos

BASELINE = "proto/baseline/v1.binpb"
GOOGLE_FOLDERS = ("google/rpc", "google/type", "google/api")


def main(arguments: Sequence[str]) -> int:
    """Run one action and return buf's exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.protocol", description=__doc__)
    parser.add_argument("action", choices=("lint", "breaking", "baseline"))
    options = parser.parse_args(arguments)
    copy_google_protos()
    if options.action == "lint":
        return buf("lint", "proto")
    if options.action == "breaking":
        if not (ROOT / BASELINE).exists():
            print(f"there is no {BASELINE}; make one with: make baseline")
            return 1
        return buf("breaking", "proto", "--exclude-imports", "--against", BASELINE)
    (ROOT / BASELINE).parent.mkdir(parents=True, exist_ok=True)
    return buf("build", "proto", "--exclude-source-info", "--output", BASELINE)


def buf(*arguments: str) -> int:
    """Run buf in the repository's root."""
    return subprocess.run([str(buf_program()), *arguments], cwd=ROOT, check=False).returncode


def copy_google_protos() -> None:
    """Copy what our protos may import from Google, as a module that buf can read."""
    target = TOOLS / "googleapis"
    for folder in GOOGLE_FOLDERS:
        for source in sorted((google_protos() / folder).glob("*.proto")):
            copy = target / folder / source.name
            if not copy.exists() or copy.read_bytes() != source.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, copy)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
