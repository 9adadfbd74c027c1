"""Lets the core's outward effects go, in their order, after their commit.

All assignments of one release are signed together, each stays in its place. Must not decide.
"""

from collections.abc import Callable, Sequence

from federation.adapters.assign import SpecForms, assign_all
from federation.domain.events import Send, SendAssignment
from intertie.metering.dsse import StatementSigner
from intertie.model.link import FromFederation

SendTo = Callable[[str, FromFederation], bool]
"""Queues a message to a region; False if it has no link. What is lost is repaired by digests."""


class Release:
    """See the module's text."""

    def __init__(self, send: SendTo, signer: StatementSigner, specs: SpecForms) -> None:
        self._send = send
        self._signer = signer
        self._specs = specs

    def __call__(self, effects: Sequence[object]) -> None:
        """Send what there is to send."""
        assignments = [effect for effect in effects if isinstance(effect, SendAssignment)]
        signed = iter(assign_all(assignments, self._signer, self._specs))
        for effect in effects:
            match effect:
                case Send():
                    self._send(effect.region, effect.message)
                case SendAssignment():
                    self._send(effect.task.region, next(signed))
                case _:
                    raise AssertionError(f"unknown effect {type(effect).__name__}")
