"""Makes CAs and issues identities by hand, over `intertie.pki`. For a first setup and for tests.

    python certs/issue.py root ca/ --trust-domain intertie.example
    python certs/issue.py region ca/ eu-ca/ eu
    python certs/issue.py leaf ca/ admin-ann/ spiffe://intertie.example/admin/ann
    python certs/issue.py leaf eu-ca/ scheduler/ spiffe://eu.intertie.example/scheduler --region eu

Running processes renew by themselves; nothing here is needed then. Must not print a key.
"""

import argparse
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from intertie.clock import SystemClock
from intertie.errors import IntertieError
from intertie.pki.authority import create_regional, create_root, new_key, root_pin
from intertie.pki.ca_files import load_authority, write_authority
from intertie.pki.issue import issue
from intertie.pki.load import write_identity
from intertie.pki.profile import HOUR_MS
from intertie.pki.spiffe import parse

PROFILES = Path(__file__).with_name("profiles.toml")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    top.add_argument("--trust-domain", default="intertie.example")
    commands = top.add_subparsers(dest="command", required=True)
    root = commands.add_parser("root", help="make the root of a federation")
    root.add_argument("ca", type=Path)
    region = commands.add_parser("region", help="make a regional CA under the root")
    region.add_argument("ca", type=Path)
    region.add_argument("out", type=Path)
    region.add_argument("region")
    region.add_argument("--host", action="append", default=[], dest="hosts")
    leaf = commands.add_parser("leaf", help="issue an identity")
    leaf.add_argument("ca", type=Path)
    leaf.add_argument("out", type=Path)
    leaf.add_argument("spiffe_id")
    leaf.add_argument("--region", help="the region whose CA `ca` is; the root if absent")
    leaf.add_argument("--host", action="append", default=[], dest="hosts")
    return top


def make_root(arguments: argparse.Namespace) -> str:
    """Write a root and return what to tell."""
    root = create_root(arguments.trust_domain, SystemClock().now())
    write_authority(arguments.ca, root)
    return f"root of {arguments.trust_domain} in {arguments.ca}; pin sha256:{root_pin(root.cert)}"


def make_region(arguments: argparse.Namespace) -> str:
    """Write a regional CA and return what to tell."""
    root = load_authority(arguments.ca, arguments.trust_domain)
    regional = create_regional(
        root, arguments.region, SystemClock().now(), hosts=tuple(arguments.hosts)
    )
    write_authority(arguments.out, regional)
    return f"CA of {regional.trust_domain} in {arguments.out}"


def make_leaf(arguments: argparse.Namespace) -> str:
    """Issue an identity directory and return what to tell."""
    authority = load_authority(arguments.ca, arguments.trust_domain, arguments.region)
    spiffe_id = parse(arguments.spiffe_id, arguments.trust_domain)
    key = new_key()
    hours: int = tomllib.loads(PROFILES.read_text(encoding="utf-8"))["leaf_hours"][spiffe_id.role]
    issued = issue(
        authority,
        spiffe_id,
        key.public_key(),
        SystemClock().now(),
        hosts=tuple(arguments.hosts),
        life_ms=hours * HOUR_MS,
    )
    write_identity(arguments.out, key, issued)
    return f"{spiffe_id} in {arguments.out}; valid for {hours} h"


COMMANDS = {"root": make_root, "region": make_region, "leaf": make_leaf}


def main(argv: Sequence[str]) -> int:
    """Run one command; the exit code is that of the error catalogue."""
    arguments = parser().parse_args(argv)
    try:
        told = COMMANDS[arguments.command](arguments)
    except IntertieError as problem:
        sys.stderr.write(f"{problem}\n")
        return problem.entry.exit
    sys.stdout.write(f"{told}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
