"""Checks of what a task is called, how often it is tried, and when it saves its state."""

import re

from intertie.model.names import DISPLAY_NAME, LABEL_KEY, PROJECT
from intertie.model.spec import TaskSpec, Tolerance
from intertie.model.texts import text_fault
from intertie.model.validate import limits
from intertie.model.validate.violations import Violations

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def check_task(spec: TaskSpec, found: Violations) -> None:
    """Check all fields outside of `run`, `resources` and places."""
    if spec.name and not DISPLAY_NAME.fullmatch(spec.name):
        found.add(
            "name",
            f"{spec.name[:80]!r} is no display name: up to 63 letters, digits, spaces and _.-,"
            " a letter or digit first",
        )
    if spec.project and not PROJECT.fullmatch(spec.project):
        found.add("project", f"{spec.project[:80]!r} is no project: a-z, 0-9, -, a letter first")
    if not 0 <= spec.array <= limits.MAX_ARRAY:
        found.add("array", f"{spec.array} is not between 0 (no array) and {limits.MAX_ARRAY}")
    _labels(spec, found)
    _tolerance(spec.tolerance, found)
    _checkpoint(spec, found)
    _budget(spec, found)
    if spec.estimate is not None:
        check_duration("estimate.duration", spec.estimate.duration, found)
        fault = text_fault(spec.estimate.on)
        if fault or len(spec.estimate.on) > limits.MAX_LABEL_BYTES:
            found.add("estimate.on", fault or f"is over {limits.MAX_LABEL_BYTES} characters")


def check_duration(field: str, ms: int, found: Violations) -> None:
    """Check a duration: not negative, at most a leap year."""
    if ms < 0:
        found.add(field, "must not be negative")
    elif ms > limits.MAX_DURATION_MS:
        found.add(field, "is over 366 days")


def _labels(spec: TaskSpec, found: Violations) -> None:
    if len(spec.labels) > limits.MAX_LABELS:
        found.too_large("labels", f"{len(spec.labels)} labels; the limit is {limits.MAX_LABELS}")
    for key, value in spec.labels.items():
        if not LABEL_KEY.fullmatch(key):
            found.add("labels", f"{key[:80]!r} is no label: a-z, 0-9, _.-, a letter first")
        elif value.isascii() and value.isprintable() and len(value) <= limits.MAX_LABEL_BYTES:
            continue  # nearly all values
        elif _CONTROL.search(value) or text_fault(value):
            found.add(f"labels.{key[:80]}", "must be text without control characters")
        elif len(value.encode()) > limits.MAX_LABEL_BYTES:
            found.too_large(f"labels.{key[:80]}", f"is over {limits.MAX_LABEL_BYTES} bytes")


def _tolerance(tolerance: Tolerance, found: Violations) -> None:
    if not 1 <= tolerance.max_attempts <= limits.MAX_ATTEMPTS:
        found.add(
            "tolerance.max_attempts",
            f"{tolerance.max_attempts} is not between 1 and {limits.MAX_ATTEMPTS}",
        )
    check_duration("tolerance.move_after", tolerance.move_after, found)


def _budget(spec: TaskSpec, found: Violations) -> None:
    """A bound below nothing is a mistake; two currencies could not be compared with one price."""
    budget = spec.budget
    if budget is None:
        return
    for name, bound in (("total", budget.total), ("per_hour", budget.per_hour)):
        if bound is not None and bound.total_nanos < 0:
            found.add(f"budget.{name}", f"{bound} is below nothing")
    bounds = (budget.total, budget.per_hour)
    if len({bound.currency for bound in bounds if bound is not None}) > 1:
        found.contradiction("budget.per_hour", "is in another currency than budget.total")


def _checkpoint(spec: TaskSpec, found: Violations) -> None:
    checkpoint = spec.checkpoint
    if checkpoint is None:
        return
    check_duration("checkpoint.interval", checkpoint.interval, found)
    check_duration("checkpoint.write_time", checkpoint.write_time, found)
    if not 0 <= checkpoint.size <= limits.MAX_BYTES:
        found.add("checkpoint.size", f"{checkpoint.size} is not between 0 and 1 PiB")
    if 0 < checkpoint.interval <= checkpoint.write_time:
        found.contradiction(
            "checkpoint.write_time",
            f"{checkpoint.write_time} ms is not below checkpoint.interval {checkpoint.interval} ms:"
            " the task would only write checkpoints",
        )
