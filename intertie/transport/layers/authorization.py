"""What a caller may do: method x role x relation, decided before the request is validated.

Three questions, in this order. May the role call the method (the table)? Does the caller belong
here (a regional server admits its own region's identities only)? Is the resource named in the
request the caller's own? The answer never tells whether a resource exists.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from intertie.errors import IntertieError, Reason, error
from intertie.pki.identity import Identity
from intertie.pki.spiffe import Role
from intertie.transport.call import Call

OWNED_BY: Mapping[Role, str] = {
    Role.PROJECT: "projects",
    Role.OPERATOR: "regions",
    Role.SCHEDULER: "regions",
}
"""Role -> the collection of which it may touch only its own member, in names of resources."""

_REGIONAL = frozenset({Role.SCHEDULER, Role.OPERATOR, Role.NODE})


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table."""

    method: str
    roles: frozenset[Role]

    def check(self, caller: Identity) -> None:
        """Refuse a role that the row does not name."""
        if caller.role in self.roles:
            return
        if caller.role is Role.ANONYMOUS:
            raise error(
                Reason.UNAUTHENTICATED,
                f"{self.method} needs a client certificate.",
                remedy="Join first (intertie join), or name an identity in your context.",
            )
        allowed = ", ".join(sorted(self.roles))
        raise denied(f"{caller} may not call {self.method}; it is for: {allowed}.")


class AuthorizationLayer:
    """Applies the table.

    Args:
        methods: full method name -> roles.
        home_region: the region whose server this is; None for the federation's.
    """

    def __init__(
        self, methods: Mapping[str, frozenset[Role]], *, home_region: str | None = None
    ) -> None:
        self._rules = {method: Rule(method, roles) for method, roles in methods.items()}
        self._home_region = home_region

    def require_rows(self, methods: Iterable[str]) -> None:
        """Assert that each method has a row: one without is a fault of the build."""
        missing = sorted(method for method in methods if method not in self._rules)
        assert not missing, f"no row in the authorization table for {', '.join(missing)}"

    def enter(self, call: Call) -> None:
        """Refuse what the caller may not do."""
        caller = call.identity
        self._rules[call.method].check(caller)
        if self._home_region is not None and caller.role in _REGIONAL:
            self._check_home(caller)
        if caller.role in OWNED_BY and call.request is not None:
            for field in ("parent", "name"):
                name = getattr(call.request, field, None)
                if isinstance(name, str) and name:
                    check_relation(caller, name)

    def message(self, call: Call) -> None:
        """Messages of a stream are the handler's to judge, by `check_relation`."""

    def leave(self, call: Call, code: str) -> None:
        """Nothing to undo."""

    def _check_home(self, caller: Identity) -> None:
        if caller.region != self._home_region:
            raise denied(f"{caller} does not belong to region {self._home_region}.")


def check_relation(caller: Identity, resource: str) -> None:
    """Refuse a resource name that lies in another project or region than the caller's.

    Names outside the caller's kind of collection (a region, for a project) pass: the table has
    decided about them.
    """
    collection = OWNED_BY.get(caller.role)
    if collection is None or not resource.startswith(f"{collection}/"):
        return
    own = caller.project if caller.role is Role.PROJECT else caller.region
    if resource.split("/", 2)[1] != own:
        raise denied(
            f"{caller} may not touch {resource[:200]}; only {collection}/{own} is its own."
        )


def denied(message: str) -> IntertieError:
    """PERMISSION_DENIED with a remedy."""
    return error(
        Reason.PERMISSION_DENIED,
        message,
        remedy="Use an identity that may, or ask an administrator.",
    )
