"""Fixtures of the pki tests: one federation with two regions, and a clock that stands still."""

from pathlib import Path

import pytest

from intertie.clock import SystemClock
from intertie.ports import Now
from intertie.testing.pki import FederationPki, federation_pki


@pytest.fixture
def now() -> Now:
    return SystemClock().now()


@pytest.fixture
def pki(tmp_path: Path) -> FederationPki:
    return federation_pki(tmp_path, regions=["eu", "us"])
