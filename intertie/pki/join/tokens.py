"""What is kept of a join token, and the one rule by which it is redeemed.

A use binds the token to the key of a CSR. The same key may come again for `REPLAY_MS`, since a lost
answer must not lock anybody out; another key may not, unless the token has uses left. Whoever keeps
the record writes the result back by compare-and-swap, so that a use counts once.
"""

from dataclasses import dataclass, replace
from ipaddress import ip_address, ip_network

from intertie.errors import IntertieError, Reason, error, invalid
from intertie.pki.join.strings import Purpose, is_secret
from intertie.pki.profile import DAY_MS, HOUR_MS, MINUTE_MS

REPLAY_MS = 10 * MINUTE_MS
MAX_USES = 10_000
MAX_NETWORKS = 32
LONGEST_MS = dict.fromkeys(Purpose, HOUR_MS) | {Purpose.NODE: DAY_MS}
"""How long a token may live, by purpose (security.md)."""

KEPT_MS = 7 * DAY_MS
"""For how long a token that ended is remembered, so that its use can be told apart from a guess."""

_ANOTHER = "Ask for another token (intertie token create)."


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One key that a token was redeemed for."""

    key_sha256: str
    subject: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token at rest. `subject` is the SPIFFE ID that it gives; empty: the bearer names its node.

    `uses` counts; `recent` holds those that may be replayed, and of a token for one use its use.
    """

    id: str
    purpose: Purpose
    secret_sha256: str
    subject: str = ""
    creator: str = ""
    created_ms: int = 0
    expires_ms: int = 0
    max_uses: int = 1
    uses: int = 0
    recent: tuple[Use, ...] = ()
    pre_approved: bool = False
    networks: tuple[str, ...] = ()
    revoked: bool = False

    def is_forgotten(self, now_ms: int) -> bool:
        """Whether it ended so long ago that nobody needs it told apart from a guess."""
        return now_ms > self.expires_ms + KEPT_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Redemption:
    """The token after a use; `is_replay` = nothing is new, answer as before."""

    token: Token
    is_replay: bool


def check_new(token: Token) -> None:
    """Refuse a token that nobody may make.

    Raises:
        IntertieError: INVALID_FIELD naming the field.
    """
    life_ms, longest_ms = token.expires_ms - token.created_ms, LONGEST_MS[token.purpose]
    if not 0 < life_ms <= longest_ms:
        limit = f"{longest_ms // HOUR_MS} h"
        raise invalid("ttl", f"must be above 0 and at most {limit} for a {token.purpose}.")
    most = MAX_USES if token.purpose is Purpose.NODE else 1
    if not 1 <= token.max_uses <= most:
        raise invalid("max_uses", f"must be between 1 and {most} for a {token.purpose}.")
    if token.subject and token.max_uses > 1:
        raise invalid("max_uses", "must be 1 for a token of one name.")
    if len(token.networks) > MAX_NETWORKS:
        raise invalid("networks", f"has {len(token.networks)} entries; {MAX_NETWORKS} are allowed.")
    for network in token.networks:
        try:
            ip_network(network)
        except ValueError as problem:
            raise invalid("networks", f"{network[:60]!r} is no CIDR network: {problem}.") from None


def redeem(
    token: Token | None,
    secret: bytes,
    *,
    key_sha256: str,
    subject: str,
    address: str,
    now_ms: int,
) -> Redemption:
    """Use a token for a key.

    Args:
        token: as it stands; None if there is none of that id.
        secret: what was presented.
        key_sha256: of the key that is to be certified; empty only checks.
        subject: the SPIFFE ID that the key is to have.
        address: the peer's IP address.
        now_ms: UTC.

    Raises:
        IntertieError: JOIN_TOKEN_INVALID saying why.
    """
    token = proved(token, secret)
    _check_place(token, subject, address)
    for use in token.recent:
        if use.key_sha256 == key_sha256 and use.subject == subject:
            if now_ms - use.at_ms <= REPLAY_MS:
                return Redemption(token=token, is_replay=True)
            if token.uses >= token.max_uses:
                raise refused("used", "The join token was used over 10 minutes ago.")
    if now_ms >= token.expires_ms:
        ago_s = (now_ms - token.expires_ms) // 1000
        raise refused("expired", f"The join token expired {ago_s} s ago.")
    if token.uses >= token.max_uses:
        times = "already, for another key" if token.max_uses == 1 else f"{token.uses} times"
        raise refused("used", f"The join token was used {times}.")
    return Redemption(token=_used(token, key_sha256, subject, now_ms), is_replay=False)


def proved(token: Token | None, secret: bytes) -> Token:
    """The token, if the secret is its own. Raises JOIN_TOKEN_INVALID."""
    if token is None or not is_secret(secret, token.secret_sha256):
        # One answer for both: nobody learns which ids exist.
        raise refused("unknown", "There is no such join token here.", "Check who made")
    return token


def refused(why: str, message: str, remedy: str = "") -> IntertieError:
    """JOIN_TOKEN_INVALID; `why` is for machines."""
    return error(
        Reason.JOIN_TOKEN_INVALID,
        message,
        remedy=f"{remedy} it, or ask for another (intertie token create)." if remedy else _ANOTHER,
        metadata={"why": why},
    )


def _check_place(token: Token, subject: str, address: str) -> None:
    if token.revoked:
        raise refused("revoked", "The join token was taken back.")
    if token.subject and token.subject != subject:
        raise refused("name", f"The join token is for {token.subject}, not for {subject}.")
    if token.networks and not _is_within(address, token.networks):
        raise refused("network", f"The join token may not be used from {address}.")


def _is_within(address: str, networks: tuple[str, ...]) -> bool:
    try:
        peer = ip_address(address)
    except ValueError:
        return False
    return any(peer in ip_network(network) for network in networks)


def _used(token: Token, key_sha256: str, subject: str, now_ms: int) -> Token:
    kept = token.recent
    if token.max_uses > 1:
        kept = tuple(use for use in kept if now_ms - use.at_ms <= REPLAY_MS)
    use = Use(key_sha256=key_sha256, subject=subject, at_ms=now_ms)
    return replace(token, uses=token.uses + 1, recent=(*kept, use))
