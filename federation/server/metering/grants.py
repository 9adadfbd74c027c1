"""Grants for whoever verifies usage: looked up by the digest that records cite, and signed.

What is kept is the grant's bytes, from the commit that assigned the task. The proof is made when it
is asked for, one signature for each answer, as it was made for each tick of assignments: the same
key vouches for the same bytes, and no task costs the store an envelope. Must not judge usage.
"""

import re
from collections.abc import Sequence

from federation.domain.core import GRANT
from intertie.errors import Reason, error, invalid
from intertie.metering.dsse import StatementSigner
from intertie.metering.grant import SignedGrant, grant_sha256, parse_grant, sign_grants
from intertie.pki.identity import Identity
from intertie.pki.spiffe import Role
from intertie.ports import Store

MAX_GRANTS = 1_000
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Grants:
    """Finds grants.

    Args:
        store: where they are.
        signer: signs them.
    """

    def __init__(self, store: Store, signer: StatementSigner) -> None:
        self._store = store
        self._signer = signer

    def keys_file(self, trust_domain: str) -> bytes:
        """The public keys that sign grants and statements, for people to compare and keep."""
        key = self._signer.key
        lines = (
            f"# signs grants and statements of {trust_domain}  SHA256:{key.id}",
            f"grant-key {key.public.hex()}",
        )
        return "".join(f"{line}\n" for line in lines).encode()

    async def signed(self, digests: Sequence[str], who: Identity) -> list[SignedGrant]:
        """Those of these grants that exist and that the caller may see, under one signature."""
        if len(digests) > MAX_GRANTS:
            raise error(
                Reason.TOO_LARGE,
                f"sha256: {len(digests)} digests; the limit is {MAX_GRANTS}.",
                remedy="Ask for fewer at once.",
            )
        for number, digest in enumerate(digests):
            if _DIGEST.fullmatch(digest) is None:
                raise invalid(f"sha256[{number}]", "is no SHA-256 in 64 hexadecimal digits")
        found = [await self._find(digest) for digest in dict.fromkeys(digests)]
        seen = [grant for grant in found if grant is not None and _may_see(grant, who)]
        return sign_grants(seen, self._signer)

    async def _find(self, digest: str) -> bytes | None:
        rows = await self._store.list_rows(GRANT, digest, limit=1)
        if not rows:
            return None
        assert grant_sha256(rows[0].body) == digest, "a grant is kept under its digest"
        return rows[0].body


def _may_see(grant: bytes, who: Identity) -> bool:
    if who.role is not Role.PROJECT:
        return True
    parsed = parse_grant(grant)
    return who.project in (parsed.payer, parsed.project)
