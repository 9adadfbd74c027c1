"""Joining as a person or program: an identity, and a context that uses it."""

from pathlib import Path

from intertie.cli.joining.joined import identity_key, write_context, write_leaf
from intertie.cli.printing import lines
from intertie.cli.shown import instant
from intertie.errors import Reason, error
from intertie.pki.issue import create_csr
from intertie.pki.spiffe import parse
from intertie.sdk.contexts import config_path
from intertie.sdk.membership.joiner import Joiner


async def join_person(joiner: Joiner, directory: Path | None, context: str) -> None:
    """Redeem the token and write everything."""
    # By the token's id, so that the same command finds its key again if the answer was lost.
    directory = directory or config_path().parent / "identities" / joiner.token.token_id
    key, _ = identity_key(directory)
    join = await joiner.request_join(create_csr(key))
    if join.credentials is None or join.federation is None:
        raise error(Reason.INTERNAL, "The federation approved the join and gave no certificate.")
    write_leaf(directory, key, join.credentials, joiner)
    name = context or parse(join.subject, joiner.pinned.trust_domain).name
    path = write_context(name, directory, join.federation)
    lines(
        [
            f"joined as {join.subject}; the certificate ends at "
            f"{instant(join.credentials.expires_ms)}",
            f"wrote {directory}, and context {name} to {path}",
            "next: intertie whoami",
        ]
    )
