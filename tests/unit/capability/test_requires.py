"""Requirements on tags: what may be written, and when it holds."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.model.requires import Requirement, requirement, requirement_fault
from intertie.model.tags import TAGS, Choice, Flag, Level, Number

NODE = {
    "interconnect": "nvlink",
    "deployment": "bare_metal",
    "long_run": "true",
    "high_concurrency": "false",
    "device_bf16": "989",
    "device_architecture": "hopper",
}


@pytest.mark.parametrize(
    "text",
    [
        "long_run",
        "long_run=true",
        "long_run == true",
        "high_concurrency != true",
        "interconnect>=nvlink",
        "interconnect >= pcie",
        "interconnect<nvswitch",
        "interconnect==xgmi",  # of the same rank
        "deployment in (bare_metal, vm)",
        "deployment in(bare_metal)",
        "device_bf16>=312.5",
        "device_architecture==hopper",
    ],
)
def test_a_requirement_that_the_node_meets_holds(text: str) -> None:
    assert requirement_fault(text) == ""
    assert requirement(text).holds(NODE)


@pytest.mark.parametrize(
    "text",
    [
        "high_concurrency",
        "interconnect>=nvswitch",
        "deployment in (vm, container)",
        "device_bf16>989",
        "device_architecture!=hopper",
        "sovereign",  # nobody said so
        "sovereign!=true",  # what is not known holds for nothing
    ],
)
def test_a_requirement_that_the_node_does_not_meet_does_not_hold(text: str) -> None:
    assert requirement_fault(text) == ""
    assert not requirement(text).holds(NODE)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("interconect>=nvlink", "there is no tag interconect; the nearest is interconnect"),
        ("interconnect>=nvlnk", "the nearest is nvlink"),
        ("deployment>=vm", "deployment has no order: use ==, != or in"),
        ("long_run>true", "long_run has no order"),
        ("long_run==yes", "long_run is one of true, false, not yes"),
        ("device_bf16>=fast", "device_bf16 is a number of TFLOPS: write device_bf16>=100"),
        ("device_bf16>=1e9", "device_bf16 is a number"),
        ("interconnect>=", "is no requirement"),
        ("", "is no requirement"),
        ("interconnect>=nvlink long_run", "is no requirement"),
        ("deployment in ()", "is no requirement"),
        ("__import__('os')", "is no requirement"),
    ],
)
def test_a_fault_of_a_requirement_says_what_to_write(text: str, fault: str) -> None:
    assert fault in requirement_fault(text)
    with pytest.raises(ValueError, match=re.escape(fault)):
        requirement(text)


WORDS = {
    name: tag.type.words if isinstance(tag.type, Choice | Level) else ("true", "false")
    for name, tag in TAGS.items()
    if isinstance(tag.type, Choice | Level | Flag)
}


@st.composite
def comparisons(draw: st.DrawFn) -> tuple[str, str, str]:
    name = draw(st.sampled_from(sorted(WORDS)))
    return name, draw(st.sampled_from(WORDS[name])), draw(st.sampled_from(WORDS[name]))


@given(comparisons())
def test_equal_and_unequal_are_opposites_wherever_the_value_is_known(
    case: tuple[str, str, str],
) -> None:
    name, have, need = case
    equal = requirement(f"{name}=={need}").holds({name: have})
    assert requirement(f"{name}!={need}").holds({name: have}) is not equal


@given(comparisons())
def test_an_order_agrees_with_itself(case: tuple[str, str, str]) -> None:
    name, have, need = case
    if isinstance(TAGS[name].type, Level):
        at_least = requirement(f"{name}>={need}").holds({name: have})
        assert requirement(f"{name}<{need}").holds({name: have}) is not at_least
        assert requirement(f"{name}>{need}").holds({name: have}) <= at_least


@given(st.text(max_size=40))
def test_no_text_at_all_breaks_the_reader(text: str) -> None:
    if not requirement_fault(text):
        assert isinstance(requirement(text), Requirement)
        assert requirement_fault(str(requirement(text))) == ""


def test_a_value_of_an_unknown_kind_on_a_node_holds_nothing() -> None:
    assert not requirement("interconnect>=pcie").holds({"interconnect": "telepathy"})
    assert not requirement("device_bf16>=1").holds({"device_bf16": "many"})


def test_every_tag_says_what_it_means() -> None:
    for name, tag in TAGS.items():
        assert tag.text.endswith("."), name
        if isinstance(tag.type, Number):
            assert tag.type.unit, name
