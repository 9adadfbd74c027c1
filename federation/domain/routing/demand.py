"""What identical tasks ask of a region: the key of their equivalence class.

Tasks of a class share one candidate set and one round of offers. Whatever makes two tasks
distinguishable to the router is in here, and nothing else is: an id, a label or a command is not.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache

from federation.domain.routing.known.history import History
from intertie.model.money import Money
from intertie.model.pool import Shape
from intertie.model.spec import (
    Kind,
    Latency,
    Objective,
    Placement,
    Resources,
    RunSpec,
    TaskSpec,
    Variant,
)
from intertie.model.validate import shapes
from intertie.residency import Want, want_of

ASSUMED_WORK_MS = 600_000
"""How long work takes of which nobody says anything: ten minutes, and it is marked as assumed."""
MAX_CLASSES = 50_000

_NO_WANT = Want()


@dataclass(frozen=True, slots=True)
class Work:
    """How long the work takes where nothing is known of the hardware.

    `source` is `estimate`, `history` or `assumed`; `on` is the device model that it was seen on.
    """

    ms: int = ASSUMED_WORK_MS
    source: str = "assumed"
    confidence: float = 0.0
    on: str = ""


@dataclass(frozen=True, slots=True)
class Input:
    """Bytes that a run needs: from a URI, or from the regions that have a copy."""

    name: str
    size: int
    at: tuple[str, ...] = ()
    has_uri: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """See the module's text. Compared by identity: `Classes` makes one per class.

    `shapes` are the variants in order of preference; `excluded` are region ids; durations in ms,
    0 = none. `restart_ms` is what a restart costs beside the work since the last checkpoint.
    """

    shapes: tuple[Shape, ...]
    want: Want = _NO_WANT
    only: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    spill_after_ms: int = 0
    latency: Latency | None = None
    kind: Kind = Kind.GENERIC
    objective: Objective = Objective.SUCCESS
    total: Money | None = None
    per_hour: Money | None = None
    work: Work = Work()
    inputs: tuple[Input, ...] = ()
    checkpoint_ms: int = 0
    deadline_ms: int = 0
    gang: int = 1
    project: str = ""
    barred: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        assert self.shapes, "a task takes something"
        object.__setattr__(self, "barred", frozenset((*self.never, *self.excluded)))

    @property
    def within(self) -> tuple[str, ...]:
        """Where it must be."""
        return self.want.within

    @property
    def not_within(self) -> tuple[str, ...]:
        """Where it must not be."""
        return self.want.not_within

    @property
    def draws(self) -> int:
        """How many regions are asked: more where a poor choice cannot be mended."""
        return 3 if self.deadline_ms or self.gang > 1 else 2


class Classes:
    """Makes one `Demand` per class; what two tasks ask for is compared once, here."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._known: dict[tuple[object, ...], Demand] = {}
        self.asked = 0
        self.made = 0

    def of(self, spec: TaskSpec, excluded: tuple[str, ...] = (), project: str = "") -> Demand:
        """The class of a spec, for a project, and a task that may not go to some regions."""
        self.asked += 1
        work = _work(spec, self._history)
        inputs = _inputs(spec)
        key = (
            spec.resources,
            spec.run.variants,
            spec.requires,
            excluded,
            project,
            spec.kind,
            work,
            inputs,
            want_of(spec),
            spec.placement,
            spec.latency,
            spec.objective,
            spec.budget,
            spec.checkpoint.interval if spec.checkpoint is not None else 0,
            spec.tolerance.deadline,
            spec.gang.nodes if spec.gang is not None else 1,
        )
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MAX_CLASSES:
                self._known.clear()
            found = self._known[key] = _demand(spec, excluded, project, work, inputs)
            self.made += 1
        return found


def _demand(
    spec: TaskSpec,
    excluded: tuple[str, ...],
    project: str,
    work: Work,
    inputs: tuple[Input, ...],
) -> Demand:
    placement: Placement = spec.placement
    budget = spec.budget
    return Demand(
        shapes=_shapes(spec.resources, spec.run.variants, spec.requires),
        want=want_of(spec),
        only=placement.only,
        never=placement.never,
        excluded=excluded,
        project=project,
        prefer=placement.prefer,
        spill_after_ms=placement.spill_after,
        latency=spec.latency if spec.latency is not None and spec.latency.max_rtt else None,
        kind=spec.kind,
        objective=spec.objective,
        total=budget.total if budget is not None else None,
        per_hour=budget.per_hour if budget is not None else None,
        work=work,
        inputs=inputs,
        checkpoint_ms=spec.checkpoint.interval if spec.checkpoint is not None else 0,
        deadline_ms=spec.tolerance.deadline,
        gang=spec.gang.nodes if spec.gang is not None else 1,
    )


@lru_cache(maxsize=10_000)
def _shapes(
    resources: Resources, variants: tuple[Variant, ...], requires: tuple[str, ...]
) -> tuple[Shape, ...]:
    """The shapes of all specs with these; most tasks are like others."""
    return shapes(TaskSpec(resources=resources, run=RunSpec(variants=variants), requires=requires))


def _work(spec: TaskSpec, history: History) -> Work:
    estimate = spec.estimate
    if estimate is not None and estimate.duration:
        return Work(_step(estimate.duration), "estimate", 1.0, estimate.on)
    if spec.name:
        typical = history.duration(spec.kind, spec.name)
        if typical is not None:
            return Work(_step(typical.value), "history", round(typical.confidence, 1))
    return _ASSUMED


_ASSUMED = Work()


@lru_cache(maxsize=10_000)
def _step(ms: float) -> int:
    """Durations in steps of a tenth: a class is not split by what no decision would notice."""
    return round(1.1 ** round(math.log(max(ms, 1.0)) / _LOG_STEP))


_LOG_STEP = math.log(1.1)


def _inputs(spec: TaskSpec) -> tuple[Input, ...]:
    if not (spec.run.files or spec.data or spec.model_weights):
        return ()
    files = 0
    for file in spec.run.files:
        files += file.size
    code = _code(_step(files)) if files > 0 else ()
    if not (spec.data or spec.model_weights):
        return code
    items = (
        Input(item.name, item.size, item.at, bool(item.uri))
        for item in (*spec.data, *spec.model_weights)
    )
    return (*code, *items)


@lru_cache(maxsize=1_000)
def _code(size: int) -> tuple[Input, ...]:
    return (Input("files", size),)


def bytes_to_move(inputs: tuple[Input, ...], region: str) -> int:
    """How much a region would have to fetch."""
    assert all(item.size >= 0 for item in inputs), "inputs have sizes"
    return sum(item.size for item in inputs if region not in item.at)


def unreachable(inputs: tuple[Input, ...], region: str) -> tuple[str, ...]:
    """Inputs that only other regions have, and that no URI leads to."""
    return tuple(i.name for i in inputs if not i.has_uri and region not in i.at)
