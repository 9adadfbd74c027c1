"""Log checkpoints: three lines and no more."""

from collections.abc import Callable

import pytest

from intertie.metering.faults import Fault, MeteringError
from intertie.metering.log import checkpoint
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.merkle import EMPTY_ROOT
from intertie.metering.log.note import Signer

ROOT = b"\x11" * 32
GOOD = Checkpoint("example.com/log", 3, ROOT)


def test_a_checkpoint_round_trips() -> None:
    assert Checkpoint.parse(GOOD.text()) == GOOD
    empty = Checkpoint("example.com/log", 0, EMPTY_ROOT)
    assert Checkpoint.parse(empty.text()) == empty


@pytest.mark.parametrize(
    "size",
    ["03", "+3", "-3", "1_000", " 3", "3 ", "\u0663", "3.0", "0x3", "", "9223372036854775808"],
)
def test_sizes_have_one_spelling(size: str) -> None:
    text = GOOD.text().replace(b"\n3\n", f"\n{size}\n".encode())
    with pytest.raises(MeteringError, match="size") as caught:
        Checkpoint.parse(text)
    assert caught.value.fault is Fault.BAD_NOTE


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + b"extension\n",
        lambda text: text[:-1],
        lambda text: b"\n" + text.split(b"\n", 1)[1],
        lambda text: text.replace(b"ERERERE=", b"ERERERF="),
        lambda text: text.replace(b"ERERERE=", b"ERERER=="),
        lambda text: text.replace(b"ERERERE=", b"ERERE="),
        lambda text: text.replace(b"ERERERE=\n", b"ERERERE=\x0b\n"),
        lambda text: text.replace(b"\n3\n", b"\n0\n"),
        lambda text: b"one line\n",
    ],
)
def test_other_texts_are_refused(change: Callable[[bytes], bytes]) -> None:
    with pytest.raises(MeteringError) as caught:
        Checkpoint.parse(change(GOOD.text()))
    assert caught.value.fault is Fault.BAD_NOTE


def test_only_lines_are_added_to_a_signed_checkpoint() -> None:
    log = Signer.from_seed("example.com/log", b"\x01" * 32)
    other = Signer.from_seed("example.com/w", b"\x02" * 32, 4)
    signed = checkpoint.sign(GOOD, log)
    line = other.cosign_line(GOOD.text(), 5)
    assert checkpoint.add_lines(signed, line) == checkpoint.cosign(signed, other, 5)
    for junk in (b"junk\n", b"\n", line[:-1]):
        with pytest.raises(MeteringError):
            checkpoint.add_lines(signed, junk)
