"""A world of one region, and a plain spec."""

import pytest

from intertie.model.spec import RunSpec, TaskSpec
from intertie.twin.world import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def spec() -> TaskSpec:
    return TaskSpec(run=RunSpec(command=("true",)))
