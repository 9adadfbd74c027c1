"""Capability tags: the names, their types, and what they mean. One vocabulary for all.

A tag says in one word what a node can do, whatever its vendor. Its value is text on every wire;
the type says how two values compare. Values are derived by rules with a version
(`intertie.capability.derive`); only those marked `declared` are an operator's word.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flag:
    """`true` or `false`."""


@dataclass(frozen=True, slots=True)
class Number:
    """A decimal number of a unit."""

    unit: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words without an order."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Level:
    """One of some words in an order, lowest first; words of one rank are equally good."""

    ranks: tuple[tuple[str, ...], ...]

    def rank(self, word: str) -> int | None:
        """Where a word stands, None for a word that is none of them."""
        return next((i for i, words in enumerate(self.ranks) if word in words), None)

    @property
    def words(self) -> tuple[str, ...]:
        """All words, lowest first."""
        return tuple(word for words in self.ranks for word in words)


@dataclass(frozen=True, slots=True)
class Word:
    """Any one word; compared for equality only."""


TagType = Flag | Number | Choice | Level | Word


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag. `declared`: nothing measures it, an operator says it."""

    type: TagType
    text: str
    declared: bool = False


TAGS: Mapping[str, Tag] = {
    "interconnect": Tag(
        Level((("none",), ("pcie",), ("nvlink", "xgmi", "hccs", "mlu_link"), ("nvswitch",))),
        "The slowest link between two devices of the node, by its class.",
    ),
    "deployment": Tag(Choice(("bare_metal", "vm", "container")), "What the node's agent runs on."),
    "task_isolation": Tag(Level((("none",), ("user",))), "How tasks of one node are kept apart."),
    "device_architecture": Tag(Word(), "Architecture of the devices, as their driver names it."),
    "device_memory_bandwidth": Tag(
        Number("GB/s"), "Memory bandwidth of a device, from its vendor's data sheet."
    ),
    "device_bf16": Tag(
        Number("TFLOPS"), "Dense BF16 (or FP16) of a device, from its vendor's data sheet."
    ),
    "device_link": Tag(
        Number("GB/s"), "Bandwidth of a device's link, both directions, from its data sheet."
    ),
    "numa_nodes": Tag(Number("nodes"), "NUMA nodes of the machine."),
    "high_concurrency": Tag(
        Flag(), "Serves many requests at once: 32 cores and 64 GiB of memory or more."
    ),
    "long_run": Tag(
        Flag(), "A run of 72 hours ends without a fault of the node with 95 % likelihood or more."
    ),
    "sovereign": Tag(
        Flag(), "Owner, staff and supply are bound by the law of the place alone.", declared=True
    ),
}
"""By name."""


def nearest(word: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """A hint that names the nearest known word; empty if none is near."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; the nearest is {near[0]}" if near else ""
