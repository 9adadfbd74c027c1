"""Prints one page: `python -m intertie.cli.docs [cli|errors|tasks]`; without a name docs/cli.md."""

import sys

from intertie.cli.docs import commands, errors, tasks

PAGES = {"cli": commands.page, "errors": errors.page, "tasks": tasks.page}

if __name__ == "__main__":
    sys.stdout.write(PAGES[sys.argv[1] if len(sys.argv) > 1 else "cli"]())
