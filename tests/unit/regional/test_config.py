"""The configuration of a scheduler: what is refused, and how it is told."""

from pathlib import Path

import pytest

from intertie.config import load
from intertie.errors import IntertieError, Reason
from intertie.metering.log.note import ED25519_COSIGNATURE, Signer
from regional.__main__ import main
from regional.config import Config

WITNESS = Signer.from_seed("intertie.example/witness", bytes(32), ED25519_COSIGNATURE).key.vkey
GOOD = {
    "region": "suzhou",
    "jurisdiction": "CN/CN-JS/suzhou-park",
    "trust_domain": "intertie.example",
    "state_dir": "state",
    "federation.endpoints": '["127.0.0.1:7443"]',
    "federation.grant_keys": f'["{"ab" * 32}"]',
    "federation.witnesses": f'["{WITNESS}"]',
}


def _load(environment: dict[str, str] | None = None, **changes: str) -> Config:
    flags = {**GOOD, **{key.replace("__", "."): value for key, value in changes.items()}}
    return load(
        Config,
        flags=[f"{key}={value}" for key, value in flags.items()],
        environment=environment or {},
    )


def _refusal(**changes: str) -> IntertieError:
    with pytest.raises(IntertieError) as refusal:
        _load({}, **changes)
    assert refusal.value.reason is Reason.CONFIG_INVALID
    return refusal.value


def test_the_least_that_must_be_said_is_enough() -> None:
    config = _load()
    assert config.origin == "intertie.example/region/suzhou/metering"
    assert config.as_timing().agent_lease_over_ms == 31_060
    assert config.blobs_url.endswith("state/blobs")
    assert len(config.statement_keys[0].public) == 32
    assert config.witness_keys[0].vkey == WITNESS


def test_flags_are_stronger_than_the_environment() -> None:
    environment = {"INTERTIE_REGIONAL_TIMING__BEAT": "1s", "INTERTIE_REGIONAL_MAX_QUEUE": "7"}
    config = _load(environment, timing__beat="3s")
    assert (config.timing.beat, config.max_queue) == (3_000, 7)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"region": "Suzhou"}, "region"),
        ({"jurisdiction": "China"}, "jurisdiction"),
        ({"federation__grant_keys": '["zz"]'}, "federation.grant_keys.0"),
        ({"federation__witnesses": '["x+00000000+AAAA"]'}, "federation.witnesses.0"),
        ({"timing__beat": "5"}, "timing.beat"),
        ({"listenn": "x"}, "listenn"),
        ({"log__records": "0"}, "log.records"),
    ],
)
def test_a_bad_value_is_named_by_its_key(changes: dict[str, str], field: str) -> None:
    assert field in [violation.field for violation in _refusal(**changes).fields]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"timing__beat": "20s"}, "timing.beat"),
        ({"timing__agent_lease": "11s", "timing__beat": "1s"}, "timing.agent_lease"),
        ({"federation__grant_keys": "[]"}, "federation.grant_keys"),
        ({"federation__witnesses": "[]"}, "federation.witnesses"),
        ({"etcd__ca": "ca.pem"}, "ca, cert and key"),
    ],
)
def test_values_that_do_not_fit_together_are_refused(changes: dict[str, str], word: str) -> None:
    assert word in str(_refusal(**changes))


def test_an_unknown_key_names_the_nearest() -> None:
    assert "the nearest is max_queue" in str(_refusal(max_quee="3"))


def test_check_reads_the_file_and_starts_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "region.toml"
    file.write_text(
        'region = "suzhou"\njurisdiction = "CN/CN-JS/park"\ntrust_domain = "intertie.example"\n'
        f'state_dir = "{tmp_path / "state"}"\n[timing]\nbeat = "1s"\n'
    )
    assert main(["--config", str(file), "--check"]) == 0
    assert "valid" in capsys.readouterr().out
    assert not (tmp_path / "state").exists()


def test_check_tells_what_is_wrong_and_ends_with_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "region.toml"
    file.write_text('regoin = "suzhou"\n')
    assert main(["--config", str(file), "--check"]) == 2
    assert "the nearest is region" in capsys.readouterr().err


def test_several_replicas_are_refused_by_the_name_of_the_key_and_with_what_to_do() -> None:
    refusal = _refusal(federation__endpoints='["10.0.0.1:7443", "10.0.0.2:7443"]')
    (violation,) = refusal.fields
    assert violation.field == "federation.endpoints"
    assert "names 2 replicas" in str(refusal)
    assert "keep the one that is nearest" in str(refusal)
