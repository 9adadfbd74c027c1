"""What a plan supposes, from the wire: at most so much, and each part by its name."""

from federation.domain.routing.supposing import WhatIf
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.errors import invalid
from intertie.residency.reading import decode_policy

MOST = 1_000
"""Regions that one question may name."""


def what_if_from_pb(message: pb.WhatIf) -> WhatIf:
    """Read a supposition. Raises INVALID_FIELD."""
    if len(message.regions_down) + len(message.reclaims) > MOST:
        raise invalid("what_if", f"names more than {MOST} regions")
    for i, reclaim in enumerate(message.reclaims):
        if reclaim.devices <= 0:
            raise invalid(f"what_if.reclaims[{i}].devices", "must be above 0")
    return WhatIf(
        regions_down=frozenset(message.regions_down),
        policy=decode_policy(message.policy) if message.policy else None,
        reclaims=tuple((reclaim.region, reclaim.devices) for reclaim in message.reclaims),
    )
