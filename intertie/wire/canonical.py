"""The bytes that stand for a spec, and the digests of specs and requests.

A spec travels and is stored as JSON with sorted keys, no spaces, and every field written out: the
meaning of stored bytes never depends on a default of a later version. Their SHA-256 is what grants
and orders cite. Bytes that are not canonical are refused, fields of a newer version with them: a
region that ignored a field could break a bound that the submitter set.
"""

import hashlib

import msgspec
from google.protobuf.message import Message

from intertie.errors import invalid
from intertie.model.spec import TaskSpec

_ENCODER = msgspec.json.Encoder(order="sorted")
_DECODER: msgspec.json.Decoder[TaskSpec] = msgspec.json.Decoder(TaskSpec)


def encode_spec(spec: TaskSpec) -> bytes:
    """The canonical bytes of a spec."""
    return _ENCODER.encode(spec)


def decode_spec(data: bytes) -> TaskSpec:
    """The spec of canonical bytes; INVALID_FIELD `spec` for all other bytes."""
    try:
        spec = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid("spec", f"is no canonical spec: {error}") from None
    if _ENCODER.encode(spec) != data:
        raise invalid(
            "spec",
            "is no canonical spec of this version: a field is unknown, left out or out of order",
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
