"""The software that a variant needs."""

import pytest

from intertie.capability.software import holds

NODE = {"cuda": "12.4", "driver": "550.54.15", "python": "3.11.2", "odd": "unknown"}


@pytest.mark.parametrize(
    "condition",
    ["cuda", "cuda>=12", "cuda >= 12.4", "cuda==12.4.0", "cuda<13", "driver>550.54.9", "odd"],
)
def test_a_condition_that_holds(condition: str) -> None:
    assert holds([condition], NODE)


@pytest.mark.parametrize(
    "condition",
    ["cann", "cuda>=12.5", "cuda==12", "cuda>12.4", "odd>=1", "cuda=>12", "Cuda", "cuda<=11.9"],
)
def test_a_condition_that_does_not_hold(condition: str) -> None:
    assert not holds([condition], NODE)


def test_all_conditions_must_hold() -> None:
    assert holds([], {})
    assert holds(["cuda", "python>=3.11"], NODE)
    assert not holds(["cuda", "python>=3.12"], NODE)
