"""certs/: the profiles say what the code does, and the script issues what a server can load."""

import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from intertie.pki import profile
from intertie.pki.load import load

CERTS = Path(__file__).resolve().parents[3] / "certs"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("certs_issue", CERTS / "issue.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_profiles_repeat_the_code() -> None:
    profiles = tomllib.loads((CERTS / "profiles.toml").read_text(encoding="utf-8"))
    hours = {role.value: ms / profile.HOUR_MS for role, ms in profile.LEAF_LIFE_MS.items()}
    assert profiles["leaf_hours"] == hours
    assert profiles["backdate_minutes"] * profile.MINUTE_MS == profile.BACKDATE_MS
    assert profiles["max_skew_minutes"] * profile.MINUTE_MS == profile.MAX_SKEW_MS
    assert profiles["root_days"] * profile.DAY_MS == profile.CA_LIFE_MS
    assert profiles["regional_ca_days"] * profile.DAY_MS == profile.REGIONAL_CA_LIFE_MS


def test_a_federation_and_a_region_can_be_set_up_by_hand(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ca, eu, out = (str(tmp_path / name) for name in ("ca", "eu", "out"))
    node = "spiffe://eu.intertie.example/node/n1"
    assert script.main(["root", ca]) == 0
    assert script.main(["region", ca, eu, "eu"]) == 0
    assert script.main(["leaf", eu, out, node, "--region", "eu"]) == 0
    assert str(load(Path(out), "intertie.example").identity) == node
    printed = capsys.readouterr().out
    assert "pin sha256:" in printed
    assert "PRIVATE" not in printed


def test_a_refusal_names_its_reason_and_exits_by_the_catalogue(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ca = str(tmp_path / "ca")
    assert script.main(["root", ca]) == 0
    assert script.main(["root", ca]) == 7
    assert "exists already" in capsys.readouterr().err


def test_no_key_lies_in_the_folder() -> None:
    texts = [path for path in CERTS.iterdir() if path.is_file()]
    assert not [path for path in texts if b"PRIVATE KEY-----" in path.read_bytes()]
