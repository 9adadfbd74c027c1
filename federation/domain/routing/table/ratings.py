"""Columns of what does not depend on the class of a task: how regions keep, how wide their way is.

All candidate sets share them, so that a set of a new class asks for no region by its name.
"""

import numpy as np

from federation.domain.routing.expected.duration import bandwidth_of
from federation.domain.routing.facts import Facts
from federation.domain.routing.known.history import FRESH_MS
from federation.domain.routing.table.columns import Columns
from federation.domain.routing.weights import Floats
from intertie.model.spec import Kind


class Ratings:
    """See the module's text."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._success: dict[Kind, tuple[Floats, int, int]] = {}
        self._bandwidth: Floats = np.zeros(0)
        self._of_latencies: object = None

    def of(self, kind: Kind, facts: Facts) -> Floats:
        """S of every region for a kind of work; a region that learned is in the journal."""
        columns, now_ms = self._columns, facts.now.utc_ms
        assert now_ms >= 0, "an instant in UTC"
        known, position, since_ms = self._success.get(kind, (np.zeros(0), -1, 0))
        changed = columns.since(position) if now_ms - since_ms < FRESH_MS else None
        if changed == []:
            return known
        if changed is None or len(known) < len(columns):
            changed, since_ms = list(range(len(columns))), now_ms
            known = np.zeros(len(columns))
        for row in changed:
            known[row], _ = facts.history.success(columns.regions[row], kind, now_ms)
        self._success[kind] = known, columns.position, since_ms
        return known

    def bandwidths(self, facts: Facts) -> Floats:
        """Bytes a second towards every region."""
        revision = facts.latencies.revision
        count = len(self._columns)
        if self._of_latencies != revision or len(self._bandwidth) != count:
            found = [bandwidth_of(region, facts)[0] for region in self._columns.regions]
            self._bandwidth, self._of_latencies = np.array(found), revision
        return self._bandwidth
