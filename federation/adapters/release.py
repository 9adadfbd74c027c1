"""Lets the core's outward effects go, in their order, after their commit.

All assignments of one release are signed together, each stays in its place. Must not decide.
"""

from collections.abc import Callable, Sequence

from federation.adapters.assign import SpecForms, assign_all
from federation.domain.events import ReadGrant, Send, SendAssignment
from federation.domain.states import HangUp
from intertie.metering.dsse import StatementSigner
from intertie.model.link import FromFederation

SendTo = Callable[[str, FromFederation, int], bool]
"""Queues a message to a region by the link of this number; False if that link stands no more. What
is lost is repaired by digests.
"""


class Release:
    """See the module's text.

    Args:
        send: takes the messages.
        read_grant: begins to read a stored grant, and returns at once.
        signer: signs grants.
        specs: the bytes of specs.
        hang_up: ends the link of a region that may not be here any more.
    """

    def __init__(
        self,
        send: SendTo,
        read_grant: Callable[[ReadGrant], None],
        signer: StatementSigner,
        specs: SpecForms,
        hang_up: Callable[[HangUp], None],
    ) -> None:
        self._send = send
        self._read_grant = read_grant
        self._signer = signer
        self._specs = specs
        self._hang_up = hang_up

    def __call__(self, effects: Sequence[object]) -> None:
        """Send what there is to send."""
        assignments = [effect for effect in effects if isinstance(effect, SendAssignment)]
        signed = iter(assign_all(assignments, self._signer, self._specs))
        for effect in effects:
            match effect:
                case Send():
                    self._send(effect.region, effect.message, effect.link)
                case SendAssignment():
                    self._send(effect.task.region, next(signed), effect.link)
                case ReadGrant():
                    self._read_grant(effect)
                case HangUp():
                    self._hang_up(effect)
                case _:
                    raise AssertionError(f"unknown effect {type(effect).__name__}")
