"""Checks of what is run: command, environment, files, outputs."""

import re
from collections.abc import Sequence

from intertie.model.spec import FileRef, RunSpec, TaskSpec
from intertie.model.texts import clashes, relative_path_fault, text_fault
from intertie.model.validate import limits
from intertie.model.validate.task import check_duration
from intertie.model.validate.violations import Violations

_SHA256 = re.compile(r"[0-9a-f]{64}")
RESERVED_ENV = "INTERTIE_"
"""Variables that the agent sets; a task may not."""


def check_run(spec: TaskSpec, found: Violations, *, packed: bool) -> None:
    """Check `run` and `outputs`."""
    run = spec.run
    _what_runs(run, found)
    _command("run.command", run.command, run, found)
    for i, variant in enumerate(run.variants):
        _command(f"run.variants[{i}].command", variant.command, run, found)
    _env(run, found)
    check_duration("run.timeout", run.timeout, found)
    if packed and run.workdir:
        found.add("run.workdir", "must be packed into run.files by the client")
    _files(run.files, found, packed=packed)
    total = sum(ref.size for ref in run.files)
    if total > spec.resources.disk:
        found.contradiction(
            "resources.disk",
            f"run.files take {total} bytes, more than the {spec.resources.disk} of resources.disk",
        )
    if len(spec.outputs) > limits.MAX_OUTPUTS:
        found.too_large("outputs", f"{len(spec.outputs)}; the limit is {limits.MAX_OUTPUTS}")
        return
    for i, output in enumerate(spec.outputs):
        fault = relative_path_fault(output.path)
        if fault and (output.path or not output.uri):
            found.add(f"outputs[{i}].path", fault)
    for i, why in clashes(output.path for output in spec.outputs if output.path):
        found.contradiction(f"outputs[{i}].path", why.replace("which is a file", "also an output"))


def _what_runs(run: RunSpec, found: Violations) -> None:
    if run.function and (run.command or run.image):
        other = "run.command" if run.command else "run.image"
        found.contradiction("run.function", f"excludes {other}: give one of them")
    if run.command or run.function or run.image:
        return
    if not run.variants:
        found.add("run", "needs one of command, image, function")
    for i, variant in enumerate(run.variants):
        if not (variant.command or variant.image):
            found.add(f"run.variants[{i}]", "needs a command, as run.command is not given")


def _command(field: str, command: Sequence[str], run: RunSpec, found: Violations) -> None:
    if not command:
        return
    if run.shell and len(command) != 1:
        found.contradiction(
            field, f"has {len(command)} strings; with run.shell it must be one for /bin/sh -c"
        )
    if not command[0]:
        found.add(f"{field}[0]", "must not be empty")
    joined = "".join(command)
    if text_fault(joined):
        for i, argument in enumerate(command):
            if fault := text_fault(argument):
                found.add(f"{field}[{i}]", fault)
        return
    size = (len(joined) if joined.isascii() else len(joined.encode())) + len(command)
    if size > limits.MAX_ARGV_BYTES:
        found.too_large(
            field,
            f"takes {size} bytes; the limit is {limits.MAX_ARGV_BYTES}",
            remedy="Put long input into a file.",
        )


def _env(run: RunSpec, found: Violations) -> None:
    total = 0
    for name, value in run.env.items():
        if not (name.isascii() and name.isidentifier()):
            found.add("run.env", f"{name[:80]!r} is no name of a variable")
        elif name.startswith(RESERVED_ENV):
            found.add(
                f"run.env.{name[:80]}", f"names that begin with {RESERVED_ENV} are set by the agent"
            )
        elif fault := text_fault(value):
            found.add(f"run.env.{name[:80]}", fault)
        else:
            size = len(name) + (len(value) if value.isascii() else len(value.encode())) + 2
            total += size
            if size > limits.MAX_ENV_VARIABLE_BYTES:
                found.too_large(
                    f"run.env.{name[:80]}",
                    f"takes {size} bytes; the limit is {limits.MAX_ENV_VARIABLE_BYTES}",
                )
    if total > limits.MAX_ENV_BYTES:
        found.too_large(
            "run.env",
            f"takes {total} bytes; the limit is {limits.MAX_ENV_BYTES}",
            remedy="Put long values into a file.",
        )


def _files(files: Sequence[FileRef], found: Violations, *, packed: bool) -> None:
    if len(files) > limits.MAX_FILES:
        found.too_large(
            "run.files",
            f"{len(files)} files; the limit is {limits.MAX_FILES}",
            remedy="Exclude some in .intertieignore, or pack them into an archive.",
        )
        return
    for i, ref in enumerate(files):
        if fault := relative_path_fault(ref.path):
            found.add(f"run.files[{i}].path", fault)
        if (packed or ref.sha256) and not _SHA256.fullmatch(ref.sha256):
            found.add(f"run.files[{i}].sha256", "is not 64 lower-case hexadecimal digits")
        if not 0 <= ref.size <= limits.MAX_FILES_BYTES:
            found.add(f"run.files[{i}].size", f"{ref.size} is not between 0 and 64 GiB")
        if not 0 < ref.mode <= 0o777:
            found.add(f"run.files[{i}].mode", f"{ref.mode:#o} is not between 0o1 and 0o777")
    for i, why in clashes(ref.path for ref in files):
        found.contradiction(f"run.files[{i}].path", why)
