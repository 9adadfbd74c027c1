"""The `intertie` command: arguments in, calls of the SDK, text or JSON out.

Loads nothing heavy before it knows which command is meant. Must not decide anything that a library
user could not: what a command does is in `intertie.sdk`.
"""


def main() -> None:
    """Run the command line and exit."""
    from intertie.cli.app import run

    run()
