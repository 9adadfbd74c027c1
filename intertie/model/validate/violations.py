"""Violations of one spec, collected so that a person mends all of them at once."""

from intertie.errors import FieldViolation, Reason, error

MAX_REPORTED = 50
_IN_MESSAGE = 5


class Violations:
    """Collects what is wrong, by field path, and raises it as one error.

    The reason is that of all violations if they agree, else INVALID_FIELD.
    """

    __slots__ = ("_fields", "_more", "_reasons", "_remedy")

    def __init__(self) -> None:
        self._fields: list[FieldViolation] = []
        self._reasons: set[Reason] = set()
        self._remedy = ""
        self._more = 0

    def add(
        self, field: str, description: str, reason: Reason = Reason.INVALID_FIELD, remedy: str = ""
    ) -> None:
        """Note one violation; `remedy` of the first one that has one is told."""
        self._reasons.add(reason)
        self._remedy = self._remedy or remedy
        if len(self._fields) < MAX_REPORTED:
            self._fields.append(FieldViolation(field, description))
        else:
            self._more += 1

    def contradiction(self, field: str, description: str) -> None:
        """Note that the field excludes another one."""
        self.add(field, description, Reason.SPEC_CONTRADICTION)

    def too_large(self, field: str, description: str, remedy: str = "") -> None:
        """Note that the field is over a limit."""
        self.add(field, description, Reason.TOO_LARGE, remedy)

    def raise_if_any(self) -> None:
        """Raise all of it as one error."""
        if not self._fields:
            return
        reason = next(iter(self._reasons)) if len(self._reasons) == 1 else Reason.INVALID_FIELD
        told = [f"{v.field}: {v.description}" for v in self._fields[:_IN_MESSAGE]]
        left = len(self._fields) + self._more - len(told)
        if left:
            told.append(f"and {left} more")
        remedy = self._remedy
        raise error(reason, "; ".join(told) + ".", remedy=remedy, fields=self._fields)
