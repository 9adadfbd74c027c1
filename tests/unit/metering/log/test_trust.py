"""The trust file: its lines, its quorum, and what it vouches for."""

from typing import Any

import pytest

from intertie.errors import IntertieError
from intertie.metering.faults import Fault, MeteringError
from intertie.metering.log import checkpoint
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.note import Signer
from intertie.metering.log.trust import open_checkpoint, parse_trust, print_trust

ORIGIN = "fed.example/region/r1/metering"
LOG = Signer.from_seed(ORIGIN, b"\x01" * 32)
OLD = Signer.from_seed(ORIGIN, b"\x02" * 32)
W = [Signer.from_seed(f"w{n}.example", bytes([16 + n]) * 32, 4) for n in range(4)]
FILE = f"""\
# who may be believed
log {OLD.key.vkey}
log {LOG.key.vkey} https://log.example/r1

witness a {W[0].key.vkey} https://a.example
witness b {W[1].key.vkey}
witness c {W[2].key.vkey}   # the auditor
group two 2 a b
group either any two c
quorum either
"""


def signed(*witnesses: Signer, log: Signer = LOG) -> bytes:
    data = checkpoint.sign(Checkpoint(log.key.name, 3, b"\x05" * 32), log)
    for witness in witnesses:
        data = checkpoint.cosign(data, witness, 1_700_000_000)
    return data


def test_a_trust_file_round_trips() -> None:
    trust = parse_trust(FILE)
    assert trust.log_keys(ORIGIN) == (OLD.key, LOG.key)
    assert trust.groups["either"].members == ("two", "c")
    assert parse_trust(print_trust(trust)) == trust
    printed = print_trust(trust, fingerprints=True)
    assert f"# current key of {ORIGIN}  {LOG.key.fingerprint}" in printed
    assert f"# old key of {ORIGIN}  {OLD.key.fingerprint}" in printed
    assert f"# witness a  {W[0].key.fingerprint}" in printed
    assert parse_trust(printed) == trust


@pytest.mark.parametrize(
    ("cosigned", "met"),
    [("", False), ("a", False), ("ab", True), ("c", True), ("bc", True), ("d", False)],
)
def test_the_quorum_decides_whether_a_checkpoint_holds(cosigned: str, met: bool) -> None:
    trust = parse_trust(FILE)
    assert trust.is_met(cosigned) is met
    data = signed(*(W["abcd".index(name)] for name in cosigned))
    if met:
        names = [name for name, _ in open_checkpoint(data, trust).cosignatures]
        assert names == [name for name in cosigned if name != "d"]
    else:
        with pytest.raises(MeteringError, match="expected quorum either") as caught:
            open_checkpoint(data, trust)
        assert caught.value.fault is Fault.QUORUM_NOT_MET


def test_no_quorum_is_met_by_nobody() -> None:
    trust = parse_trust(f"log {LOG.key.vkey}\nquorum none\n")
    assert open_checkpoint(signed(), trust).cosignatures == ()
    assert parse_trust("quorum none").log_keys(ORIGIN) == ()


def test_a_group_of_all_means_all() -> None:
    lines = [f"witness w{n} {W[n].key.vkey}" for n in range(3)]
    trust = parse_trust("\n".join([*lines, "group every all w0 w1 w2", "quorum every"]))
    assert trust.is_met(["w0", "w1", "w2"])
    assert not trust.is_met(["w0", "w1"])


def test_old_keys_still_verify() -> None:
    trust = parse_trust(FILE)
    assert open_checkpoint(signed(W[2], log=OLD), trust).log_key == OLD.key
    assert open_checkpoint(signed(W[2]), trust).log_key == LOG.key


def test_each_way_to_fail_has_its_word() -> None:
    trust = parse_trust(FILE)
    stranger = Signer.from_seed(ORIGIN, b"\x09" * 32)
    elsewhere = Signer.from_seed("fed.example/region/r2/metering", b"\x01" * 32)
    bad_log = signed(W[2]).replace(b"\n3\n", b"\n4\n")
    good = signed(W[2])
    at = good.rindex(b" ") + 20
    bad_witness = good[:at] + (b"A" if good[at : at + 1] != b"A" else b"B") + good[at + 1 :]
    for data, fault in [
        (b"junk", Fault.BAD_NOTE),
        (signed(W[2], log=elsewhere), Fault.UNKNOWN_ORIGIN),
        (signed(W[2], log=stranger), Fault.BAD_LOG_SIG),
        (bad_log, Fault.BAD_LOG_SIG),
        (bad_witness, Fault.BAD_NOTE),
    ]:
        with pytest.raises(MeteringError) as caught:
            open_checkpoint(data, trust)
        assert caught.value.fault is fault


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "quorum"),
        (FILE + "quorum a\n", "line 11"),
        ("quorum a\n", "line 1"),
        ("log\n", "line 1"),
        ("log junk\n", "line 1"),
        (f"log {W[0].key.vkey}\n", "line 1"),
        (f"witness a {LOG.key.vkey}\n", "line 1"),
        (f"log {LOG.key.vkey}\nlog {LOG.key.vkey}\n", "line 2"),
        (f"witness a {W[0].key.vkey}\nwitness b {W[0].key.vkey}\n", "line 2"),
        (f"witness a {W[0].key.vkey}\nwitness a {W[1].key.vkey}\n", "line 2"),
        (f"witness none {W[0].key.vkey}\n", "line 1"),
        ("group g 1 a\n", "line 1"),
        (f"witness a {W[0].key.vkey}\ngroup g 1 a a\n", "line 2"),
        (f"witness a {W[0].key.vkey}\ngroup g 2 a\n", "line 2"),
        (f"witness a {W[0].key.vkey}\ngroup g 0 a\n", "line 2"),
        (f"witness a {W[0].key.vkey}\ngroup g \u0661 a\n", "line 2"),
        (f"witness a {W[0].key.vkey}\ngroup a 1 a\n", "line 2"),
        ("quorum none extra\n", "line 1"),
        ("trust everybody\n", "line 1"),
    ],
)
def test_a_wrong_line_is_named(text: str, line: str) -> None:
    with pytest.raises(IntertieError) as caught:
        parse_trust(text)
    fields: Any = caught.value.fields
    assert fields[0].field == line
