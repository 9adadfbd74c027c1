"""Contexts: read, written, and every fault with the file, the key and what to do."""

import stat
from pathlib import Path

import pytest

from intertie.errors import IntertieError, Reason
from intertie.sdk.contexts import Context, Contexts, RegionAccess, config_path, load_contexts

FULL = Context(
    name="dev",
    endpoint="127.0.0.1:7400",
    identity="/keys/ann",
    project="vision",
    region=RegionAccess(id="eu", endpoint="127.0.0.1:7500", identity="/keys/olga"),
)


def fault_of(path: Path) -> IntertieError:
    with pytest.raises(IntertieError) as caught:
        load_contexts(path)
    assert caught.value.reason is Reason.CONFIG_INVALID
    assert str(path) in caught.value.message
    assert caught.value.remedy
    return caught.value


def test_what_is_written_reads_back_and_is_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "config.toml"
    strange = Context(name='a "b"\n.c', endpoint="h:1", identity="~/ü \\ \x7f")
    Contexts(path).with_context(FULL, use=True).with_context(strange, use=False).save()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    read = load_contexts(path)
    assert read.current == "dev"
    assert dict(read.by_name) == {"dev": FULL, strange.name: strange}


def test_the_server_names_come_from_the_trust_domain_and_region() -> None:
    assert FULL.federation().server_name == "federation.intertie.example"
    assert FULL.pool().server_name == "scheduler.eu.intertie.example"
    assert FULL.pool().identity == Path("/keys/olga")


def test_a_context_without_a_region_says_how_to_add_one() -> None:
    with pytest.raises(IntertieError, match="intertie context add"):
        Context(name="x", endpoint="h:1", identity="d").pool()


def test_a_missing_file_says_how_to_get_one(tmp_path: Path) -> None:
    assert "intertie dev up" in fault_of(tmp_path / "config.toml").remedy


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("current = [", "TOML"),
        ("colour = 'red'", "may hold"),
        ("[contexts.a]\nendpoint = 'h:1'", "lacks identity in contexts.a"),
        ("[contexts.a]\nendpoint = 'h:1'\nidentity = 'd'\ncolour = 'red'", "contexts.a.colour"),
        ("[contexts.a]\nendpoint = 1\nidentity = 'd'", "contexts.a.endpoint"),
        ("[contexts]\na = 1", "contexts.a that is no table"),
        (
            "[contexts.a]\nendpoint = 'h:1'\nidentity = 'd'\n[contexts.a.region]\nid = 'eu'",
            "lacks endpoint, identity in contexts.a.region",
        ),
    ],
    ids=["toml", "unknown", "lacking", "unknown-key", "number", "no-table", "region"],
)
def test_a_faulty_file_names_the_key(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    assert told in fault_of(path).message


def test_an_unknown_context_names_those_that_exist(tmp_path: Path) -> None:
    contexts = Contexts(tmp_path / "c.toml").with_context(FULL, use=True)
    with pytest.raises(IntertieError, match="there are: dev"):
        contexts.get("prod")
    with pytest.raises(IntertieError, match="no current context"):
        Contexts(tmp_path / "c.toml").get()


def test_the_file_is_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERTIE_CONFIG", str(tmp_path / "mine.toml"))
    assert config_path() == tmp_path / "mine.toml"
    monkeypatch.delenv("INTERTIE_CONFIG")
    assert config_path().name == "config.toml"
