"""The bytes that stand for a spec, and the digests of specs and requests.

A spec travels and is stored as JSON with sorted keys and no spaces. A field at its default is left
out, so that a field of a later version changes no bytes until somebody uses it: N-1 interoperates
in both directions. The price: a default is as fixed as a name. The SHA-256 of the bytes is what
grants and orders cite. Bytes that are not canonical are refused, fields of a newer version with
them: a region that ignored a field could break a bound that the submitter set.
"""

import dataclasses
import hashlib
from functools import lru_cache
from typing import Any

import msgspec
from google.protobuf.message import Message

from intertie.errors import invalid
from intertie.model.spec import TaskSpec

_ENCODER = msgspec.json.Encoder(order="sorted")
_DECODER: msgspec.json.Decoder[TaskSpec] = msgspec.json.Decoder(TaskSpec)


def encode_spec(spec: TaskSpec) -> bytes:
    """The canonical bytes of a spec."""
    return _ENCODER.encode(_without_defaults(spec))


def _without_defaults(value: Any) -> Any:  # noqa: ANN401 - any part of a spec
    """The same value with each dataclass as a mapping of what is not at its default."""
    if isinstance(value, tuple):
        return [_without_defaults(item) for item in value]
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    kept = {}
    for name, default in _defaults(value.__class__):
        item = getattr(value, name)
        if item != default:
            kept[name] = _without_defaults(item)
    return kept


@lru_cache(maxsize=64)
def _defaults(model: type) -> tuple[tuple[str, object], ...]:
    """Each field with its default; a required one equals nothing."""
    return tuple(
        (
            field.name,
            field.default_factory()
            if field.default_factory is not dataclasses.MISSING
            else field.default,
        )
        for field in dataclasses.fields(model)
    )


def decode_spec(data: bytes) -> TaskSpec:
    """The spec of canonical bytes; INVALID_FIELD `spec` for all other bytes."""
    try:
        spec = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid("spec", f"is no canonical spec: {error}") from None
    if encode_spec(spec) != data:
        raise invalid(
            "spec",
            "is no canonical spec: a field is unknown, at its default, or out of order",
            remedy="Update the older side.",
        )
    return spec


def spec_sha256(spec: TaskSpec) -> str:
    """SHA-256 of the canonical bytes, lower-case hex."""
    return hashlib.sha256(encode_spec(spec)).hexdigest()


def request_digest(request: Message) -> str:
    """What a request_id stands for: SHA-256 over the request as it was sent, before any default.

    The request_id itself is part of the bytes: two digests are only ever compared under one id.
    Unknown fields count, so that a retry by a newer client is the same request only if it is the
    same.
    """
    hasher = hashlib.sha256(request.DESCRIPTOR.full_name.encode() + b"\0")
    hasher.update(request.SerializeToString(deterministic=True))
    return hasher.hexdigest()
