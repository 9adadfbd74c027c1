"""The ground of ADR 1: the `etcd3` package cannot be imported beside a protobuf of today.

Downloads that package into a temporary folder, installs nothing, and skips without an index.
"""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

DOWNLOAD_S = 60


@pytest.fixture(scope="module")
def etcd3_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PYTHONPATH with etcd3 0.12.0 and six, the one dependency that we do not have anyway."""
    folder = tmp_path_factory.mktemp("etcd3")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    try:
        done = subprocess.run(
            [*pip, "--dest", str(folder), "etcd3==0.12.0", "six==1.17.0"],
            check=False,
            capture_output=True,
            text=True,
            timeout=DOWNLOAD_S,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"the package index did not answer within {DOWNLOAD_S} s")
    if done.returncode != 0:
        pytest.skip("the package index cannot be reached, or does not have etcd3 0.12.0")
    with tarfile.open(folder / "etcd3-0.12.0.tar.gz") as sources:
        sources.extractall(folder, filter="data")
    wheel: Path = next(folder.glob("six-*.whl"))
    return os.pathsep.join([str(folder / "etcd3-0.12.0"), str(wheel)])


def test_the_etcd3_package_cannot_be_imported_beside_our_protobuf(etcd3_path: str) -> None:
    environment = os.environ | {"PYTHONPATH": etcd3_path}
    environment.pop("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", None)

    def run(code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code],
            check=False,
            capture_output=True,
            text=True,
            env=environment,
        )

    dependencies = run("import grpc, six, tenacity, google.protobuf")
    assert dependencies.returncode == 0, dependencies.stderr
    failure = run("import etcd3")
    assert failure.returncode != 0, "etcd3 can be imported: look at ADR 1 again"
    assert "TypeError: Descriptors cannot be created directly" in failure.stderr
    assert "kv_pb2.py" in failure.stderr
