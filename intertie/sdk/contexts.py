"""Contexts: which federation to talk to, and as whom. Kept as kubectl keeps its own.

    current = "dev"

    [contexts.dev]
    endpoint = "127.0.0.1:7400"          # the federation
    trust_domain = "intertie.example"
    identity = "~/.config/intertie/dev"  # key.pem cert.pem chain.pem trust.pem
    project = "vision"                   # only if the identity does not say one

    [contexts.dev.region]                # only for operators
    id = "eu"
    endpoint = "127.0.0.1:7500"
    identity = "~/.config/intertie/eu-operator"

The file is `~/.config/intertie/config.toml` or what INTERTIE_CONFIG names. It holds paths, never a
key. Must not open a connection.
"""

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from intertie.errors import IntertieError, Reason, error
from intertie.pki.files import make_private_directory, write_private
from intertie.pki.spiffe import (
    check_trust_domain,
    federation_dns_name,
    parse,
    region_trust_domain,
)
from intertie.sdk.connection import Endpoint

VARIABLE = "INTERTIE_CONFIG"
DEFAULT_FILE = Path("~/.config/intertie/config.toml")
DEFAULT_TRUST_DOMAIN = "intertie.example"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionAccess:
    """A region's own endpoint, and the operator's identity there."""

    id: str
    endpoint: str
    identity: str
    server_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One federation and one identity. `identity` is a directory; `~` is the home directory."""

    name: str
    endpoint: str
    identity: str
    trust_domain: str = DEFAULT_TRUST_DOMAIN
    server_name: str = ""
    project: str = ""
    region: RegionAccess | None = None

    def federation(self) -> Endpoint:
        """Where the federation is."""
        return Endpoint(
            target=self.endpoint,
            server_name=self.server_name or federation_dns_name(self.trust_domain),
            identity=Path(self.identity).expanduser(),
            trust_domain=self.trust_domain,
        )

    def pool(self) -> Endpoint:
        """Where the region's own server is.

        Raises:
            IntertieError: CONFIG_INVALID if the context names none.
        """
        if self.region is None:
            raise error(
                Reason.CONFIG_INVALID,
                f"Context {self.name} has no region.",
                remedy="Add one: intertie context add NAME --region ID --region-endpoint HOST:PORT"
                " --region-identity DIR.",
            )
        domain = region_trust_domain(self.region.id, self.trust_domain)
        scheduler = parse(f"spiffe://{domain}/scheduler", self.trust_domain)
        return Endpoint(
            target=self.region.endpoint,
            server_name=self.region.server_name or scheduler.dns_name,
            identity=Path(self.region.identity).expanduser(),
            trust_domain=self.trust_domain,
        )


@dataclass(frozen=True, slots=True)
class Contexts:
    """The file as a value."""

    path: Path
    current: str = ""
    by_name: Mapping[str, Context] = field(default_factory=dict)

    def get(self, name: str = "") -> Context:
        """A context by name, the current one if none is given.

        Raises:
            IntertieError: CONFIG_INVALID naming the file and what to do.
        """
        wanted = name or self.current
        if not wanted:
            raise _unusable(self.path, "has no current context", "intertie context use NAME")
        found = self.by_name.get(wanted)
        if found is None:
            known = ", ".join(sorted(self.by_name)) or "none"
            raise _unusable(
                self.path, f"has no context {wanted!r} (there are: {known})", "intertie context add"
            )
        return found

    def with_context(self, context: Context, *, use: bool) -> "Contexts":
        """A copy with a context added or replaced."""
        current = context.name if use or not self.current else self.current
        return replace(self, current=current, by_name={**self.by_name, context.name: context})

    def save(self) -> None:
        """Write the file, mode 0600."""
        make_private_directory(self.path.parent)
        write_private(self.path, "\n".join(_lines(self)).encode())


def config_path() -> Path:
    """Where the file is."""
    return Path(os.environ.get(VARIABLE) or DEFAULT_FILE).expanduser()


def load_contexts(path: Path | None = None, *, missing_ok: bool = False) -> Contexts:
    """Read the file.

    Raises:
        IntertieError: CONFIG_INVALID naming the file, the key and what to do.
    """
    path = path or config_path()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if missing_ok:
            return Contexts(path)
        raise _unusable(
            path, "does not exist", "intertie dev up, or intertie context add"
        ) from None
    except OSError as problem:
        raise _unusable(path, f"cannot be read: {problem.strerror}", "chmod 600 it") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise _unusable(path, f"is no TOML: {problem}", "mend the line that it names") from None
    contexts = data.pop("contexts", {})
    current = data.pop("current", "")
    if data or not isinstance(contexts, dict) or not isinstance(current, str):
        raise _unusable(path, "may hold `current` and `[contexts.NAME]` only", "remove the rest")
    read = {name: _context(path, name, body) for name, body in contexts.items()}
    return Contexts(path, current, read)


T = TypeVar("T", Context, RegionAccess)


def _context(path: Path, name: str, body: object) -> Context:
    where = f"contexts.{name}"
    given = _table(path, where, body)
    region = given.pop("region", None)
    context = _made(path, where, Context, {**given, "name": name})
    check_trust_domain(context.trust_domain)
    if region is None:
        return context
    access = _made(path, f"{where}.region", RegionAccess, _table(path, f"{where}.region", region))
    return replace(context, region=access)


def _table(path: Path, where: str, body: object) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise _unusable(path, f"has a {where} that is no table", "write it as [contexts.NAME]")
    return dict(body)


def _made(path: Path, where: str, model: type[T], given: Mapping[str, Any]) -> T:
    known = {f.name for f in fields(model)}
    for key, value in given.items():
        if key not in known:
            raise _unusable(path, f"has an unknown key {where}.{key}", "remove it")
        if not isinstance(value, str):
            raise _unusable(path, f"has a {where}.{key} that is no text", "put it in quotes")
    try:
        return model(**given)
    except TypeError:
        needed = [name for name in ("id", "endpoint", "identity") if name in known]
        lacks = ", ".join(name for name in needed if name not in given)
        raise _unusable(path, f"lacks {lacks} in {where}", "add it") from None


def _lines(contexts: Contexts) -> Iterator[str]:
    yield f"current = {_quoted(contexts.current)}"
    for name in sorted(contexts.by_name):
        context = contexts.by_name[name]
        yield ""
        yield f"[contexts.{_quoted(name)}]"
        for key in ("endpoint", "trust_domain", "server_name", "identity", "project"):
            if getattr(context, key):
                yield f"{key} = {_quoted(getattr(context, key))}"
        if context.region is not None:
            yield ""
            yield f"[contexts.{_quoted(name)}.region]"
            for key in ("id", "endpoint", "server_name", "identity"):
                if getattr(context.region, key):
                    yield f"{key} = {_quoted(getattr(context.region, key))}"
    yield ""


def _quoted(text: str) -> str:
    """A TOML basic string; JSON's escapes are a part of TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _unusable(path: Path, problem: str, remedy: str) -> IntertieError:
    remedy = f"Run {remedy}." if remedy.startswith("intertie ") else f"{remedy.capitalize()}."
    return error(Reason.CONFIG_INVALID, f"{path} {problem}.", remedy=remedy)
