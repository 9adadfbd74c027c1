"""Row and event bodies: frozen dataclasses as JSON, by msgspec.

Bodies outlive the code that wrote them, so reading is lenient in the two ways that evolution needs:
unknown fields are ignored and missing ones take their defaults. Everything else is checked. A field
may be a dataclass, enum (by value), tuple, frozenset, mapping, bytes (base64) or optional; a union
of several dataclasses is not possible, as nothing in the JSON says which. Must not know any model.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from intertie.errors import Reason, error

T = TypeVar("T")

# Sets and mappings are sorted, so that equal values have equal bytes.
_encoder = msgspec.json.Encoder(order="deterministic")


def encode(value: object) -> bytes:
    """The body of a dataclass."""
    return _encoder.encode(value)


def encode_body(value: object) -> bytes:
    """The body of a row: what was signed or is pending comes as bytes, and stays as it is."""
    return value if isinstance(value, bytes) else encode(value)


def decoder(of_type: type[T]) -> Callable[[bytes], T]:
    """Make the reader of one type; make it once, it is costly.

    The reader raises IntertieError (INTERNAL) for bytes that are no such value: a damaged store.
    """
    reader: msgspec.json.Decoder[T] = msgspec.json.Decoder(of_type)
    decode = reader.decode

    def read(body: bytes) -> T:
        try:
            return decode(body)
        except msgspec.MsgspecError as damage:
            raise error(
                Reason.INTERNAL,
                f"A stored {of_type.__name__} cannot be read: {damage}.",
                remedy="Restore the store from a backup, or report this if no disk fault is known.",
                metadata={"type": of_type.__name__},
            ) from damage

    return read
