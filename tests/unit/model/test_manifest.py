"""Manifests of training checkpoints: one form, and nothing dangerous in them."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.errors import CallerError
from intertie.model.manifest import MAX_BYTES, Manifest, decode_manifest, encode_manifest
from intertie.model.spec import FileRef

SHA = "a" * 64
NAMES = st.text(st.sampled_from("abcü0._-"), min_size=1, max_size=6).filter(
    lambda name: name not in (".", "..")
)
REFS = st.builds(
    FileRef,
    path=NAMES,
    sha256=st.binary(max_size=4).map(lambda b: hashlib.sha256(b).hexdigest()),
    size=st.integers(0, 2**62),
    mode=st.sampled_from((0o644, 0o755)),
)
MANIFESTS = st.builds(
    Manifest,
    step=st.integers(0, 2**62),
    files=st.lists(REFS, max_size=5, unique_by=lambda ref: ref.path).map(tuple),
)


def body(**changes: Any) -> bytes:
    entry = {"mode": 420, "path": "model.npz", "sha256": SHA, "size": 3}
    whole: dict[str, Any] = {"files": [entry], "step": 7, "version": 1}
    for name, value in changes.items():
        (whole if name in whole else entry)[name] = value
    return json.dumps(whole).encode()


@given(MANIFESTS)
def test_a_manifest_comes_back_with_its_files_in_order(manifest: Manifest) -> None:
    again = decode_manifest(encode_manifest(manifest))
    assert again.step == manifest.step
    assert again.files == tuple(sorted(manifest.files, key=lambda ref: ref.path))
    assert again.size == sum(ref.size for ref in manifest.files)


@given(MANIFESTS)
def test_equal_checkpoints_have_equal_bytes_whatever_the_order_of_files(manifest: Manifest) -> None:
    turned = Manifest(step=manifest.step, files=manifest.files[::-1])
    assert encode_manifest(manifest) == encode_manifest(turned)


def test_the_bytes_of_a_manifest_are_fixed_for_ever() -> None:
    files = (FileRef(path="model.npz", sha256=SHA, size=3, mode=0o644),)
    assert encode_manifest(Manifest(step=7, files=files)) == (
        b'{"files":[{"mode":420,"path":"model.npz","sha256":"' + SHA.encode() + b'","size":3}],'
        b'"step":7,"version":1}'
    )


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (b"", "manifest"),
        (b"\xff", "manifest"),
        (b"[" * 100_000, "manifest"),
        (b"[]", "manifest"),
        (b'{"files":[]}', "manifest"),
        (b" " * (MAX_BYTES + 1), "manifest"),
        (body(version=2), "manifest.version"),
        (body(step=-1), "manifest"),
        (body(step=True), "manifest"),
        (body(files={}), "manifest"),
        (body(files=[{}] * 10_001), "manifest.files"),
        (body(files=[1]), "manifest.files[0]"),
        (body(extra=1), "manifest.files[0]"),
        (body(path="../etc/passwd"), "manifest.files[0].path"),
        (body(path="/etc/passwd"), "manifest.files[0].path"),
        (body(path="a\0"), "manifest.files[0].path"),
        (body(path="\ud800"), "manifest.files[0].path"),
        (body(path=5), "manifest.files[0].path"),
        (body(sha256="A" * 64), "manifest.files[0].sha256"),
        (body(size=-1), "manifest.files[0].size"),
        (body(size=1.5), "manifest.files[0].size"),
        (body(mode=0o4755), "manifest.files[0].mode"),
    ],
)
def test_what_is_no_manifest_is_refused_by_field(data: bytes, field: str) -> None:
    with pytest.raises(CallerError) as caught:
        decode_manifest(data)
    assert caught.value.fields[0].field == field


def test_two_files_with_one_path_are_refused() -> None:
    entry = {"mode": 420, "path": "a", "sha256": SHA, "size": 3}
    with pytest.raises(CallerError, match="given twice"):
        decode_manifest(body(files=[entry, entry]))
