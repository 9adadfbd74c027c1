"""`intertie join --check`: everything that could stand in the way, without redeeming the token."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from intertie.cli.printing import lines
from intertie.pki.ca_files import CA_KEY
from intertie.pki.issue import create_csr
from intertie.pki.join.pending import key_at
from intertie.pki.join.strings import Purpose
from intertie.pki.load import KEY
from intertie.sdk.membership.joiner import Joiner


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What would be asked for: the first two of a region, `node` of a node.

    `directory` may hold the key of an earlier join, to which a name may belong already.
    """

    jurisdiction: str
    hosts: Sequence[str]
    node: str
    directory: Path | None = None

    def csr_pem(self, *folders: str) -> bytes:
        """A request with the key that is there, if there is one."""
        path = self.directory.joinpath(*folders) if self.directory is not None else None
        if path is None or not path.exists():
            return b""
        return create_csr(key_at(path)[0])


async def check_join(joiner: Joiner, endpoint: str, wish: Wish) -> None:
    """Say line by line what is in order; the first thing that is not ends the command.

    The server compares clocks and versions before it looks at the name, so an answer settles them.
    """
    trust_domain = joiner.pinned.trust_domain
    lines([f"ok  {endpoint} can be reached, and is {trust_domain} (the root is the token's)"])
    if joiner.token.purpose is Purpose.NODE:
        csr_pem = wish.csr_pem("identity", KEY)
        subject = (await joiner.enroll(wish.node, csr_pem, check=True)).subject
    else:
        join = await joiner.request_join(
            wish.csr_pem("ca", CA_KEY), jurisdiction=wish.jurisdiction, hosts=wish.hosts, check=True
        )
        subject = join.subject
    lines(
        [
            "ok  both clocks are within 10 minutes of each other",
            f"ok  version {joiner.software} interoperates",
            f"ok  the token is good, and gives {subject}, which is free",
            "nothing was changed; run the same command without --check",
        ]
    )
