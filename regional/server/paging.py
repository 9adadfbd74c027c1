"""Pages of lists, and the checks that every order of an operator has in common."""

from collections.abc import Sequence

from intertie.errors import invalid
from intertie.model.names import REQUEST_ID
from intertie.wire.tokens import Tokens

MAX_PAGE, PAGE = 1_000, 100
MAX_REASON = 1_000


class Pages:
    """Opaque page tokens, bound to what they list."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def opened(self, purpose: str, bound: Sequence[str], token: str) -> str:
        """Where a page begins; empty for the first."""
        return self._tokens.open(purpose, bound, token, "page_token").decode() if token else ""

    def sealed(self, purpose: str, bound: Sequence[str], more: str) -> str:
        """The token of the next page; empty if there is none."""
        return self._tokens.seal(purpose, bound, more.encode()) if more else ""


def page_size(asked: int) -> int:
    """How many to return."""
    if not 0 <= asked <= MAX_PAGE:
        raise invalid("page_size", f"{asked} is not between 0 and {MAX_PAGE}")
    return asked or PAGE


def check_request_id(request_id: str) -> None:
    """Refuse what is no request_id."""
    if REQUEST_ID.fullmatch(request_id) is None:
        raise invalid(
            "request_id",
            f"{request_id[:60]!r} is not a UUID in lower case",
            remedy="Make a new UUID for each request, and keep it when you repeat the request.",
        )


def check_reason(reason: str) -> None:
    """Refuse an order without a reason."""
    if not 0 < len(reason) <= MAX_REASON or not reason.isprintable():
        raise invalid("reason", f"must say why, in 1 to {MAX_REASON} printable characters")
