"""Wraps method handlers in the layers, once, when a service is added.

grpc.aio's own interceptors build a new handler for each call; wrapping at build time costs nothing
per call but the layers themselves. Cancellation passes through untouched, unless it was us who cut
the stream: then it becomes the error that says why.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias

import grpc
import grpc.aio

from intertie.ports import Clock
from intertie.transport.call import Call, Context
from intertie.transport.layers import Layer
from intertie.transport.layers.deadline import default_deadline
from intertie.transport.layers.errors import Faults
from intertie.transport.layers.streams import OpenStreams

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Behaviour = Callable[[object, Context], Any]
Body = Callable[[Call, Behaviour, Any], Awaitable[object]]

_CODES = {code.value[0]: code.name for code in grpc.StatusCode}
_ATTRIBUTES = {
    (False, False): "unary_unary",
    (False, True): "unary_stream",
    (True, False): "stream_unary",
    (True, True): "stream_stream",
}
_MAKERS: dict[tuple[bool, bool], Callable[..., Handler]] = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, False): grpc.stream_unary_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}


class Chain:
    """The layers, outermost first, with what only the chain itself can do.

    Args:
        layers: entered in this order, left in the reverse order.
        faults: turns what handlers raise into a status.
        streams: open streams, which may be cut.
        clock: reads the time once per call.
        default_deadline_s: for unary calls whose client set none.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        faults: Faults,
        streams: OpenStreams,
        clock: Clock,
        default_deadline_s: float,
    ) -> None:
        self._layers = tuple(layers)
        self._faults = faults
        self._streams = streams
        self._clock = clock
        self._default_deadline_s = default_deadline_s

    def wrap(self, method: str, handler: Handler) -> Handler:
        """Return the handler with all layers around it."""
        shape = (handler.request_streaming, handler.response_streaming)
        behaviour: Behaviour = getattr(handler, _ATTRIBUTES[shape])
        body: Body = {
            (False, False): self._unary,
            (True, False): self._upload,
            (False, True): self._responses,
            (True, True): self._exchange,
        }[shape]

        async def handle(request: object, context: Context) -> object:
            call = Call(
                method,
                streaming=shape != (False, False),
                context=context,
                request=None if handler.request_streaming else request,
                arrived=self._clock.now(),
            )
            return await self._run(call, body, behaviour, request)

        return _MAKERS[shape](handle, handler.request_deserializer, handler.response_serializer)

    async def _run(
        self,
        call: Call,
        body: Body,
        behaviour: Behaviour,
        request: object,
    ) -> object:
        entered = 0
        code = "OK"
        try:
            for layer in self._layers:
                layer.enter(call)
                entered += 1
            if call.streaming:
                self._streams.add(call)
            response = await body(call, behaviour, request)
            code = _code_set(call.context)
        except grpc.aio.AbortError:
            code = _code_set(call.context)
            raise
        except asyncio.CancelledError:
            code = "CANCELLED"
            if call.cut is None or call.task is None:
                raise
            call.task.uncancel()
            code = call.cut.entry.code
            await self._faults.abort(call, call.cut)
        except Exception as problem:  # noqa: BLE001 - the last place that can tell the peer
            told = self._faults.told(call, problem, in_handler=entered == len(self._layers))
            code = told.entry.code
            await self._faults.abort(call, told)
        else:
            return response
        finally:
            if call.streaming:
                self._streams.discard(call)
            for layer in reversed(self._layers[:entered]):
                layer.leave(call, code)

    async def _unary(self, call: Call, behaviour: Behaviour, request: object) -> object:
        if call.context.time_remaining() is not None:
            return await behaviour(request, call.context)
        async with default_deadline(self._default_deadline_s):
            return await behaviour(request, call.context)

    async def _upload(
        self, call: Call, behaviour: Behaviour, requests: AsyncIterator[object]
    ) -> object:
        return await behaviour(_Checked(requests, call, self._layers), call.context)

    async def _exchange(
        self, call: Call, behaviour: Behaviour, requests: AsyncIterator[object]
    ) -> None:
        await self._responses(call, behaviour, _Checked(requests, call, self._layers))

    async def _responses(self, call: Call, behaviour: Behaviour, request: object) -> None:
        produced = behaviour(request, call.context)
        if not hasattr(produced, "__aiter__"):
            await produced
            return
        async with aclosing(produced):
            async for response in produced:
                for layer in self._layers:
                    layer.message(call)
                await call.context.write(response)


class _Checked:
    """The requests of a stream, each shown to the layers before the handler gets it."""

    __slots__ = ("_call", "_layers", "_requests")

    def __init__(
        self, requests: AsyncIterator[object], call: Call, layers: Sequence[Layer]
    ) -> None:
        self._requests = aiter(requests)
        self._call = call
        self._layers = layers

    def __aiter__(self) -> "_Checked":
        return self

    async def __anext__(self) -> object:
        request = await anext(self._requests)
        for layer in self._layers:
            layer.message(self._call)
        return request


def _code_set(context: Context) -> str:
    code: Any = context.code()
    return code.name if isinstance(code, grpc.StatusCode) else _CODES.get(code or 0, "UNKNOWN")
