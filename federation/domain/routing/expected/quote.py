"""What a task would cost at a region, by its price list: exact, in nanos of the currency.

A quote is an expectation, not a bill: it prices what the task holds while it runs as long as is
expected. The bill prices what it held.
"""

from dataclasses import dataclass

from intertie.billing.prices import PriceList
from intertie.model.money import Money
from intertie.model.pool import Shape

HOUR_MS = 3_600_000
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Quote:
    """Price of an hour and of the whole, None where nothing has a price."""

    per_hour: Money | None
    total: Money | None

    @property
    def nanos(self) -> int:
        """The whole, comparable within one currency; 0 without a price."""
        return self.total.total_nanos if self.total is not None else 0


NO_QUOTE = Quote(None, None)


def quote(shape: Shape, prices: PriceList, run_ms: float) -> Quote:
    """Price a shape that is held for so long."""
    assert run_ms >= 0, "nothing is held for less than no time"
    if not prices.rates:
        return NO_QUOTE
    parts = (
        ("cpu.held_core_ms", shape.cpu, 1000),
        ("mem.held_mib_ms", shape.memory, _GIB),
        ("accelerator.held_device_ms", shape.devices, 1),
    )
    rates = prices.rates
    nanos = sum(
        rates[meter].total_nanos * amount // per for meter, amount, per in parts if meter in rates
    )
    total = nanos * int(run_ms) // HOUR_MS
    return Quote(Money.of_nanos(prices.currency, nanos), Money.of_nanos(prices.currency, total))
