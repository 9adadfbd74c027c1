"""Readers for the small texts inside notes and proofs, as strict as the C2SP formats ask.

Python's own readers are lenient where a transparency log must not be: `int()` takes `03`, `+3`,
`1_000` and non-ASCII digits, `b64decode` drops garbage unless told to validate and even then takes
non-zero pad bits, `splitlines()` cuts at U+2028. Each function here refuses all of that.
"""

import base64
import binascii
import re

from intertie.metering.faults import Fault, MeteringError
from intertie.metering.log.merkle import HASH_BYTES

MAX_SIZE = 2**63 - 1

_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")


def size(text: str, what: str, fault: Fault = Fault.BAD_NOTE) -> int:
    """Read a tree size or index: `0 | [1-9][0-9]*`, ASCII digits, below 2^63."""
    if _SIZE.fullmatch(text) is None or int(text) > MAX_SIZE:
        raise MeteringError(fault, f"{what}: {text[:40]!r} is not a decimal size")
    return int(text)


def base64_bytes(text: str, what: str, fault: Fault = Fault.BAD_NOTE) -> bytes:
    """Read standard padded base64 that re-encodes to the same text."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise MeteringError(fault, f"{what}: {text[:80]!r} is not base64") from None
    if base64.b64encode(data).decode() != text:
        raise MeteringError(fault, f"{what}: {text[:80]!r} is not the one spelling in base64")
    return data


def hash_bytes(text: str, what: str, fault: Fault = Fault.BAD_NOTE) -> bytes:
    """Read a base64 hash of 32 bytes."""
    digest = base64_bytes(text, what, fault)
    if len(digest) != HASH_BYTES:
        raise MeteringError(fault, f"{what}: expected {HASH_BYTES} bytes, got {len(digest)}")
    return digest


def base64_text(data: bytes) -> str:
    """Standard padded base64."""
    return base64.b64encode(data).decode()
