"""The configuration: sources, units, cross-checks, and errors that name the key."""

from pathlib import Path

import pytest

from federation.__main__ import main
from federation.config import Config
from intertie.config import load
from intertie.errors import IntertieError, Reason


def test_flags_are_stronger_than_the_environment_and_that_than_the_file(tmp_path: Path) -> None:
    file = tmp_path / "federation.toml"
    file.write_text('state_dir = "s"\nreplica = "a"\nmetrics_port = 1\n[timing]\nlease = "20m"\n')
    environment = {
        "INTERTIE_FEDERATION_REPLICA": "b",
        "INTERTIE_FEDERATION_METRICS_PORT": "2",
        "INTERTIE_FEDERATION_TIMING__HOLD": "5s",
    }
    config = load(Config, file=file, environment=environment, flags=["metrics_port=3"])
    assert (config.replica, config.metrics_port) == ("b", 3)
    assert (config.timing.lease, config.timing.hold) == (1_200_000, 5_000)


def test_paths_follow_from_the_state_directory(tmp_path: Path) -> None:
    config = load(Config, flags=[f"state_dir={tmp_path}"], environment={})
    assert config.store_url == f"sqlite:///{tmp_path}/store.sqlite"
    assert config.blob_root == f"{tmp_path}/blobs"
    assert config.identity == tmp_path / "identity"


@pytest.mark.parametrize(
    ("flag", "part"),
    [
        ("timing.leese=20s", "timing.leese: is no setting; the nearest is timing.lease"),
        ("timing.lease=20", "timing.lease: '20' is not a duration"),
        ("timing.lease=3s", "lease must be at least 6 beats"),
        ("timing.unknown_after=1s", "unknown_after must be at least 2 beats"),
        ("timing.summary_max_age=1s", "summary_max_age must be at least 2 beats"),
        ("timing.hold=1s", "hold must be above offer_wait"),
        ("etcd.ca=ca.pem", "ca, cert and key go together"),
        ("replica=R 1", "replica: "),
        ("metrics_port=99999", "metrics_port: "),
        ("stat_dir=x", "stat_dir: is no setting; the nearest is state_dir"),
    ],
    ids=lambda text: text.partition("=")[0] if "=" in text else "",
)
def test_a_setting_that_cannot_be_is_refused_by_its_key(flag: str, part: str) -> None:
    with pytest.raises(IntertieError) as refused:
        load(Config, flags=["state_dir=s", flag], environment={})
    assert refused.value.reason is Reason.CONFIG_INVALID
    assert part in str(refused.value)


def test_a_variable_that_is_no_setting_is_refused_by_its_name() -> None:
    environment = {"INTERTIE_FEDERATION_REPLIKA": "b"}
    with pytest.raises(IntertieError, match="the nearest is INTERTIE_FEDERATION_REPLICA"):
        load(Config, flags=["state_dir=s"], environment=environment)


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text("state_dir = [")
    with pytest.raises(IntertieError, match=str(file)):
        load(Config, file=file, environment={})
    with pytest.raises(IntertieError, match="cannot be read"):
        load(Config, file=tmp_path / "missing.toml", environment={})


def test_check_validates_and_exits_without_serving(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = ["--set", f"state_dir={tmp_path / 's'}"], ["--set", "state_dir=1", "--set", "x=1"]
    assert main([*good, "--check"]) == 0
    assert "valid" in capsys.readouterr().out
    assert main([*bad, "--check"]) == 2
    assert "x: is no setting" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()
