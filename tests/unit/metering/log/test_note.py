"""Signed notes: what is read, what is refused, and the traps of Python's own readers."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.metering.faults import Fault, MeteringError
from intertie.metering.log import note
from intertie.metering.log.note import Key, Note, Signer

TEXT = b"example.com/log\n7\nbody\n"
SIGNER = Signer.from_seed("example.com/log", b"\x07" * 32)
OTHER = Signer.from_seed("example.com/other", b"\x08" * 32)
WITNESS = Signer.from_seed("example.com/w", b"\x09" * 32, note.ED25519_COSIGNATURE)
NOTE = note.assemble(TEXT, [SIGNER.sign_line(TEXT)])


def refused(data: bytes, match: str) -> None:
    with pytest.raises(MeteringError, match=match) as caught:
        Note.parse(data)
    assert caught.value.fault is Fault.BAD_NOTE


def test_a_note_is_split_at_its_last_blank_line() -> None:
    text = b"a\n\nb\n\nc\n"
    received = Note.parse(note.assemble(text, [SIGNER.sign_line(text)]))
    assert received.text == text
    assert len(received.verified([SIGNER.key])) == 1


def test_unknown_signatures_are_ignored_and_known_ones_must_verify() -> None:
    data = note.assemble(TEXT, [OTHER.sign_line(b"other\n"), SIGNER.sign_line(TEXT)])
    received = Note.parse(data)
    assert [key.name for key, _ in received.verified([SIGNER.key])] == ["example.com/log"]
    assert received.verified([WITNESS.key]) == []
    with pytest.raises(MeteringError, match=r"example\.com/other.* does not verify"):
        received.verified([SIGNER.key, OTHER.key])


def test_a_known_name_with_another_key_id_is_unknown() -> None:
    twin = Signer.from_seed("example.com/log", b"\x0a" * 32)
    assert Note.parse(NOTE).verified([twin.key]) == []


def test_sixteen_signatures_are_read_and_a_hundred_and_one_are_refused() -> None:
    line = OTHER.sign_line(TEXT)
    assert len(Note.parse(note.assemble(TEXT, [line] * 16)).signatures) == 16
    assert len(Note.parse(note.assemble(TEXT, [line] * 100)).signatures) == 100
    refused(note.assemble(TEXT, [line] * 101), "101 signatures")


def test_one_signature_a_key_is_given_back_and_it_is_the_last() -> None:
    lines = [WITNESS.cosign_line(TEXT, 5), WITNESS.cosign_line(TEXT, 9)]
    found = Note.parse(note.assemble(TEXT, lines)).verified([WITNESS.key])
    assert [signature.time_s for _, signature in found] == [9]


def test_a_cosignature_covers_its_instant() -> None:
    line = WITNESS.cosign_line(TEXT, 5)
    signature = note.parse_line(line.decode()[:-1])
    later = note.Signature(
        signature.name, signature.key_id, b"\0" * 7 + b"\6" + signature.payload[8:]
    )
    assert note.is_valid(WITNESS.key, signature, TEXT)
    assert not note.is_valid(WITNESS.key, later, TEXT)
    assert not note.is_valid(WITNESS.key, note.Signature("w", b"abcd", b"short"), TEXT)


def test_text_that_is_no_note_is_refused() -> None:
    line = SIGNER.sign_line(TEXT)
    refused(b"", "blank line")
    refused(TEXT, "blank line")
    refused(TEXT + b"\n", "signature lines")
    refused(NOTE[:-1], "signature lines")
    refused(NOTE + b"\n", "signature lines|signature line")
    refused(b"x" * (note.MAX_NOTE_BYTES + 1), "at most")
    refused(b"\xff" + NOTE, "not UTF-8 at byte 0")
    refused(NOTE.replace(b"body", b"bo\x00y"), "control character")
    refused(NOTE.replace(b"body\n", b"body\r\n"), "control character")
    refused(TEXT + b"\n" + line + b"junk\n", "signature line")


def test_a_line_separator_of_unicode_is_text_and_not_a_line_end() -> None:
    text = "a\u2028b\u0085c\n".encode()
    received = Note.parse(note.assemble(text, [SIGNER.sign_line(text)]))
    assert received.text == text
    assert received.verified([SIGNER.key])
    split = NOTE.decode().replace("log ", "log\u2028 ")
    refused(split.encode(), "key name")


@pytest.mark.parametrize(
    "line",
    [
        "- example.com/log AAAAAAA=",
        "\u2014example.com/log AAAAAAA=",
        "\u2014 example.com/log",
        "\u2014 example.com/log ",
        "\u2014  AAAAAAA=",
        "\u2014 a+b AAAAAAA=",
        "\u2014 a\u00a0b AAAAAAA=",
        "\u2014 example.com/log AAAA AAA=",
        "\u2014 example.com/log AAAAAA==",
        "\u2014 example.com/log AAAAAAA=x",
        "\u2014 example.com/log AAAAAAA",
        "\u2014 example.com/log AAAAAAA=\u2028",
        "\u2014 example.com/log AAAAAAA\u00e9",
        "\u2014 example.com/log AAAA!AAA=",
        "\u2014 example.com/log AA-_AAA=",
    ],
)
def test_other_signature_lines_are_refused(line: str) -> None:
    refused(TEXT + b"\n" + line.encode() + b"\n", "key name|signature|base64")


def test_base64_with_bits_in_its_padding_is_refused() -> None:
    line = SIGNER.sign_line(TEXT).decode()
    assert line.endswith("=\n"), "68 bytes leave pad bits"
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    bent = line[:-3] + alphabet[alphabet.index(line[-3]) + 1] + "=\n"
    encoded = bent.split(" ")[2][:-1]
    assert base64.b64decode(encoded, validate=True) == base64.b64decode(line.split(" ")[2])
    refused(TEXT + b"\n" + bent.encode(), "not the one spelling")


@given(st.integers(0, len(NOTE) - 1), st.integers(1, 255))
def test_no_flipped_byte_goes_unnoticed(at: int, mask: int) -> None:
    bent = NOTE[:at] + bytes([NOTE[at] ^ mask]) + NOTE[at + 1 :]
    try:
        found = Note.parse(bent).verified([SIGNER.key])
    except MeteringError:
        found = []
    assert found == []


def test_vkeys_round_trip_and_others_are_refused() -> None:
    for signer in (SIGNER, WITNESS):
        assert Key.parse(signer.key.vkey) == signer.key
        assert signer.key.fingerprint.startswith("SHA256:")
    name, key_id, key = SIGNER.key.vkey.split("+", 2)
    typed = base64.b64decode(key)
    for vkey in [
        "",
        name,
        f"{name}+{key_id}",
        f"{name}+{key_id}+",
        f"{name}+00000000+{key}",
        f"{name}+{key_id.upper()}x+{key}",
        f"{name}+{key_id}+{key}\n",
        f"other+{key_id}+{key}",
        f"a b+{key_id}+{key}",
        f"{name}+{key_id}+{base64.b64encode(typed[:-1]).decode()}",
        f"{name}+{key_id}+{base64.b64encode(bytes([6]) + typed[1:]).decode()}",
    ]:
        with pytest.raises(MeteringError):
            Key.parse(vkey)


def test_upper_case_key_ids_are_refused() -> None:
    for seed in range(1, 20):
        key = Signer.from_seed("n", bytes([seed]) * 32).key
        if key.id.hex() != key.id.hex().upper():
            with pytest.raises(MeteringError, match="expected key id"):
                Key.parse(key.vkey.replace(key.id.hex(), key.id.hex().upper()))
            return
    raise AssertionError("no key id with a letter was found")


def test_secrets_do_not_show() -> None:
    assert "rivate" not in repr(SIGNER)
    assert ("07" * 8) not in repr(SIGNER)
