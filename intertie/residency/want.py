"""What residency is asked for a task: its bounds, and the data that must come to it.

The little of a spec that a verdict depends on, so that tasks that ask alike share one verdict.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from intertie.model.spec import DataItem, Residency, TaskSpec, TransferBasis

_NO_BASIS = TransferBasis()


@dataclass(frozen=True, slots=True)
class Source:
    """An input that is somewhere already: its copies, as paths, and its class of data."""

    name: str
    places: tuple[str, ...]
    data_class: str


@dataclass(frozen=True, slots=True)
class Want:
    """See the module's text. `basis` is what the submitter claims for all transfers."""

    within: tuple[str, ...] = ()
    not_within: tuple[str, ...] = ()
    data_class: str = ""
    basis: TransferBasis = _NO_BASIS
    sources: tuple[Source, ...] = ()

    @property
    def is_restricted(self) -> bool:
        """Whether anything is asked for: bytes of other tasks may go anywhere."""
        classed = any(source.data_class for source in self.sources)
        return bool(self.within or self.not_within or self.data_class or classed)


ANYWHERE = Want()


def want_of(spec: TaskSpec, regions: Mapping[str, str] | None = None) -> Want:
    """What a spec asks. `regions` are the paths of regions by id, for copies that name a region."""
    items = (*spec.data, *spec.model_weights)
    return want(spec.residency, items, regions)


def want(
    residency: Residency, items: Iterable[DataItem] = (), regions: Mapping[str, str] | None = None
) -> Want:
    """The same from the parts of a spec. A region that is not known stays as it is written: an
    unknown place, from which nothing that has a class may come.
    """
    known = regions or {}
    sources = tuple(
        Source(item.name, tuple(known.get(place, place) for place in item.at), data_class)
        for item in items
        if item.at and (data_class := item.data_class or residency.data_class)
    )
    return _want(residency, sources)


@lru_cache(maxsize=10_000)
def _want(residency: Residency, sources: tuple[Source, ...]) -> Want:
    return Want(
        residency.within,
        residency.not_within,
        residency.data_class,
        residency.transfer_basis,
        sources,
    )
