"""The client without asyncio: the same methods, run on an event loop in a thread of its own.

    with SyncClient.from_context() as client:
        task = client.create_task(load_spec(path), base=path.parent)

Coroutines return their result, async iterators become iterators. Must not add anything else.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from inspect import isasyncgen, iscoroutine
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from intertie.sdk.client import Client
from intertie.sdk.connection import Endpoint

T = TypeVar("T")

_END = object()


class SyncClient:
    """See the module's text; `Client` documents the methods.

    Args:
        endpoint: where the federation is and who we are.
        make: makes the client on the loop, instead.
        options: as of `Client`.
    """

    def __init__(
        self,
        endpoint: Endpoint | None = None,
        *,
        make: Callable[[], Client] | None = None,
        **options: Any,  # noqa: ANN401 - as of Client
    ) -> None:
        assert (endpoint is None) is not (make is None), "either an endpoint or a client"
        self._start(make or (lambda: Client(cast(Endpoint, endpoint), **options)))

    @classmethod
    def from_context(cls, name: str = "", *, config: Path | None = None, **options: Any) -> Self:  # noqa: ANN401 - as of Client
        """A client of a context of the configuration file."""
        return cls(make=lambda: Client.from_context(name, config=config, **options))

    def _start(self, make: Callable[[], Client]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="intertie-client", daemon=True
        )
        self._thread.start()

        async def made() -> Client:
            return make()

        try:
            self._client = self._run(made())
        except BaseException:
            self._stop()
            raise

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the method of Client, made synchronous
        """A method of `Client`."""
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._client, name)
        if not callable(found):
            return found

        @wraps(found)
        def call(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as of the method
            result = found(*arguments, **options)
            if iscoroutine(result):
                return self._run(result)
            if isasyncgen(result):
                return self._iterate(result)
            return result

        return call

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection and end the thread; idempotent."""
        if self._thread.is_alive():
            self._run(self._client.close())
            self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        waiting = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return waiting.result()
        except BaseException:
            waiting.cancel()
            raise

    def _iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        async def step() -> Any:  # noqa: ANN401 - an item or the end
            return await anext(items, _END)

        async def close() -> None:
            await items.aclose()  # type: ignore[attr-defined]  # every one is a generator

        try:
            while (item := self._run(step())) is not _END:
                yield item
        finally:
            self._run(close())
