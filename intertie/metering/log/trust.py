"""The trust file: which log keys and witnesses a verifier believes (C2SP tlog-policy).

    log <vkey> [<url>]                       several for one origin: the last is current, others old
    witness <name> <vkey> [<url>]
    group <name> <k>|any|all <member>...     members are witnesses or groups defined above
    quorum <name>|none                       exactly once

Must not fetch or store anything.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from intertie.errors import IntertieError, invalid
from intertie.metering.faults import Fault, MeteringError
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.note import ED25519_COSIGNATURE, ED25519_NOTE, Key, Note, Signature

_K = re.compile(r"[1-9][0-9]{0,3}")


@dataclass(frozen=True, slots=True)
class Group:
    """k of its members must have cosigned."""

    k: int
    members: tuple[str, ...]

    def __post_init__(self) -> None:
        assert 0 < self.k <= len(self.members), f"{self.k} of {len(self.members)} is no quorum"


@dataclass(frozen=True, slots=True)
class Trust:
    """A trust file as a value."""

    logs: tuple[Key, ...] = ()
    witnesses: Mapping[str, Key] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    quorum: str = "none"
    urls: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {"none", *self.witnesses, *self.groups}
        assert self.quorum in known, f"quorum {self.quorum} is not defined"
        assert all(known.issuperset(group.members) for group in self.groups.values())

    def log_keys(self, origin: str) -> tuple[Key, ...]:
        """Keys believed for an origin: old ones first, the current one last."""
        return tuple(key for key in self.logs if key.name == origin)

    def is_met(self, cosigned: Iterable[str]) -> bool:
        """Whether the witnesses of these names are a quorum."""
        names = frozenset(cosigned)
        return self.quorum == "none" or self._holds(self.quorum, names)

    def _holds(self, name: str, cosigned: frozenset[str]) -> bool:
        group = self.groups.get(name)
        if group is None:
            return name in cosigned
        return sum(self._holds(member, cosigned) for member in group.members) >= group.k


@dataclass(frozen=True, slots=True)
class Opened:
    """A checkpoint that a trust file vouches for."""

    checkpoint: Checkpoint
    log_key: Key
    cosignatures: tuple[tuple[str, int], ...]
    """(name of the witness in the trust file, instant in POSIX seconds)."""
    signed: bytes


def open_checkpoint(signed: bytes, trust: Trust) -> Opened:
    """Verify a checkpoint as received: form, origin, log key, cosignatures, quorum."""
    note = Note.parse(signed)
    checkpoint = Checkpoint.parse(note.text)
    keys = trust.log_keys(checkpoint.origin)
    if not keys:
        raise MeteringError(
            Fault.UNKNOWN_ORIGIN,
            f"origin {checkpoint.origin!r} has no log line in the trust file",
            remedy="Add the log's vkey, after comparing its fingerprint with the operator.",
        )
    log_key = _log_key(note, keys, checkpoint.origin)
    names = {(key.name, key.id): name for name, key in trust.witnesses.items()}
    found = note.verified(trust.witnesses.values())
    assert len(found) <= len(trust.witnesses), "a witness counts once"
    cosigned = tuple((names[key.name, key.id], by.time_s) for key, by in found)
    if not trust.is_met(name for name, _ in cosigned):
        got = ", ".join(name for name, _ in cosigned) or "nobody"
        raise MeteringError(
            Fault.QUORUM_NOT_MET, f"expected quorum {trust.quorum}, cosigned by {got}"
        )
    return Opened(checkpoint, log_key, cosigned, signed)


def _log_key(note: Note, keys: tuple[Key, ...], origin: str) -> Key:
    try:
        found: list[tuple[Key, Signature]] = note.verified(keys)
    except MeteringError as fault:
        raise MeteringError(Fault.BAD_LOG_SIG, fault.message) from None
    if not found:
        raise MeteringError(
            Fault.BAD_LOG_SIG, f"expected a signature by a log key of {origin!r}, got none"
        )
    return found[-1][0]


def parse_trust(text: str) -> Trust:
    """Read a trust file; an error names the line."""
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.split("#", 1)[0].split() if not line.startswith("#") else []
        if words:
            reader.line(f"line {number}", words)
    return reader.done()


def print_trust(trust: Trust, *, fingerprints: bool = False) -> str:
    """Write a trust file; with fingerprints, as comments that say which keys are current."""
    out: list[str] = []
    current = {key.name: key for key in trust.logs}
    for key in trust.logs:
        if fingerprints:
            age = "current" if current[key.name] == key else "old"
            out.append(f"# {age} key of {key.name}  {key.fingerprint}")
        out.append(f"log {key.vkey}{_url(trust, key.vkey)}")
    for name, key in trust.witnesses.items():
        if fingerprints:
            out.append(f"# witness {name}  {key.fingerprint}")
        out.append(f"witness {name} {key.vkey}{_url(trust, key.vkey)}")
    out += [f"group {n} {g.k} {' '.join(g.members)}" for n, g in trust.groups.items()]
    out.append(f"quorum {trust.quorum}")
    return "\n".join(out) + "\n"


def _url(trust: Trust, vkey: str) -> str:
    url = trust.urls.get(vkey, "")
    return f" {url}" if url else ""


class _Reader:
    """Collects the lines of a trust file."""

    def __init__(self) -> None:
        self.logs: list[Key] = []
        self.witnesses: dict[str, Key] = {}
        self.groups: dict[str, Group] = {}
        self.urls: dict[str, str] = {}
        self.used: set[str] = set()
        self.quorum = ""

    def line(self, where: str, words: list[str]) -> None:
        match words:
            case ["log", vkey, *url] if len(url) < 2:
                self._log(where, vkey, url)
            case ["witness", name, vkey, *url] if len(url) < 2:
                self._witness(where, name, vkey, url)
            case ["group", name, k, *members] if members:
                self._group(where, name, k, members)
            case ["quorum", name]:
                self._quorum(where, name)
            case _:
                raise invalid(where, f"{' '.join(words)[:80]!r} is no line of a trust file")

    def done(self) -> Trust:
        if not self.quorum:
            raise invalid("quorum", "expected one quorum line", remedy="Add `quorum none` or one.")
        return Trust(tuple(self.logs), self.witnesses, self.groups, self.quorum, self.urls)

    def _log(self, where: str, vkey: str, url: list[str]) -> None:
        key = _key(where, vkey, ED25519_NOTE)
        if any(other.name == key.name and other.id == key.id for other in self.logs):
            raise invalid(where, f"{key.name}+{key.id.hex()} is there already")
        self.logs.append(key)
        self._set_url(vkey, url)

    def _witness(self, where: str, name: str, vkey: str, url: list[str]) -> None:
        self._check_new(where, name)
        key = _key(where, vkey, ED25519_COSIGNATURE)
        if any(other.name == key.name and other.id == key.id for other in self.witnesses.values()):
            raise invalid(where, f"the key of {name} is there already: it would count twice")
        self.witnesses[name] = key
        self._set_url(vkey, url)

    def _group(self, where: str, name: str, k: str, members: list[str]) -> None:
        self._check_new(where, name)
        for member in members:
            if member not in self.witnesses and member not in self.groups:
                raise invalid(where, f"{member!r} is not defined above")
            if member in self.used:
                raise invalid(where, f"{member!r} is a member already: it would count twice")
            self.used.add(member)
        wanted = {"any": 1, "all": len(members)}.get(k) or _count(where, k)
        if wanted > len(members):
            raise invalid(where, f"expected {wanted} of {len(members)} members: can never be met")
        self.groups[name] = Group(wanted, tuple(members))

    def _quorum(self, where: str, name: str) -> None:
        if self.quorum:
            raise invalid(where, "there is a quorum line already")
        if name != "none" and name not in self.witnesses and name not in self.groups:
            raise invalid(where, f"{name!r} is not defined above")
        self.quorum = name

    def _check_new(self, where: str, name: str) -> None:
        if name == "none" or name in self.witnesses or name in self.groups:
            raise invalid(where, f"the name {name!r} is taken")

    def _set_url(self, vkey: str, url: list[str]) -> None:
        if url:
            self.urls[vkey] = url[0]


def _key(where: str, vkey: str, kind: int) -> Key:
    try:
        key = Key.parse(vkey)
    except IntertieError as fault:
        raise invalid(where, fault.message) from None
    if key.kind != kind:
        raise invalid(where, f"expected a key of type 0x{kind:02x}, got 0x{key.kind:02x}")
    return key


def _count(where: str, text: str) -> int:
    if _K.fullmatch(text) is None:
        raise invalid(where, f"{text[:20]!r}: expected a number, any or all")
    return int(text)
