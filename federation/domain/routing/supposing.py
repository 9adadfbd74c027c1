"""Questions of the form "what if": the regions as they would be. Changes nothing that is real."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from federation.domain.fleet import Member
from intertie.model.pool import NodeClass
from intertie.residency import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """What is supposed: regions that are down, devices that owners take back, another policy."""

    regions_down: frozenset[str] = frozenset()
    reclaims: tuple[tuple[str, int], ...] = ()
    policy: Policy | None = None

    @property
    def touched(self) -> frozenset[str]:
        """Regions that it names."""
        return self.regions_down | {region for region, _ in self.reclaims}

    def is_about(self, region: str) -> bool:
        """Whether a region's own offer would be about another world: it knows the real policy."""
        return self.policy is not None or region in self.touched

    def unknown(self, members: Mapping[str, Member]) -> tuple[str, ...]:
        """Regions that it names and that are no members."""
        return tuple(sorted(self.touched - members.keys()))

    def members(self, real: Mapping[str, Member]) -> dict[str, Member]:
        """The members as they would be."""
        supposed = dict(real)
        for region, devices in self.reclaims:
            member = supposed.get(region)
            if member is not None and member.summary is not None:
                classes = _without(member.summary.classes, devices)
                summary = replace(member.summary, classes=classes)
                supposed[region] = replace(member, summary=summary)
        return supposed


NOTHING = WhatIf()


def _without(classes: tuple[NodeClass, ...], devices: int) -> tuple[NodeClass, ...]:
    """The classes after so many devices were taken: free ones first, the smallest blocks first.

    An owner's scheduler may choose others; what is left in whole blocks is at most this.
    """
    left, changed = devices, []
    assert devices >= 0, "devices are counted"
    for c in classes:
        blocks = dict(c.free_blocks)
        for block in sorted(blocks):
            while left > 0 and blocks[block] > 0 and block > 0:
                taken = min(block, left)
                left -= taken
                blocks[block] -= 1
                if block > taken:
                    blocks[block - taken] = blocks.get(block - taken, 0) + 1
        blocks = {block: nodes for block, nodes in sorted(blocks.items()) if nodes > 0}
        changed.append(replace(c, free_blocks=blocks))
    return tuple(changed)
