"""Shapes of demand per variant, and what a kind of task implies."""

from dataclasses import replace

from intertie.model.pool import Shape
from intertie.model.spec import (
    Accelerators,
    CheckpointSpec,
    Kind,
    Resources,
    RunSpec,
    TaskSpec,
    Variant,
    When,
)
from intertie.model.validate import shape, shapes, with_defaults
from intertie.model.validate.defaults import CHECKPOINT_INTERVAL_MS

RESOURCES = Resources(
    cpu=4000,
    memory=1 << 30,
    disk=1 << 31,
    architecture=("x86_64", "arm64"),
    accelerators=Accelerators(count=2, memory=5, model=("A100",), vendor=("nvidia", "amd")),
)
SPEC = TaskSpec(run=RunSpec(command=("a",)), resources=RESOURCES)


def test_the_shape_of_a_spec_is_what_it_takes_from_one_node() -> None:
    assert shapes(SPEC) == (
        Shape(
            cpu=4000,
            memory=1 << 30,
            disk=1 << 31,
            devices=2,
            device_memory=5,
            device_models=("A100",),
            device_vendors=("nvidia", "amd"),
            architectures=("x86_64", "arm64"),
        ),
    )


def test_with_variants_there_is_a_shape_for_each_in_their_order_and_none_for_the_base() -> None:
    small = Resources(cpu=500)
    variants = (
        Variant(when=When(vendor=("amd",), software=("rocm>=6",))),
        Variant(when=When(), resources=small),
    )
    spec = replace(SPEC, run=replace(SPEC.run, variants=variants))
    first, second = shapes(spec)
    assert first == replace(shape(spec), device_vendors=("amd",), software=("rocm>=6",))
    assert second == shape(TaskSpec(run=SPEC.run, resources=small))
    assert (first, second) == (shape(spec, 0), shape(spec, 1))


def test_conditions_of_a_variant_narrow_what_its_resources_allow() -> None:
    variant = Variant(when=When(architecture=("arm64",)))
    spec = replace(SPEC, run=replace(SPEC.run, variants=(variant,)))
    assert shapes(spec)[0].architectures == ("arm64",)
    anywhere = replace(spec, resources=replace(RESOURCES, architecture=()))
    assert shapes(anywhere)[0].architectures == ("arm64",)


def test_training_saves_its_state_every_ten_minutes_unless_it_says_otherwise() -> None:
    every = CheckpointSpec(interval=CHECKPOINT_INTERVAL_MS)
    assert with_defaults(replace(SPEC, kind=Kind.TRAINING)).checkpoint == every
    assert with_defaults(replace(SPEC, kind=Kind.FINE_TUNING)).checkpoint == every
    own = CheckpointSpec(interval=1000)
    assert with_defaults(replace(SPEC, kind=Kind.TRAINING, checkpoint=own)).checkpoint == own


def test_a_checkpoint_block_without_an_interval_gets_one_for_every_kind() -> None:
    block = CheckpointSpec(size=5)
    filled = with_defaults(replace(SPEC, checkpoint=block)).checkpoint
    assert filled == CheckpointSpec(size=5, interval=CHECKPOINT_INTERVAL_MS)


def test_nothing_is_implied_for_other_kinds_and_a_second_time() -> None:
    assert with_defaults(SPEC) is SPEC
    assert with_defaults(replace(SPEC, kind=Kind.BATCH_INFERENCE)).checkpoint is None
    once = with_defaults(replace(SPEC, kind=Kind.TRAINING))
    assert with_defaults(once) is once
