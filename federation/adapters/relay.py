"""Reading through a link: a question to a region, and the answer that belongs to it.

Answers come by the same stream as everything else, told apart by an id. Must not keep any bytes:
one question has one chunk as its answer.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from intertie.errors import IntertieError, Reason, error
from intertie.model.link import Bytes, FromFederation, ReadBytes

ANSWER_WITHIN_S = 10.0
MAX_OPEN = 2_000


class Relay:
    """See the module's text.

    Args:
        send: queues a message to a region; False if it has no link.
        within_s: how long to wait beyond what the question itself allows.
    """

    def __init__(
        self, send: Callable[[str, FromFederation], bool], within_s: float = ANSWER_WITHIN_S
    ) -> None:
        self._send = send
        self._within_s = within_s
        self._open: dict[int, tuple[str, asyncio.Future[Bytes]]] = {}
        self._count = 0

    async def read(self, region: str, question: ReadBytes) -> Bytes:
        """Ask a region and wait for its answer.

        Raises:
            IntertieError: REGION_OUT_OF_TOUCH, RATE_LIMITED, or the region's own error.
        """
        if len(self._open) >= MAX_OPEN:
            raise error(
                Reason.RATE_LIMITED,
                f"{MAX_OPEN} reads wait for regions already.",
                remedy="Read fewer logs at once.",
                retry_after_ms=1_000,
            )
        self._count += 1
        number = self._count
        future: asyncio.Future[Bytes] = asyncio.get_running_loop().create_future()
        self._open[number] = (region, future)
        try:
            if not self._send(region, replace(question, id=number)):
                raise _out_of_touch(region)
            async with asyncio.timeout(self._within_s + question.wait_ms / 1000):
                answer = await future
        except TimeoutError:
            raise _out_of_touch(region) from None
        finally:
            del self._open[number]
        if answer.error:
            raise _told(answer)
        return answer

    def answered(self, region: str, chunk: Bytes) -> None:
        """A region answers; what nobody asked that region, or has given up, is dropped."""
        asked = self._open.get(chunk.id)
        if asked is not None and asked[0] == region and not asked[1].done():
            asked[1].set_result(chunk)


def _out_of_touch(region: str) -> IntertieError:
    return error(
        Reason.REGION_OUT_OF_TOUCH,
        f"{region} cannot be reached now.",
        remedy="Try again when it is back; what it keeps is not lost.",
        metadata={"region": region},
        retry_after_ms=2_000,
    )


def _told(answer: Bytes) -> IntertieError:
    known = answer.error in Reason.__members__
    reason = Reason(answer.error) if known else Reason.INTERNAL
    return error(reason, answer.error_message or answer.error)
