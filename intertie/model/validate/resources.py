"""Checks of resources and variants: ranges, and variants that could never be chosen."""

import re
from collections.abc import Sequence

from intertie.model.requires import requirement_fault
from intertie.model.spec import Accelerators, Resources, TaskSpec, Variant, When
from intertie.model.validate import limits
from intertie.model.validate.violations import Violations

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._/-]{0,62}")
_SOFTWARE = re.compile(r"[a-z][a-z0-9_.-]{0,62}( ?(>=|<=|==|>|<) ?[0-9][0-9A-Za-z.+-]{0,31})?")


def check_resources(spec: TaskSpec, found: Violations) -> None:
    """Check `resources`, `requires` and `run.variants`."""
    _resources("resources", spec.resources, found)
    _requires(spec.requires, found)
    variants = spec.run.variants
    if len(variants) > limits.MAX_VARIANTS:
        found.too_large("run.variants", f"{len(variants)}; the limit is {limits.MAX_VARIANTS}")
        return
    for i, variant in enumerate(variants):
        field = f"run.variants[{i}]"
        if variant.resources is not None:
            _resources(f"{field}.resources", variant.resources, found)
        _when(f"{field}.when", variant.when, found)
        _applies(field, variant, variant.resources or spec.resources, found)
        for j, earlier in enumerate(variants[:i]):
            if _hides(earlier, variant):
                found.contradiction(
                    field, f"can never be chosen: run.variants[{j}] applies wherever it does"
                )
                break


def _resources(field: str, resources: Resources, found: Violations) -> None:
    if not limits.MIN_CPU <= resources.cpu <= limits.MAX_CPU:
        found.add(f"{field}.cpu", f"{resources.cpu / 1000:g} is not between 0.01 and 10000 cores")
    for name, value in (("memory", resources.memory), ("disk", resources.disk)):
        if not limits.MIN_BYTES <= value <= limits.MAX_BYTES:
            found.add(
                f"{field}.{name}",
                f"{value} bytes is not between 1 MiB and 1 PiB",
                remedy="Sizes have units, for example 512MiB.",
            )
    _words(f"{field}.architecture", resources.architecture, found)
    _accelerators(f"{field}.accelerators", resources.accelerators, found)


def _requires(requires: Sequence[str], found: Violations) -> None:
    if len(requires) > limits.MAX_LIST:
        found.too_large("requires", f"{len(requires)} entries; the limit is {limits.MAX_LIST}")
        return
    for i, text in enumerate(requires):
        if fault := requirement_fault(text):
            found.add(f"requires[{i}]", fault, remedy="docs/tags.md lists them.")


def _accelerators(field: str, wanted: Accelerators, found: Violations) -> None:
    if not 0 <= wanted.count <= limits.MAX_DEVICES:
        found.add(f"{field}.count", f"{wanted.count} is not between 0 and {limits.MAX_DEVICES}")
    if not 0 <= wanted.memory <= limits.MAX_BYTES:
        found.add(f"{field}.memory", f"{wanted.memory} bytes is not between 0 and 1 PiB")
    _words(f"{field}.model", wanted.model, found)
    _words(f"{field}.vendor", wanted.vendor, found)
    if wanted.count == 0:
        for name in ("memory", "model", "vendor"):
            if getattr(wanted, name):
                found.contradiction(f"{field}.{name}", f"is given, but {field}.count is 0")


def _when(field: str, when: When, found: Violations) -> None:
    _words(f"{field}.vendor", when.vendor, found)
    _words(f"{field}.architecture", when.architecture, found)
    for i, condition in enumerate(when.software):
        if not _SOFTWARE.fullmatch(condition):
            found.add(
                f"{field}.software[{i}]", f"{condition[:80]!r} is not like cuda or cuda>=12.4"
            )


def _applies(field: str, variant: Variant, resources: Resources, found: Violations) -> None:
    pairs = (
        ("vendor", variant.when.vendor, resources.accelerators.vendor),
        ("architecture", variant.when.architecture, resources.architecture),
    )
    for name, when, wanted in pairs:
        if when and wanted and not set(when) & set(wanted):
            found.contradiction(
                f"{field}.when.{name}",
                f"{', '.join(when)} excludes what its resources ask for, {', '.join(wanted)}",
            )
    if variant.when.vendor and resources.accelerators.count == 0:
        found.contradiction(
            f"{field}.when.vendor", "is given, but the variant asks for no accelerators"
        )


def _hides(earlier: Variant, later: Variant) -> bool:
    """Whether the earlier variant applies, on equal resources, wherever the later one does."""
    if earlier.resources != later.resources:
        return False
    one, other = earlier.when, later.when
    return (
        _wider(one.vendor, other.vendor)
        and _wider(one.architecture, other.architecture)
        and set(one.software) <= set(other.software)
    )


def _wider(one: Sequence[str], other: Sequence[str]) -> bool:
    return not one or (bool(other) and set(other) <= set(one))


def _words(field: str, words: Sequence[str], found: Violations) -> None:
    if len(words) > limits.MAX_LIST:
        found.too_large(field, f"{len(words)} entries; the limit is {limits.MAX_LIST}")
        return
    for i, word in enumerate(words):
        if not _WORD.fullmatch(word):
            found.add(f"{field}[{i}]", f"{word[:80]!r} is no name (letters, digits, ._/-)")
