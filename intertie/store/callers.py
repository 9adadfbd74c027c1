"""Who waits for the core: one caller with one question, or one with many asked at once.

A batch of a hundred is one future and one list, not a hundred futures. Must not know the drive.
"""

import asyncio

from intertie.errors import IntertieError


class One:
    """Waits for one answer; an error is raised to it."""

    __slots__ = ("future",)

    def __init__(self) -> None:
        self.future: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    def answer(self, _ticket: int, answer: object) -> None:
        """Tell the answer, unless the caller has gone."""
        if self.future.done():
            return
        if isinstance(answer, IntertieError):
            self.future.set_exception(answer)
        else:
            self.future.set_result(answer)


class Many:
    """Waits for the answers of `count` tickets from `first` on; an error is an answer here."""

    __slots__ = ("_first", "_left", "answers", "future")

    def __init__(self, first: int, count: int) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.answers: list[object] = [None] * count
        self._first = first
        self._left = count

    def answer(self, ticket: int, answer: object) -> None:
        """Note the answer; with the last one the caller goes on, unless it has gone."""
        self.answers[ticket - self._first] = answer
        self._left -= 1
        if self._left == 0 and not self.future.done():
            self.future.set_result(None)
