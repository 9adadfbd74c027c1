"""What waits to be written into a stream."""

import asyncio

from google.protobuf.wrappers_pb2 import BytesValue

from intertie.errors import Reason
from intertie.transport.outbox import MAX_BATCH_BYTES, Outbox


def _message(size: int = 1) -> BytesValue:
    return BytesValue(value=b"x" * size)


async def test_messages_leave_in_order_and_in_batches() -> None:
    outbox: Outbox[BytesValue] = Outbox(batch=2)
    sent = [_message(n) for n in range(1, 6)]
    for message in sent:
        outbox.put(message)
    outbox.close()
    batches = [batch async for batch in outbox.batches()]
    assert [len(batch) for batch in batches] == [2, 2, 1]
    assert [message for batch in batches for message in batch] == sent


async def test_a_batch_is_bounded_in_bytes() -> None:
    outbox: Outbox[BytesValue] = Outbox()
    for _ in range(4):
        outbox.put(_message(MAX_BATCH_BYTES // 2))
    outbox.close()
    assert [len(batch) async for batch in outbox.batches()] == [2, 2]


async def test_a_full_outbox_closes_with_a_reason_and_drops_what_waits() -> None:
    outbox: Outbox[BytesValue] = Outbox(most=2)
    for _ in range(3):
        outbox.put(_message())
    assert outbox.is_closed
    assert outbox.fault is not None
    assert outbox.fault.reason is Reason.RATE_LIMITED
    assert [batch async for batch in outbox.batches()] == []


async def test_a_reader_waits_for_the_next_message() -> None:
    outbox: Outbox[BytesValue] = Outbox()
    batches = outbox.batches()
    waiting = asyncio.ensure_future(anext(batches))
    await asyncio.sleep(0)
    assert not waiting.done()
    outbox.put(_message())
    assert await waiting == [_message()]


async def test_nothing_is_queued_after_the_end() -> None:
    outbox: Outbox[BytesValue] = Outbox()
    outbox.close()
    outbox.put(_message())
    assert [batch async for batch in outbox.batches()] == []
