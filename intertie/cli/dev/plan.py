"""Which regions a development federation has, where they are, and how far from each other.

`intertie dev up --regions FILE` reads a plan from TOML. Must not choose ports nor start anything.

    federation = "north"                  # the region beside which the replica stands

    [[region]]
    id = "north"
    jurisdiction = "DE/DE-HH/port"
    place = "Hamburg"
    coordinates = [53.55, 9.99]           # latitude, longitude in degrees
    agents = 2
    sites = ["DE/DE-HH/port/hall-1"]      # refines the jurisdiction of the first agents

    [[rtt]]
    between = ["north", "south"]
    ms = 12.5                             # round trip; half of it each way
    jitter_ms = 0.5                       # at most this much more, each way
    source = "where the figure is from"
"""

import tomllib
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from intertie.errors import IntertieError, Reason, error
from intertie.model.jurisdiction import covers, path_fault
from intertie.model.names import REGION

RESERVED = frozenset({"etcd", "renewal", "federation", "region", "delay", "ca", "identities"})
MAX_REGIONS = 32
MAX_RTT_MS = 2_000.0


def _region_id(text: str) -> str:
    if REGION.fullmatch(text) is None:
        message = f"{text[:40]!r} is not a region id: [a-z][a-z0-9-]{{1,30}}"
        raise ValueError(message)
    return text


def _path(text: str) -> str:
    if fault := path_fault(text):
        raise ValueError(fault)
    return text


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RegionPlan(_Strict):
    """One region to be."""

    id: Annotated[str, AfterValidator(_region_id)]
    jurisdiction: Annotated[str, AfterValidator(_path)]
    place: str = ""
    coordinates: tuple[
        Annotated[float, Field(ge=-90, le=90)], Annotated[float, Field(ge=-180, le=180)]
    ]
    agents: int = Field(default=2, ge=1, le=50)
    sites: tuple[Annotated[str, AfterValidator(_path)], ...] = ()

    @model_validator(mode="after")
    def _sites_refine(self) -> Self:
        if len(self.sites) > self.agents:
            message = f"{len(self.sites)} sites for {self.agents} agents"
            raise ValueError(message)
        for site in self.sites:
            if not covers(self.jurisdiction, site):
                message = f"site {site} is not below {self.jurisdiction}"
                raise ValueError(message)
        return self

    def site(self, number: int) -> str:
        """The jurisdiction of an agent, counted from 0."""
        return self.sites[number] if number < len(self.sites) else self.jurisdiction


class RttPlan(_Strict):
    """The round trip between two regions."""

    between: tuple[str, str]
    ms: float = Field(ge=0, le=MAX_RTT_MS, allow_inf_nan=False)
    jitter_ms: float = Field(default=0, ge=0, le=MAX_RTT_MS, allow_inf_nan=False)
    source: str = Field(min_length=1, description="Where the figure is from.")


class Plan(_Strict):
    """A whole federation to be."""

    federation: str
    region: tuple[RegionPlan, ...] = Field(min_length=1, max_length=MAX_REGIONS)
    rtt: tuple[RttPlan, ...] = ()

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        ids = [region.id for region in self.region]
        if len(set(ids)) < len(ids):
            raise ValueError("two regions have the same id")
        if taken := RESERVED & set(ids):
            raise ValueError(f"{', '.join(sorted(taken))}: dev needs this name itself")
        if self.federation not in ids:
            raise ValueError(f"federation: {self.federation} is none of {', '.join(ids)}")
        pairs = [frozenset(rtt.between) for rtt in self.rtt]
        for rtt in self.rtt:
            if not set(rtt.between) <= set(ids) or rtt.between[0] == rtt.between[1]:
                raise ValueError(f"rtt: {rtt.between} is no pair of regions")
        if len(set(pairs)) < len(pairs):
            raise ValueError("rtt: a pair is given twice")
        return self

    def round_trips(self) -> Mapping[tuple[str, str], RttPlan]:
        """By pair, in the order of the regions; pairs that the file leaves out are missing."""
        given = {frozenset(rtt.between): rtt for rtt in self.rtt}
        ids = [region.id for region in self.region]
        pairs = combinations(ids, 2)
        return {pair: given[frozenset(pair)] for pair in pairs if frozenset(pair) in given}


def read_plan(path: Path) -> Plan:
    """Read a plan.

    Raises:
        IntertieError: CONFIG_INVALID, naming the field.
    """
    try:
        return Plan.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise _invalid(path, "there is no such file") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as wrong:
        raise _invalid(path, str(wrong)) from None
    except ValidationError as wrong:
        first = wrong.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise _invalid(path, f"{field}: {first['msg']}" if field else first["msg"]) from None


def _invalid(path: Path, why: str) -> IntertieError:
    return error(
        Reason.CONFIG_INVALID,
        f"{path}: {why}.",
        remedy="Repair the file; docs/operators.md shows one.",
    )
