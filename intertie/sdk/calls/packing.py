"""From a task file's folder to a spec that any machine can run: digests instead of paths.

`run.workdir` becomes the list of its files, and each of `run.files` that has no digest yet is read
from beside the task file. Reads files, uploads nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from intertie.errors import invalid
from intertie.model.spec import FileRef, RunSpec, TaskSpec
from intertie.model.texts import relative_path_fault
from intertie.model.validate import validate
from intertie.sdk.workdir import file_ref, pack_workdir


@dataclass(frozen=True, slots=True)
class Packed:
    """A spec with digests, and where the bytes of each digest are on this machine."""

    spec: TaskSpec
    blobs: Mapping[FileRef, Path]


def pack(spec: TaskSpec, base: Path) -> Packed:
    """Pack a spec.

    Args:
        spec: as written.
        base: the folder that `run.workdir` and `run.files` are relative to.

    Raises:
        CallerError: a file that is not there or may not be packed, or a spec that is too large.
    """
    run = spec.run
    found: dict[str, tuple[FileRef, Path]] = {}
    if run.workdir:
        found = {ref.path: (ref, file) for ref, file in pack_workdir(base / run.workdir)}
    listed = [_listed(i, ref, base) for i, ref in enumerate(run.files)]
    found |= {ref.path: (ref, file) for ref, file in listed if file is not None}
    given = {ref.path: ref for ref, file in listed if file is None}
    files = given | {path: ref for path, (ref, _) in found.items()}
    packed = replace(spec, run=_with_files(run, tuple(files[path] for path in sorted(files))))
    validate(packed)
    return Packed(packed, dict(found.values()))


def _with_files(run: RunSpec, files: tuple[FileRef, ...]) -> RunSpec:
    return replace(run, workdir="", files=files)


def _listed(i: int, ref: FileRef, base: Path) -> tuple[FileRef, Path | None]:
    """One of `run.files`: a blob that the federation has, or a file beside the task file."""
    if ref.sha256:
        return ref, None
    field = f"run.files[{i}].path"
    if fault := relative_path_fault(ref.path):
        raise invalid(field, fault)
    file = base / ref.path
    if not file.is_file():
        raise invalid(field, f"{file} is not a file", remedy="Correct the path, or add the file.")
    return file_ref(ref.path, file), file
