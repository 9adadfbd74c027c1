"""Services that are told to stop do so at once when they have nothing to do."""

from typing import Any

import pytest

from intertie.clock import SystemClock

AT_ONCE_NS = 1_500_000_000
"""Each takes some hundredths of a second; a busy machine may take more."""


@pytest.mark.parametrize("name", ["agent-1", "region", "federation"])
async def test_an_idle_service_ends_at_once_when_told_to(
    person: Any, cluster: Any, name: str
) -> None:
    clock = SystemClock()
    begun = clock.now().boot_ns
    cluster.processes.stop(name)
    assert clock.now().boot_ns - begun < AT_ONCE_NS
