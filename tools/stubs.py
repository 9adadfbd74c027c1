"""Generate the Python stubs from `proto/`, or with `--check` say whether the committed ones differ.

A proto's path is its Python path: `proto/intertie/api/x/v1/y.proto` becomes
`intertie/api/x/v1/y_pb2.py`. Google's files come from installed packages and are not copied here.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import google.rpc
from grpc_tools import protoc

from tools.environment import ROOT

PROTO = ROOT / "proto"
STUB_PATTERNS = ("*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py")


def main(arguments: Sequence[str]) -> int:
    """Write the stubs into the source tree, or compare them with it."""
    parser = argparse.ArgumentParser(prog="python -m tools.stubs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        wanted = contents(Path(folder))
    present = contents(ROOT)
    if options.check:
        return compare(wanted, present)
    write(wanted, present)
    return 0


def generate(target: Path) -> None:
    """Run protoc over every proto file, writing below `target`."""
    sources = sorted(str(path.relative_to(PROTO)) for path in PROTO.rglob("*.proto"))
    if not sources:
        return
    includes = [f"-I{PROTO}", f"-I{google_protos()}", f"-I{files('grpc_tools') / '_proto'}"]
    outputs = [f"--{kind}_out={target}" for kind in ("python", "pyi", "grpc_python")]
    status = protoc.main(["protoc", *includes, *outputs, *sources])
    if status != 0:
        sys.exit(f"protoc failed with status {status}")
    for stub in [path for path in target.rglob("*_pb2_grpc.py") if defines_no_service(path)]:
        stub.unlink()


def defines_no_service(grpc_stub: Path) -> bool:
    """True where protoc wrote a gRPC stub for a file that defines no service."""
    return "class " not in grpc_stub.read_text(encoding="utf-8")


def google_protos() -> Path:
    """The folder above `google/rpc/*.proto` in the installed googleapis-common-protos."""
    return Path(next(iter(google.rpc.__path__))).parent.parent


def contents(base: Path) -> dict[str, str]:
    """Relative path -> text of the stubs below `base`."""
    top = base / "intertie"
    return {
        str(path.relative_to(base)): path.read_text(encoding="utf-8")
        for pattern in STUB_PATTERNS
        for path in sorted(top.rglob(pattern))
    }


def compare(wanted: dict[str, str], present: dict[str, str]) -> int:
    """Print every difference; return the exit status."""
    differences = [
        *(f"missing: {path}" for path in sorted(wanted.keys() - present.keys())),
        *(f"has no proto: {path}" for path in sorted(present.keys() - wanted.keys())),
        *(
            f"differs: {path}"
            for path in sorted(wanted.keys() & present.keys())
            if wanted[path] != present[path]
        ),
    ]
    if differences:
        print("\n".join([*differences, "run: make stubs"]))
    return 1 if differences else 0


def write(wanted: dict[str, str], present: dict[str, str]) -> None:
    """Bring the source tree to `wanted`, touching only files that differ."""
    for path in present.keys() - wanted.keys():
        (ROOT / path).unlink()
    for path, text in wanted.items():
        target = ROOT / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if present.get(path) != text:
            target.write_text(text, encoding="utf-8")
        for folder in target.relative_to(ROOT).parents:
            mark_package(ROOT / folder)


def mark_package(folder: Path) -> None:
    """Make `folder` a package where it is none yet."""
    if folder == ROOT or (folder / "__init__.py").exists():
        return
    name = ".".join(folder.relative_to(ROOT).parts)
    text = f'"""Generated protobuf stubs: {name}."""\n'
    (folder / "__init__.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
