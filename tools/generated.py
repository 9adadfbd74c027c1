"""Documents that are generated from code: write them, or with `--check` say which are stale.

Each entry of GENERATED is a module that prints the document and the file that holds it. A document
that someone could edit by hand does not belong here.
"""

import argparse
import difflib
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from tools.environment import ROOT


@dataclass(frozen=True, slots=True)
class Document:
    """`python -m module arguments...` prints what `path` (below the repository) must hold."""

    path: str
    module: str
    arguments: tuple[str, ...] = ()


GENERATED = (
    Document("docs/cli.md", "intertie.cli.docs", ("cli",)),
    Document("docs/errors.md", "intertie.cli.docs", ("errors",)),
    Document("docs/tasks.md", "intertie.cli.docs", ("tasks",)),
    Document("docs/metrics.md", "intertie.telemetry"),
    Document("docs/states.md", "tools.states_page"),
    Document("docs/tags.md", "tools.tags_page"),
    Document("docs/configuration.md", "tools.configuration_page"),
    Document("docs/authorization.md", "tools.authorization_page"),
)


def main(arguments: Sequence[str]) -> int:
    """Write all documents, or compare them."""
    parser = argparse.ArgumentParser(prog="python -m tools.generated", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(arguments)
    stale = [document for document in GENERATED if not refresh(document, check=options.check)]
    if stale:
        print(f"stale: {', '.join(document.path for document in stale)}\nrun: make docs")
    return 1 if stale else 0


def refresh(document: Document, *, check: bool) -> bool:
    """Make one document fresh; with `check` only say whether it is, printing the difference."""
    text = produce(document)
    path = ROOT / document.path
    present = path.read_text(encoding="utf-8") if path.exists() else ""
    if present == text:
        return True
    if not check:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return True
    names = (document.path, f"python -m {document.module}")
    sys.stdout.writelines(
        difflib.unified_diff(present.splitlines(True), text.splitlines(True), *names)
    )
    return False


def produce(document: Document) -> str:
    """Run the module and return what it prints."""
    command = [sys.executable, "-m", document.module, *document.arguments]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[1:])} failed, so {document.path} is unknown:\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
