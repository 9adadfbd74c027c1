"""Joining as a node of a region: an identity that renews itself, and the agent's configuration."""

import platform
from pathlib import Path

from intertie.cli.joining.joined import identity_key, write_leaf
from intertie.cli.joining.toml import Value, write_config
from intertie.cli.printing import lines
from intertie.errors import Reason, error
from intertie.pki.issue import create_csr
from intertie.sdk.membership.joiner import Joiner


def default_node() -> str:
    """The name of this machine as a node id."""
    return platform.node().partition(".")[0].lower()


async def join_node(joiner: Joiner, directory: Path, node: str) -> None:
    """Redeem the token and write everything."""
    identity = directory / "identity"
    key, _ = identity_key(identity)
    given = await joiner.enroll(node, create_csr(key))
    if given.credentials is None:
        raise error(Reason.INTERNAL, "The region took the node and gave no certificate.")
    write_leaf(identity, key, given.credentials, joiner)
    config = directory / "config.toml"
    base = directory.absolute()
    tables: dict[str, dict[str, Value]] = {
        "": {
            "node": node,
            "region": given.region,
            "trust_domain": given.trust_domain,
            "site": given.jurisdiction,
            "scheduler": given.endpoints[0],
            "state_dir": str(base / "state"),
            "identity_dir": str(base / "identity"),
            "renew": True,
        }
    }
    write_config(config, tables)
    lines(
        [
            f"node {node} joined region {given.region} of {given.trust_domain}",
            f"wrote its identity and configuration to {directory}",
            f"next: intertie agent serve --config {config}",
        ]
    )
