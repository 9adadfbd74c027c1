"""Manifests of training checkpoints: the blob that lists the files of one, by digest.

JSON with sorted keys and no spaces, so that equal checkpoints have equal digests:

    {"files":[{"mode":420,"path":"model.npz","sha256":"...","size":123}],"step":7,"version":1}

An agent reads manifests that another machine wrote: every path is checked before a file is made.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from intertie.errors import invalid
from intertie.model.spec import FileRef
from intertie.model.texts import clashes, relative_path_fault

VERSION = 1
MAX_FILES = 10_000
MAX_BYTES = 16 << 20
"""Size of the manifest itself."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_KEYS = frozenset({"mode", "path", "sha256", "size"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A complete checkpoint: its training step and its files, in the order of their paths."""

    step: int
    files: tuple[FileRef, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(ref.size for ref in self.files)


def encode_manifest(manifest: Manifest) -> bytes:
    """The bytes of the blob."""
    files = [
        {"mode": ref.mode, "path": ref.path, "sha256": ref.sha256, "size": ref.size}
        for ref in sorted(manifest.files, key=lambda ref: ref.path)
    ]
    body = {"files": files, "step": manifest.step, "version": VERSION}
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def decode_manifest(data: bytes) -> Manifest:
    """Read a manifest; INVALID_FIELD with the path of what is wrong with it."""
    if len(data) > MAX_BYTES:
        raise invalid("manifest", f"{len(data)} bytes; the limit is {MAX_BYTES}")
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise invalid("manifest", f"is no JSON: {error}") from None
    if not isinstance(body, dict) or set(body) != {"files", "step", "version"}:
        raise invalid("manifest", "must have files, step and version")
    if body["version"] != VERSION:
        raise invalid("manifest.version", f"{body['version']!r} is not {VERSION}")
    if not _is_count(body["step"]) or not isinstance(body["files"], list):
        raise invalid("manifest", "step must be a number, files a list")
    if len(body["files"]) > MAX_FILES:
        raise invalid("manifest.files", f"{len(body['files'])}; the limit is {MAX_FILES}")
    files = tuple(_file(f"manifest.files[{i}]", entry) for i, entry in enumerate(body["files"]))
    for i, why in clashes(ref.path for ref in files):
        raise invalid(f"manifest.files[{i}].path", why)
    return Manifest(step=body["step"], files=files)


def _file(field: str, entry: Any) -> FileRef:  # noqa: ANN401 - anything that JSON can hold
    if not isinstance(entry, dict) or set(entry) != _KEYS:
        raise invalid(field, "must have mode, path, sha256 and size")
    path, sha256, size, mode = (entry[key] for key in ("path", "sha256", "size", "mode"))
    fault = relative_path_fault(path) if isinstance(path, str) else "must be text"
    if fault:
        raise invalid(f"{field}.path", fault)
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise invalid(f"{field}.sha256", "is not 64 lower-case hexadecimal digits")
    if not _is_count(size):
        raise invalid(f"{field}.size", "is not a size")
    if not _is_count(mode) or mode > 0o777:
        raise invalid(f"{field}.mode", "is not a mode of a file")
    return FileRef(path=path, sha256=sha256, size=size, mode=mode)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
