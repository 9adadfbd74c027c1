"""Price lists by region: the federation's own, unless a region has one.

Grants cite the version of the list that was quoted, so that the bill uses the same one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from intertie.billing.prices import PriceList

NO_PRICES = PriceList(version="unpriced", currency="XTS", minor_digits=2, rates={})


@dataclass(frozen=True, slots=True)
class Prices:
    """See the module's text."""

    common: PriceList = NO_PRICES
    by_region: Mapping[str, PriceList] = field(default_factory=dict)

    def of(self, region: str) -> PriceList:
        """The list by which a region's use is priced."""
        assert region, "a price of no region"
        return self.by_region.get(region, self.common)

    @property
    def revision(self) -> str:
        """Changes with every list."""
        lists = (f"{region}={prices.version}" for region, prices in sorted(self.by_region.items()))
        return ",".join((self.common.version, *lists))
