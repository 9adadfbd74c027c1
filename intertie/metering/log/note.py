r"""Signed notes (C2SP signed-note) and cosignatures (C2SP tlog-cosignature), on received bytes.

    note    = text (ends "\n") + "\n" + signature lines; split at the LAST blank line
    sigline = "— " name " " base64(keyid4 || sig) "\n"                      (U+2014)
    keyid   = SHA256(name || 0x0A || type || pubkey)[:4]
    vkey    = name "+" hex8(keyid) "+" base64(type || pubkey)

Signatures by keys that the reader does not know are ignored; one by a known key must verify.
Must not know what the text says, and never re-serialises what it verifies.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from intertie.metering.faults import Fault, MeteringError
from intertie.metering.log import strict

ED25519_NOTE = 0x01
ED25519_COSIGNATURE = 0x04

MAX_NOTE_BYTES = 1_000_000
MAX_SIGNATURES = 100

_KEY_BYTES = 32
_SIG_BYTES = 64
_DASH = "\u2014 "
_HEX8 = re.compile(r"[0-9a-f]{8}")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")


@dataclass(frozen=True, slots=True)
class Key:
    """A public key with a name: what a vkey says."""

    name: str
    kind: int
    public: bytes

    def __post_init__(self) -> None:
        _check_name(self.name)
        if self.kind not in (ED25519_NOTE, ED25519_COSIGNATURE):
            raise _bad(f"key {self.name}: type 0x{self.kind:02x} is not supported")
        if len(self.public) != _KEY_BYTES:
            raise _bad(f"key {self.name}: expected {_KEY_BYTES} bytes, got {len(self.public)}")

    @property
    def id(self) -> bytes:
        """The 4 bytes that name the key in a signature line."""
        return sha256(self.name.encode() + b"\n" + self._typed).digest()[:4]

    @property
    def vkey(self) -> str:
        """The key as text."""
        return f"{self.name}+{self.id.hex()}+{strict.base64_text(self._typed)}"

    @property
    def fingerprint(self) -> str:
        """The key as people compare it: SHA-256 over type and key."""
        return "SHA256:" + sha256(self._typed).hexdigest()

    @property
    def _typed(self) -> bytes:
        return bytes([self.kind]) + self.public

    @classmethod
    def parse(cls, vkey: str) -> Self:
        """Read a vkey; its key id must be the one its other parts give."""
        name, _, rest = vkey.partition("+")
        hex_id, _, encoded = rest.partition("+")
        typed = strict.base64_bytes(encoded, f"vkey {name[:80]!r}")
        if not typed:
            raise _bad(f"vkey {vkey[:80]!r}: expected name+keyid+base64")
        key = cls(name, typed[0], typed[1:])
        if _HEX8.fullmatch(hex_id) is None or key.id.hex() != hex_id:
            raise _bad(f"vkey {name}: expected key id {key.id.hex()}, got {hex_id[:16]!r}")
        return key


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key with a name. Its secret never shows in a repr."""

    key: Key
    _private: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def from_seed(cls, name: str, seed: bytes, kind: int = ED25519_NOTE) -> Self:
        """Make a signer from the 32 secret bytes of an Ed25519 key (RFC 8032)."""
        assert len(seed) == _KEY_BYTES, f"a seed has {_KEY_BYTES} bytes, got {len(seed)}"
        private = Ed25519PrivateKey.from_private_bytes(seed)
        return cls(Key(name, kind, private.public_key().public_bytes_raw()), private)

    def sign_line(self, text: bytes) -> bytes:
        """Return the signature line of a note's text (type 0x01)."""
        assert self.key.kind == ED25519_NOTE, "a cosignature needs an instant: cosign_line"
        return Signature(self.key.name, self.key.id, self._private.sign(text)).line()

    def cosign_line(self, text: bytes, time_s: int) -> bytes:
        """Return the cosignature line of a note's text at an instant (type 0x04)."""
        assert self.key.kind == ED25519_COSIGNATURE, "only witness keys cosign"
        signed = self._private.sign(cosigned_message(text, time_s))
        payload = time_s.to_bytes(8, "big") + signed
        assert len(payload) == 8 + _SIG_BYTES, "an instant and a signature"
        return Signature(self.key.name, self.key.id, payload).line()


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature line: who says to have signed, and the bytes."""

    name: str
    key_id: bytes
    payload: bytes

    def line(self) -> bytes:
        """The line, with its newline."""
        assert len(self.key_id) == 4, "a key id has four bytes"
        text = strict.base64_text(self.key_id + self.payload)
        return f"{_DASH}{self.name} {text}\n".encode()

    def is_by(self, key: Key) -> bool:
        """Whether it names this key. It may still not verify."""
        return self.name == key.name and self.key_id == key.id

    @property
    def time_s(self) -> int:
        """The instant of a verified cosignature, in POSIX seconds."""
        assert len(self.payload) >= 8, "only a cosignature has an instant"
        return int.from_bytes(self.payload[:8], "big")


@dataclass(frozen=True, slots=True)
class Note:
    """A note as received: the exact signed text, and the signature lines."""

    text: bytes
    signatures: tuple[Signature, ...]

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read a note; nothing is verified yet."""
        if len(data) > MAX_NOTE_BYTES:
            raise _bad(f"note: {len(data)} bytes, at most {MAX_NOTE_BYTES} are allowed")
        try:
            whole = data.decode()
        except UnicodeDecodeError as fault:
            raise _bad(f"note: not UTF-8 at byte {fault.start}") from None
        if _CONTROL.search(whole):
            raise _bad("note: holds a control character")
        head, blank, tail = whole.rpartition("\n\n")
        if not blank or not tail.endswith("\n"):
            raise _bad("note: expected text, a blank line, and signature lines")
        lines = tail[:-1].split("\n")  # not splitlines(): it cuts at U+2028 too
        if len(lines) > MAX_SIGNATURES:
            raise _bad(f"note: {len(lines)} signatures, at most {MAX_SIGNATURES} are allowed")
        return cls((head + "\n").encode(), tuple(parse_line(line) for line in lines))

    def verified(self, keys: Iterable[Key]) -> list[tuple[Key, Signature]]:
        """Return the last valid signature of each known key that signed.

        Raises:
            MeteringError: a line by a known key does not verify.
        """
        known = {(key.name, key.id): key for key in keys}
        found: dict[tuple[str, bytes], tuple[Key, Signature]] = {}
        for signature in self.signatures:
            name = (signature.name, signature.key_id)
            key = known.get(name)
            if key is None:
                continue
            if not is_valid(key, signature, self.text):
                raise _bad(f"signature by {key.name}+{key.id.hex()} does not verify")
            found[name] = (key, signature)
        return list(found.values())


def parse_line(line: str) -> Signature:
    """Read one signature line, without its newline."""
    name, space, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not space:
        raise _bad(f"signature line {line[:80]!r}: expected '\u2014 name base64'")
    _check_name(name)
    data = strict.base64_bytes(encoded, f"signature by {name}")
    if len(data) < 5:
        raise _bad(f"signature by {name}: expected a key id and a signature, got {len(data)} bytes")
    return Signature(name, data[:4], data[4:])


def assemble(text: bytes, lines: Sequence[bytes]) -> bytes:
    """Put a text and its signature lines together."""
    assert text.endswith(b"\n"), "the text of a note ends with a newline"
    assert lines, "a note without signatures is none"
    return text + b"\n" + b"".join(lines)


def cosigned_message(text: bytes, time_s: int) -> bytes:
    """What a cosignature/v1 signs: its instant, and the whole text of the note."""
    assert time_s >= 0, "POSIX seconds before 1970 cannot be cosigned"
    return b"cosignature/v1\ntime %d\n" % time_s + text


def is_valid(key: Key, signature: Signature, text: bytes) -> bool:
    """Whether a signature by this key holds for a text."""
    signed, message = signature.payload, text
    if key.kind == ED25519_COSIGNATURE:
        if len(signed) != 8 + _SIG_BYTES:
            return False
        signed, message = signed[8:], cosigned_message(text, signature.time_s)
    try:
        Ed25519PublicKey.from_public_bytes(key.public).verify(signed, message)
    except InvalidSignature:
        return False
    return True


def _check_name(name: str) -> None:
    if not name or "+" in name or not name.isprintable() or any(map(str.isspace, name)):
        raise _bad(f"key name {name[:80]!r}: expected printable text without spaces or '+'")


def _bad(what: str) -> MeteringError:
    return MeteringError(Fault.BAD_NOTE, what)
