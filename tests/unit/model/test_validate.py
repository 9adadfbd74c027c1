"""What `validate` refuses: ranges, contradictions and fields not served yet, all at once."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.errors import CallerError, Reason
from intertie.model.money import Money
from intertie.model.spec import (
    Accelerators,
    Budget,
    CheckpointSpec,
    DataItem,
    Estimate,
    FileRef,
    Gang,
    Isolation,
    Kind,
    OutputSpec,
    Placement,
    Residency,
    Resources,
    RunSpec,
    TaskSpec,
    Tolerance,
    TransferBasis,
    Variant,
    When,
)
from intertie.model.states import OnDisconnect
from intertie.model.validate import validate
from intertie.model.validate.unserved import UNSERVED
from intertie.model.validate.violations import MAX_REPORTED

SHA = "a" * 64
RUN = RunSpec(command=("python", "train.py"))
SPEC = TaskSpec(run=RUN)


def spec(**changes: Any) -> TaskSpec:
    return replace(SPEC, **changes)


def running(**changes: Any) -> TaskSpec:
    return spec(run=replace(RUN, **changes))


def needing(**changes: Any) -> TaskSpec:
    return spec(resources=replace(Resources(), **changes))


def faults(wrong: TaskSpec, *, packed: bool = True) -> Mapping[str, str]:
    with pytest.raises(CallerError) as caught:
        validate(wrong, packed=packed)
    return {violation.field: violation.description for violation in caught.value.fields}


def files(*paths: str) -> tuple[FileRef, ...]:
    return tuple(FileRef(path=path, sha256=SHA, size=1) for path in paths)


def test_a_plain_spec_is_valid() -> None:
    validate(SPEC)


def test_a_full_spec_of_this_version_is_valid() -> None:
    validate(
        TaskSpec(
            name="digits training",
            project="vision",
            labels={"team": "a b", "cost.center": "7"},
            array=100_000,
            kind=Kind.TRAINING,
            run=RunSpec(
                command=("make test",),
                shell=True,
                files=files("a/b.py", "a/c.py", "ü"),
                env={"OMP_NUM_THREADS": "1", "_x": ""},
                timeout=300_000,
                variants=(
                    Variant(when=When(vendor=("nvidia",), software=("cuda>=12.4",))),
                    Variant(when=When(vendor=("huawei",), software=("cann >= 8",))),
                    Variant(when=When(), resources=Resources()),
                ),
            ),
            resources=Resources(
                cpu=500, architecture=("x86_64",), accelerators=Accelerators(count=8, memory=1)
            ),
            gang=Gang(nodes=1),
            placement=Placement(only=("eu", "cn-1"), prefer=("eu",), never=("us",)),
            checkpoint=CheckpointSpec(interval=1000, write_time=10, size=5),
            outputs=(OutputSpec(path="model.npz"), OutputSpec(path="logs/x")),
            residency=Residency(within=("CN", "DE/DE-HE/fra1"), not_within=("CN/CN-SH",)),
            tolerance=Tolerance(on_disconnect=OnDisconnect.MOVE, move_after=0, max_attempts=100),
            estimate=Estimate(duration=60_000, on="A100"),
        )
    )


def test_all_violations_are_told_at_once() -> None:
    wrong = spec(array=-1, resources=Resources(cpu=0, memory=-1), name="\n")
    assert set(faults(wrong)) == {"array", "resources.cpu", "resources.memory", "name"}


@pytest.mark.parametrize(
    ("wrong", "field", "text"),
    [
        (spec(name="x" * 64), "name", "no display name"),
        (spec(project="Vision"), "project", "no project"),
        (spec(array=100_001), "array", "100001"),
        (spec(labels={"Team": "a"}), "labels", "'Team' is no label"),
        (spec(labels={"a": "\n"}), "labels.a", "control characters"),
        (spec(labels={"a": "\ud800"}), "labels.a", "control characters"),
        (spec(tolerance=Tolerance(max_attempts=0)), "tolerance.max_attempts", "between 1"),
        (spec(tolerance=Tolerance(max_attempts=101)), "tolerance.max_attempts", "between 1"),
        (spec(tolerance=Tolerance(move_after=-1)), "tolerance.move_after", "negative"),
        (spec(checkpoint=CheckpointSpec(interval=-1)), "checkpoint.interval", "negative"),
        (spec(checkpoint=CheckpointSpec(size=-1)), "checkpoint.size", "between 0"),
        (spec(estimate=Estimate(duration=-1)), "estimate.duration", "negative"),
        (spec(estimate=Estimate(on="\0")), "estimate.on", "NUL"),
        (needing(cpu=0), "resources.cpu", "0 is not between 0.01"),
        (needing(cpu=-1000), "resources.cpu", "-1 is not between"),
        (needing(cpu=2**40), "resources.cpu", "not between"),
        (needing(memory=512), "resources.memory", "512 bytes is not between 1 MiB"),
        (needing(disk=0), "resources.disk", "0 bytes"),
        (needing(architecture=("",)), "resources.architecture[0]", "no name"),
        (needing(accelerators=Accelerators(count=-1)), "resources.accelerators.count", "-1"),
        (needing(accelerators=Accelerators(count=9999)), "resources.accelerators.count", "9999"),
        (
            needing(accelerators=Accelerators(count=1, memory=-1)),
            "resources.accelerators.memory",
            "-1 bytes",
        ),
        (running(command=()), "run", "needs one of command"),
        (running(command=("",)), "run.command[0]", "empty"),
        (running(command=("a", "b\0")), "run.command[1]", "NUL"),
        (running(command=("a", "\ud800")), "run.command[1]", "surrogate"),
        (running(timeout=-1), "run.timeout", "negative"),
        (running(timeout=10**12), "run.timeout", "over 366 days"),
        (running(env={"1A": "x"}), "run.env", "no name of a variable"),
        (running(env={"A=B": "x"}), "run.env", "no name of a variable"),
        (running(env={"INTERTIE_RUN": "9"}), "run.env.INTERTIE_RUN", "set by the agent"),
        (running(env={"A": "\0"}), "run.env.A", "NUL"),
        (running(workdir="."), "run.workdir", "packed"),
        (running(files=files("/etc/x")), "run.files[0].path", "relative"),
        (running(files=files("a/../../b")), "run.files[0].path", "'..'"),
        (running(files=files("a//b")), "run.files[0].path", "empty parts"),
        (running(files=files("")), "run.files[0].path", "empty"),
        (running(files=files("a\0")), "run.files[0].path", "NUL"),
        (running(files=files("x" * 256)), "run.files[0].path", "255"),
        (running(files=files("x/" * 600 + "x")), "run.files[0].path", "1024"),
        (running(files=(FileRef(path="a"),)), "run.files[0].sha256", "64 lower-case"),
        (running(files=(FileRef(path="a", sha256=SHA, size=-1),)), "run.files[0].size", "-1"),
        (
            running(files=(FileRef(path="a", sha256=SHA, mode=0o4755),)),
            "run.files[0].mode",
            "0o4755",
        ),
        (spec(outputs=(OutputSpec(),)), "outputs[0].path", "empty"),
        (spec(outputs=(OutputSpec(path="../x"),)), "outputs[0].path", "'..'"),
        (spec(residency=Residency(within=("E E",))), "residency.within[0]", "country"),
        (spec(residency=Residency(within=("XX/a",))), "residency.within[0]", "country XX"),
        (spec(residency=Residency(data_class="a b")), "residency.data_class", "no name"),
        (
            spec(residency=Residency(transfer_basis=TransferBasis(basis="scc", expires="x"))),
            "residency.transfer_basis.expires",
            "no day",
        ),
        (spec(residency=Residency(not_within=("DE/DE-XX",))), "residency.not_within[0]", "DE-XX"),
        (spec(placement=Placement(only=("EU West",))), "placement.only[0]", "id of a region"),
        (
            running(variants=(Variant(when=When(software=("cuda=12",))),)),
            "run.variants[0].when.software[0]",
            "not like cuda",
        ),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(wrong: TaskSpec, field: str, text: str) -> None:
    found = faults(wrong)
    assert list(found) == [field]
    assert text in found[field]


@pytest.mark.parametrize(
    ("wrong", "field", "text"),
    [
        (running(shell=True), "run.command", "has 2 strings"),
        (
            spec(residency=Residency(within=("CN/CN-JS",), not_within=("CN",))),
            "residency.within[0]",
            "lies in CN",
        ),
        (
            spec(placement=Placement(only=("eu",), never=("eu",))),
            "placement.only",
            "placement.never",
        ),
        (
            spec(placement=Placement(prefer=("us",), only=("eu",))),
            "placement.prefer",
            "not in placement.only",
        ),
        (
            spec(checkpoint=CheckpointSpec(interval=10, write_time=10)),
            "checkpoint.write_time",
            "only write checkpoints",
        ),
        (
            needing(accelerators=Accelerators(model=("A100",))),
            "resources.accelerators.model",
            "count is 0",
        ),
        (running(files=files("a", "a")), "run.files[1].path", "given twice"),
        (running(files=files("a", "a/b/c")), "run.files[1].path", "lies below 'a'"),
        (
            spec(outputs=(OutputSpec(path="a"), OutputSpec(path="a"))),
            "outputs[1].path",
            "given twice",
        ),
        (
            spec(
                run=replace(RUN, files=(FileRef(path="a", sha256=SHA, size=2 << 20),)),
                resources=Resources(disk=1 << 20),
            ),
            "resources.disk",
            "more than the 1048576",
        ),
        (
            running(variants=(Variant(when=When()), Variant(when=When(architecture=("arm64",))))),
            "run.variants[1]",
            "can never be chosen",
        ),
        (
            running(variants=(Variant(when=When(vendor=("nvidia",))),)),
            "run.variants[0].when.vendor",
            "no accelerators",
        ),
        (
            spec(
                run=replace(RUN, variants=(Variant(when=When(architecture=("arm64",))),)),
                resources=Resources(architecture=("x86_64",)),
            ),
            "run.variants[0].when.architecture",
            "excludes",
        ),
    ],
)
def test_fields_that_exclude_each_other_are_a_contradiction(
    wrong: TaskSpec, field: str, text: str
) -> None:
    with pytest.raises(CallerError) as caught:
        validate(wrong)
    assert caught.value.reason is Reason.SPEC_CONTRADICTION
    (violation,) = caught.value.fields
    assert violation.field == field
    assert text in violation.description


def test_variants_in_order_of_preference_may_apply_to_the_same_nodes() -> None:
    big = Resources(accelerators=Accelerators(count=8))
    small = Resources(accelerators=Accelerators(count=1))
    when = When(vendor=("nvidia",))
    validate(
        running(variants=(Variant(when=when, resources=big), Variant(when=when, resources=small)))
    )


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (running(command=("x" * 200_000,)), "run.command"),
        (running(command=("ü" * 65_536,)), "run.command"),
        (running(env={"A": "x" * 10_000_000}), "run.env.A"),
        (running(env={f"A{i}": "x" * 100_000 for i in range(3)}), "run.env"),
        (running(files=files(*map(str, range(10_001)))), "run.files"),
        (spec(outputs=(OutputSpec(path="x"),) * 1001), "outputs"),
        (spec(labels={f"a{i}": "" for i in range(65)}), "labels"),
        (spec(labels={"a": "x" * 257}), "labels.a"),
        (spec(residency=Residency(within=("CN",) * 101)), "residency.within"),
        (spec(placement=Placement(prefer=("eu",) * 101)), "placement.prefer"),
        (needing(architecture=("x",) * 101), "resources.architecture"),
        (running(variants=(Variant(when=When()),) * 33), "run.variants"),
    ],
)
def test_what_is_over_a_limit_is_too_large(wrong: TaskSpec, field: str) -> None:
    with pytest.raises(CallerError) as caught:
        validate(wrong)
    assert caught.value.reason is Reason.TOO_LARGE
    assert field in {violation.field for violation in caught.value.fields}
    assert len(str(caught.value)) < 1000


def test_the_largest_command_and_environment_are_just_allowed() -> None:
    validate(running(command=("x" * (128 * 1024 - 1),)))
    validate(running(env={"A": "x" * (128 * 1024 - 3), "B": "x" * (128 * 1024 - 3)}))


NOT_SERVED: Mapping[str, TaskSpec] = {
    "kind": spec(kind=Kind.SERVICE),
    "run.image": running(image="docker.io/x", command=()),
    "run.function": running(function=SHA, command=()),
    "run.variants.image": running(variants=(Variant(when=When(), image="x"),)),
    "resources.shm": needing(shm=1),
    "resources.accelerators.fraction": needing(accelerators=Accelerators(count=1, fraction=500)),
    "resources.accelerators.isolation": needing(
        accelerators=Accelerators(count=1, isolation=Isolation.HW)
    ),
    "run.variants.resources": running(variants=(Variant(when=When(), resources=Resources(shm=1)),)),
    "gang": spec(gang=Gang(nodes=2)),
    "data": spec(data=(DataItem(name="x", uri="s3://x"),)),
    "model_weights": spec(model_weights=(DataItem(name="x"),)),
    "checkpoint.uri": spec(checkpoint=CheckpointSpec(uri="s3://x")),
    "outputs.uri": spec(outputs=(OutputSpec(uri="s3://x"),)),
    "tolerance.on_disconnect": spec(tolerance=Tolerance(on_disconnect=OnDisconnect.DUPLICATE)),
    "tolerance.deadline": spec(tolerance=Tolerance(deadline=5)),
}


def test_every_field_that_is_not_served_has_a_test() -> None:
    assert set(NOT_SERVED) == set(UNSERVED)


def test_requirements_are_checked_against_the_vocabulary_of_tags() -> None:
    found = faults(spec(requires=("long_run", "interconnect>=nvlnk", "fast")))
    assert found.keys() == {"requires[1]", "requires[2]"}
    assert "the nearest is nvlink" in found["requires[1]"]


@pytest.mark.parametrize("field", NOT_SERVED)
def test_a_field_that_is_not_served_is_refused_by_name_with_a_remedy(field: str) -> None:
    found = faults(NOT_SERVED[field])
    assert list(found) == [field]
    assert found[field].startswith("is not served by this version. ")
    assert found[field].endswith(".")


@pytest.mark.parametrize("gang", [Gang(nodes=0), Gang(nodes=-1), Gang(rdma=True)])
def test_a_gang_of_anything_but_one_node_is_not_served(gang: Gang) -> None:
    assert "gang" in faults(spec(gang=gang))


def test_a_function_excludes_a_command_and_an_image() -> None:
    assert "run.function" in faults(running(function=SHA))
    assert "run.function" in faults(running(function=SHA, command=(), image="x"))


def test_each_variant_needs_a_command_where_the_run_has_none() -> None:
    variants = (Variant(when=When(), command=("a",)), Variant(when=When(), resources=Resources()))
    assert "run.variants[1]" in faults(running(command=(), variants=variants))


def test_before_packing_the_folder_and_files_without_digests_are_fine() -> None:
    validate(running(workdir=".", files=(FileRef(path="a"),)), packed=False)


def test_a_hundred_violations_are_counted_and_not_all_listed() -> None:
    wrong = running(files=files(*(f"/{i}" for i in range(200))))
    with pytest.raises(CallerError) as caught:
        validate(wrong)
    assert len(caught.value.fields) == MAX_REPORTED
    assert "and 195 more" in caught.value.message


@given(
    st.builds(
        TaskSpec,
        run=st.builds(
            RunSpec,
            command=st.lists(st.text(), max_size=3).map(tuple),
            env=st.dictionaries(st.text(), st.text(), max_size=2),
            files=st.lists(st.builds(FileRef, path=st.text()), max_size=3).map(tuple),
        ),
        labels=st.dictionaries(st.text(), st.text(), max_size=2),
        residency=st.builds(Residency, within=st.lists(st.text(), max_size=2).map(tuple)),
        array=st.integers(),
        resources=st.builds(Resources, cpu=st.integers(), memory=st.integers()),
    )
)
def test_any_spec_is_valid_or_refused_with_fields_and_nothing_else(wild: TaskSpec) -> None:
    with suppress(CallerError):
        validate(wild)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (spec(budget=Budget(total=Money("EUR", -1))), "budget.total"),
        (
            spec(budget=Budget(total=Money("EUR", 1), per_hour=Money("CNY", 1))),
            "budget.per_hour",
        ),
        (spec(placement=Placement(spill_after=1)), "placement.spill_after"),
        (spec(placement=Placement(prefer=("eu",), spill_after=-1)), "placement.spill_after"),
    ],
)
def test_budgets_and_spilling_that_make_no_sense_are_refused(given: TaskSpec, field: str) -> None:
    with pytest.raises(CallerError) as caught:
        validate(given)
    assert field in {violation.field for violation in caught.value.fields}
