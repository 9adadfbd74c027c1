"""Tokens, join requests and issued identities over a ledger: every change is one compare-and-swap.

    enrollment/tokens/<id>              Token
    enrollment/joins/<id>               JoinRequest, of regions
    enrollment/identities/<SPIFFE ID>   Issuance, without spiffe://

A lost answer reads as success when it is asked again, for the same key meets its own record. Must
not sign anything: what is to be issued comes from the caller, made anew for each attempt.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from intertie.errors import IntertieError, Reason, error
from intertie.pki.identity import Identity
from intertie.pki.join.issued import Issuance, check_free, issued, renewal
from intertie.pki.join.requests import JoinRequest, JoinState, decided
from intertie.pki.join.strings import JoinString
from intertie.pki.join.tokens import Redemption, Token, check_new, proved, redeem
from intertie.ports import Clock
from intertie.store.codec import decoder, encode
from intertie.store.enrollment.ledger import Ledger
from intertie.store.etcd.faults import OutcomeUnknownError
from intertie.store.etcd.port import Absent, Entry, Guard, Remove, Unchanged, Write

TOKENS, JOINS = "enrollment/tokens/", "enrollment/joins/"
IDENTITIES = "enrollment/identities/"
ROUNDS = 8
"""Races that a change may lose before it says so."""

_token, _issuance, _request = decoder(Token), decoder(Issuance), decoder(JoinRequest)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bearer:
    """Who presents a token: for which name and key, and from where."""

    subject: str
    key_sha256: str
    address: str


@dataclass(frozen=True, slots=True)
class Redeemed:
    """What a redemption left: the same after a replay."""

    token: Token
    issuance: Issuance
    request: JoinRequest | None


Make = Callable[[Token], tuple[Issuance, JoinRequest | None]]
"""Makes what a fresh redemption records."""


class Registry:
    """See the module's text.

    Args:
        ledger: where it is kept.
        clock: for expiry and replay.
        is_banned: whether the serial of a certificate is banned.
    """

    def __init__(
        self, ledger: Ledger, clock: Clock, is_banned: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._is_banned = is_banned

    @property
    def _now_ms(self) -> int:
        return self._clock.now().utc_ms

    # --- tokens ----------------------------------------------------------------------------------

    async def create_token(self, token: Token) -> Token:
        """Keep a new token. Raises INVALID_FIELD, or ALREADY_EXISTS for its id."""
        check_new(token)
        await self._forget_tokens()
        key = TOKENS + token.id
        written = await self._written((Absent(key),), (Write(key, encode(token)),))
        standing = None if written else await self._ledger.get(key)
        if not written and (standing is None or _token(standing.value) != token):
            raise error(
                Reason.ALREADY_EXISTS,
                f"Token {token.id} was made already; its secret is not kept.",
                remedy="Make another one, under another request_id.",
            )
        return token

    async def tokens(self) -> Sequence[Token]:
        """All that are remembered, the newest first."""
        listing = await self._ledger.list(TOKENS)
        found = [_token(entry.value) for entry in listing.entries]
        return sorted(found, key=lambda token: token.created_ms, reverse=True)

    async def token(self, presented: JoinString) -> Token:
        """The token of a join string. Raises JOIN_TOKEN_INVALID unless its secret is right."""
        entry = await self._ledger.get(TOKENS + presented.token_id)
        return proved(_token(entry.value) if entry is not None else None, presented.secret)

    async def change_token(self, id_: str, change: Callable[[Token], Token]) -> Token:
        """Change a token. Raises NOT_FOUND."""
        for _ in range(ROUNDS):
            entry = await self._ledger.get(TOKENS + id_)
            if entry is None:
                raise _missing(f"joinTokens/{id_}")
            after = change(_token(entry.value))
            if await self._written((_unchanged(entry),), (Write(entry.key, encode(after)),)):
                return after
        raise _busy(id_)

    async def check(self, presented: JoinString, bearer: Bearer) -> Token:
        """Whether a token would be redeemed now; changes nothing."""
        entry = await self._ledger.get(TOKENS + presented.token_id)
        redemption = self._redemption(entry, presented, bearer)
        if not redemption.is_replay:
            self._check_free(await self._issuance(bearer.subject), bearer)
        return redemption.token

    async def redeem(self, presented: JoinString, bearer: Bearer, make: Make) -> Redeemed:
        """Use a token: binds it, and the name, to the bearer's key in one transaction.

        Raises:
            IntertieError: JOIN_TOKEN_INVALID, ALREADY_EXISTS.
        """
        key, name = TOKENS + presented.token_id, _identity_key(bearer.subject)
        for _ in range(ROUNDS):
            entry, taken = await self._ledger.get(key), await self._ledger.get(name)
            redemption = self._redemption(entry, presented, bearer)
            assert entry is not None, "a token that was redeemed is there"
            standing = _issuance(taken.value) if taken is not None else None
            if redemption.is_replay and standing is not None:
                self._check_free(standing, bearer)
                request = await self.request(presented.token_id)
                return Redeemed(redemption.token, standing, request)
            self._check_free(standing, bearer)
            issuance, request = make(redemption.token)
            if standing is not None and standing.serial and not issuance.serial:
                issuance = standing  # a member that asks again keeps what it has until decided
            guards: list[Guard] = [_unchanged(entry), _as_seen(name, taken)]
            writes = [
                Write(key, encode(redemption.token)),
                Write(name, encode(issued(standing, issuance))),
            ]
            if request is not None:
                guards.append(Absent(JOINS + request.id))
                writes.append(Write(JOINS + request.id, encode(request)))
            if await self._written(tuple(guards), tuple(writes)):
                return Redeemed(redemption.token, issuance, request)
        raise _busy(presented.token_id)

    def _redemption(self, entry: Entry | None, shown: JoinString, bearer: Bearer) -> Redemption:
        return redeem(
            _token(entry.value) if entry is not None else None,
            shown.secret,
            key_sha256=bearer.key_sha256,
            subject=bearer.subject,
            address=bearer.address,
            now_ms=self._now_ms,
        )

    def _check_free(self, standing: Issuance | None, bearer: Bearer) -> None:
        banned = standing is not None and self._is_banned(standing.serial)
        check_free(standing, bearer.subject, bearer.key_sha256, self._now_ms, is_banned=banned)

    async def _forget_tokens(self) -> None:
        for token in await self.tokens():
            if token.is_forgotten(self._now_ms):
                await self._written((), (Remove(TOKENS + token.id),))

    # --- join requests ---------------------------------------------------------------------------

    async def request(self, id_: str) -> JoinRequest | None:
        """A region's request."""
        entry = await self._ledger.get(JOINS + id_)
        return _request(entry.value) if entry is not None else None

    async def requests(self) -> Sequence[JoinRequest]:
        """All, the newest first."""
        listing = await self._ledger.list(JOINS)
        found = [_request(entry.value) for entry in listing.entries]
        return sorted(found, key=lambda request: (request.created_ms, request.id), reverse=True)

    async def decide(
        self,
        id_: str,
        state: JoinState,
        *,
        decider: str,
        reason: str,
        make: Callable[[JoinRequest], Issuance] | None = None,
    ) -> JoinRequest:
        """Approve (`make` certifies the key) or reject, which frees the name again.

        Raises:
            IntertieError: NOT_FOUND; WRONG_STATE if it was decided otherwise.
        """
        assert (state is JoinState.APPROVED) == (make is not None), "who is approved is certified"
        for _ in range(ROUNDS):
            entry = await self._ledger.get(JOINS + id_)
            if entry is None:
                raise _missing(f"joins/{id_}")
            before = _request(entry.value)
            now_ms = self._now_ms
            after = decided(before, state, decider=decider, reason=reason, now_ms=now_ms)
            if after is None:
                return before
            name = _identity_key(before.subject)
            taken = await self._ledger.get(name)
            writes: list[Write | Remove] = [Write(entry.key, encode(after))]
            if make is not None:
                standing = _issuance(taken.value) if taken is not None else None
                writes.append(Write(name, encode(issued(standing, make(before)))))
            elif taken is not None and not _issuance(taken.value).serial:
                writes.append(Remove(name))
            guards = (_unchanged(entry), _as_seen(name, taken))
            if await self._written(guards, tuple(writes)):
                return after
        raise _busy(id_)

    # --- identities ------------------------------------------------------------------------------

    async def issuance(self, subject: str) -> Issuance | None:
        """What was issued under a SPIFFE ID."""
        return await self._issuance(subject)

    async def identities(self) -> Sequence[Issuance]:
        """All, in the order of their SPIFFE IDs."""
        listing = await self._ledger.list(IDENTITIES)
        return [_issuance(entry.value) for entry in listing.entries]

    async def renew(
        self, caller: Identity, key_sha256: str, make: Callable[[], Issuance]
    ) -> Issuance:
        """Issue the next certificate of the caller. Raises PERMISSION_DENIED."""
        name = _identity_key(str(caller))
        for _ in range(ROUNDS):
            entry = await self._ledger.get(name)
            before = _issuance(entry.value) if entry is not None else None
            answered = renewal(before, caller, key_sha256)
            if answered is not None:
                return answered
            after = replace(issued(before, make()), previous_serial=caller.serial)
            if await self._written((_as_seen(name, entry),), (Write(name, encode(after)),)):
                return after
        raise _busy(str(caller))

    async def rebind(self, issuance: Issuance) -> Issuance:
        """Give a name to another key, for whoever has proved that it is its own."""
        name = _identity_key(issuance.subject)
        for _ in range(ROUNDS):
            entry = await self._ledger.get(name)
            before = _issuance(entry.value) if entry is not None else None
            after = issued(before, issuance)
            if await self._written((_as_seen(name, entry),), (Write(name, encode(after)),)):
                return after
        raise _busy(issuance.subject)

    async def _issuance(self, subject: str) -> Issuance | None:
        entry = await self._ledger.get(_identity_key(subject))
        return _issuance(entry.value) if entry is not None else None

    async def _written(
        self, guards: tuple[Guard, ...], operations: tuple[Write | Remove, ...]
    ) -> bool:
        """True if it was done; False if the guards failed or nobody knows: read and try again."""
        try:
            return (await self._ledger.txn(guards, operations)).succeeded
        except OutcomeUnknownError:
            return False


def _identity_key(subject: str) -> str:
    return IDENTITIES + subject.removeprefix("spiffe://")


def _unchanged(entry: Entry) -> Guard:
    return Unchanged(entry.key, entry.mod_revision)


def _as_seen(key: str, entry: Entry | None) -> Guard:
    return Absent(key) if entry is None else _unchanged(entry)


def _missing(name: str) -> IntertieError:
    return error(
        Reason.NOT_FOUND,
        f"There is no {name}.",
        remedy="List what there is.",
        metadata={"resource": name},
    )


def _busy(what: str) -> IntertieError:
    return error(
        Reason.STORE_UNAVAILABLE,
        f"{what[:120]} was changed by others at the same time, {ROUNDS} times in a row.",
        remedy="Try the same again.",
    )
