"""A bank as a process of its own, for tests that kill it: `bank_process.py STORE_URL FIRST`.

Makes the moves FIRST, FIRST + 1, ... without end, many at a time, and prints the number of each
that was acked. Must print nothing that was not acked.
"""

import asyncio
import sys
from collections.abc import Sequence
from functools import partial

from intertie.clock import SystemClock
from intertie.drive.drive import Logged
from intertie.store.open import open_store
from intertie.store.pump import Pump
from intertie.testing.cores.bank import (
    ACCOUNT,
    DECODERS,
    SHARDS,
    SPACE,
    bank_drive,
    digest_of,
    numbered_move,
)

CALLERS = 16


async def serve(url: str, first: int) -> None:
    def release(effects: Sequence[object], logged: Sequence[Logged]) -> None:
        """Nothing is told to anybody but the callers."""

    pump = Pump(
        bank_drive(max_batch=8),
        open_store(url),
        SystemClock(),
        shards=range(SHARDS),
        decoders={ACCOUNT: DECODERS[ACCOUNT]},
        release=release,
    )
    await pump.start()

    async def call(number: int) -> None:
        while True:
            request = (SPACE, f"m{number}", digest_of(numbered_move(number)))
            await pump.ask(partial(numbered_move, number), request)
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()
            number += CALLERS

    async with asyncio.TaskGroup() as callers:
        for caller in range(CALLERS):
            callers.create_task(call(first + caller))


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
