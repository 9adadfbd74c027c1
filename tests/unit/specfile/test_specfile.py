"""Task files: what is read, and how faults name the field and the line."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.errors import CallerError, Exit, Reason
from intertie.model.spec import (
    Accelerators,
    CheckpointSpec,
    FileRef,
    Kind,
    OutputSpec,
    Residency,
    Resources,
    RunSpec,
    TaskSpec,
    Tolerance,
    Variant,
    When,
)
from intertie.model.states import OnDisconnect
from intertie.sdk.specfile import RESERVED, load_spec, parse_spec, spec_of

ROOT = Path(__file__).resolve().parents[3]
RUN = "run: {command: [a]}\n"


def refused(text: str | bytes) -> CallerError:
    with pytest.raises(CallerError) as caught:
        parse_spec(text if isinstance(text, bytes) else text.encode())
    return caught.value


def faults(text: str) -> Mapping[str, str]:
    return {violation.field: violation.description for violation in refused(text).fields}


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*/task.yaml")), ids=lambda p: p.parent)
def test_every_example_is_a_valid_spec_named_as_its_folder(path: Path) -> None:
    assert load_spec(path).name == path.parent.name


def test_a_full_file_is_read_into_the_model_with_its_units() -> None:
    spec = parse_spec(
        b"""
name: digits
kind: training
labels: {team: vision}
run:
  command: [python, train.py, --lr, "0.1"]
  workdir: .
  files: [{path: data/x.csv, mode: 0o755}]
  env: {OMP_NUM_THREADS: "1"}
  timeout: 1h30m
  variants:
    - when: {vendor: [nvidia], software: [cuda>=12]}
      resources: {accelerators: {count: 2, memory: 80GB, vendor: [nvidia]}}
resources: {cpu: 0.5, memory: 1.5GiB, disk: 1073741824, architecture: [x86_64]}
gang: null
checkpoint: {interval: 250ms}
outputs: [{path: model.npz}]
residency: {within: [NO, CN/CN-JS]}
tolerance: {on_disconnect: move, move_after: 8s, max_attempts: 2, interruptible: true}
"""
    )
    assert spec == TaskSpec(
        name="digits",
        kind=Kind.TRAINING,
        labels={"team": "vision"},
        run=RunSpec(
            command=("python", "train.py", "--lr", "0.1"),
            workdir=".",
            files=(FileRef(path="data/x.csv", mode=0o755),),
            env={"OMP_NUM_THREADS": "1"},
            timeout=5_400_000,
            variants=(
                Variant(
                    when=When(vendor=("nvidia",), software=("cuda>=12",)),
                    resources=Resources(
                        accelerators=Accelerators(
                            count=2, memory=80_000_000_000, vendor=("nvidia",)
                        )
                    ),
                ),
            ),
        ),
        resources=Resources(cpu=500, memory=3 << 29, disk=1 << 30, architecture=("x86_64",)),
        checkpoint=CheckpointSpec(interval=250),
        outputs=(OutputSpec(path="model.npz"),),
        residency=Residency(within=("NO", "CN/CN-JS")),
        tolerance=Tolerance(
            on_disconnect=OnDisconnect.MOVE, move_after=8000, max_attempts=2, interruptible=True
        ),
    )


def test_with_shell_the_command_may_be_one_string() -> None:
    assert parse_spec(b"run: {command: make test, shell: true}").run.command == ("make test",)
    assert "or set shell: true" in faults("run: {command: make test}")["run.command"]


def test_python_data_is_read_as_a_file_is() -> None:
    data = {
        "run": {"command": ("a",), "timeout": "5m"},
        "resources": {"cpu": 0.5, "memory": 1 << 30},
    }
    spec = spec_of(data)
    assert spec.run == RunSpec(command=("a",), timeout=300_000)
    assert (spec.resources.cpu, spec.resources.memory) == (500, 1 << 30)
    with pytest.raises(CallerError, match=r"spec: resources\.memry"):
        spec_of({**data, "resources": {"memry": 1}})
    with pytest.raises(CallerError, match=r"resources\.cpu"):
        spec_of({**data, "resources": {"cpu": float("nan")}})
    with pytest.raises(CallerError, match=r"run\.env\.A"):
        spec_of({"run": {"command": ["a"], "env": {"A": object()}}})


def test_all_faults_are_told_with_the_line_of_each() -> None:
    error = refused("run: {command: [a]}\nresources:\n  memry: 1GiB\n  cpu: -1\nkind: Training\n")
    assert "task.yaml:3: resources.memry: there is no such field; did you mean memory?" in str(
        error
    )
    assert "task.yaml:4: resources.cpu: '-1' is negative" in str(error)
    assert "task.yaml:5: kind: Training is not allowed; did you mean training?" in str(error)
    assert [violation.field for violation in error.fields] == [
        "resources.memry",
        "resources.cpu",
        "kind",
    ]
    assert error.fields[0].description.startswith("line 3: ")


def test_an_unknown_field_alone_has_its_own_reason_and_is_a_fault_of_usage() -> None:
    error = refused(RUN + "resurces: {}\n")
    assert error.reason is Reason.UNKNOWN_FIELD
    assert error.entry.exit == Exit.USAGE
    assert "did you mean resources?" in str(error)
    assert error.metadata["line"] == "2"


def test_a_field_like_no_other_lists_those_that_exist() -> None:
    assert "fields are path, uri" in faults(RUN + "outputs: [{zzz: 1}]")["outputs[0].zzz"]


@pytest.mark.parametrize(
    ("text", "field", "told"),
    [
        (RUN + "resources: {memory: 512Mib}", "resources.memory", "did you mean MiB?"),
        (RUN + "resources: {memory: 512}", "resources.memory", "512 bytes is not between 1 MiB"),
        (RUN + "resources: {cpu: .nan}", "resources.cpu", "'.nan' is not a number"),
        (RUN + "resources: {cpu: .inf}", "resources.cpu", "'.inf' is not a number"),
        (RUN + "resources: {cpu: 1e3}", "resources.cpu", "'1e3' is not a number"),
        (RUN + "resources: {cpu: true}", "resources.cpu", "true is not a number"),
        (RUN + "resources: {cpu: [1]}", "resources.cpu", "must be one value"),
        (RUN + "resources: {accelerators: {count: -1}}", "resources.accelerators.count", "-1"),
        (RUN + "resources: {accelerators: {count: 1.5}}", "resources.accelerators.count", "whole"),
        (RUN + "resources: {accelerators: {count: .nan}}", "resources.accelerators.count", "whole"),
        (RUN + "resources: big", "resources", "must have fields"),
        (RUN + "resources:", "resources", "has no value"),
        (RUN + "array: 1e9", "array", "not a whole number"),
        (RUN + "array: 99999999999999999999", "array", "not a whole number"),
        (RUN + "name: 5", "name", 'write "5" in quotes'),
        (RUN + "name: [a]", "name", "must be text"),
        (RUN + "labels: {a: true}", "labels.a", 'write "true" in quotes'),
        (RUN + "labels: [a]", "labels", "names with values"),
        (RUN + "outputs: model.npz", "outputs", "must be a list"),
        (RUN + "outputs: {path: x}", "outputs", "must be a list"),
        (RUN + "tolerance: {interruptible: yes}", "tolerance.interruptible", "true or false"),
        (RUN + "kind: [a]", "kind", "a list is not allowed"),
        (RUN + "kind: {a: 1}", "kind", "a group of fields is not allowed"),
        (RUN + "priority: zzz", "priority", "it is one of guaranteed, normal"),
        (RUN + "budget: {total: {currency: eur, units: 5}}", "budget.total.currency", "'eur'"),
        (RUN + "data: [{uri: x}]", "data[0].name", "must be given"),
        ("name: a", "run", "must be given"),
        ("run: {command: [a], timeout: 90}", "run.timeout", "90"),
        ("run: {command: [a], timeout: 1:30}", "run.timeout", "not a duration"),
        ("run: {command: [a], timeout: 5min}", "run.timeout", "no unit 'min'"),
        ("run: {command: [a], env: {A: 1}}", "run.env.A", 'write "1" in quotes'),
        ("run: {command: [a], files: [{path: a, mode: 0644}]}", "run.files[0].mode", "0644"),
        ("5", "spec", "must have fields"),
        ("[a]", "spec", "must have fields"),
    ],
)
def test_a_wrong_value_is_refused_by_the_path_of_its_field(
    text: str, field: str, told: str
) -> None:
    found = faults(text)
    assert list(found) == [field]
    assert told in found[field]


def test_reserved_fields_are_known_and_refused_by_name() -> None:
    text = (
        "run: {command: [a], secrets: [x], network: none}\n"
        "data: [{name: a, credentials: x}]\nmodel_weights: [{name: a, credentials: x}]"
    )
    found = faults(text)
    assert {field.replace("[0]", "") for field in found} == RESERVED
    assert all("is reserved and not served" in told for told in found.values())


def test_a_contradiction_names_the_line_of_the_field_at_fault() -> None:
    error = refused(
        "run:\n  command: [a, b]\n  shell: true\nplacement:\n  only: [eu]\n  never: [eu]"
    )
    assert error.reason is Reason.SPEC_CONTRADICTION
    assert "task.yaml:2: run.command: has 2 strings" in str(error)
    assert "task.yaml:5: placement.only: eu is in placement.never too" in str(error)


def test_a_field_that_is_not_served_says_what_to_do_instead() -> None:
    found = faults(RUN + "tolerance: {deadline: 5m}\n")
    assert "is not served by this version" in found["tolerance.deadline"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("run: {command: [a]}\nrun: {command: [b]}", "'run' was given before, in line 1"),
        (RUN + "---\nname: b", "a second document begins"),
        ("", "the file is empty"),
        ("# nothing", "the file is empty"),
        ("run: [a", "expected ',' or ']'"),
        ("run: {command: [a]}\n\tname: x", "task.yaml:2"),
        ("run: !!python/object/apply:os.system [x]", "is not allowed"),
        ("run: !x {}", "tag '!x' is not allowed"),
        ("name: !!binary aGk=", "is not allowed"),
        ("run: *a", "no anchor 'a'"),
        ("run: &a [*a]", "no anchor 'a'"),
        ("? [a]\n: b", "a key must be plain text"),
        ("[" * 200_000, "task.yaml:1"),
        ("[" * 40 + "]" * 40, "nested more than 32 deep"),
        ("a: \x01", "control characters"),
        (b"name: \xff", "task.yaml:1: byte 6 is not valid UTF-8"),
        (b"a: 1\nb: \xc3\x28", "task.yaml:2: byte 8 is not valid UTF-8"),
    ],
)
def test_what_is_no_plain_yaml_is_refused_with_the_line(text: str | bytes, told: str) -> None:
    error = refused(text)
    assert error.reason is Reason.INVALID_FIELD
    assert told in str(error)
    assert "task.yaml:" in str(error)


def test_an_alias_bomb_is_stopped_by_what_it_expands_to() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    assert "more than 100000 values" in str(refused("\n".join(lines)))


def test_a_file_of_10_mb_is_too_large_and_never_parsed(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(RUN + "env: " + "x" * 10_000_000)
    with pytest.raises(CallerError) as caught:
        load_spec(path)
    assert caught.value.reason is Reason.TOO_LARGE


def test_a_large_environment_and_a_long_command_are_too_large() -> None:
    argv = f"run: {{command: [{'x' * 200_000}]}}"
    assert refused(argv).reason is Reason.TOO_LARGE
    env = f"run: {{command: [a], env: {{A: {'x' * 300_000}}}}}"
    assert refused(env).reason is Reason.TOO_LARGE


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CallerError, match=r"none\.yaml: No such file"):
        load_spec(tmp_path / "none.yaml")


def test_a_byte_order_mark_and_windows_lines_are_fine() -> None:
    assert parse_spec(b"\xef\xbb\xbfrun:\r\n  command: [a]\r\n").run.command == ("a",)


def test_words_of_yaml_1_1_stay_text() -> None:
    spec = parse_spec(b'run: {command: [yes, no, on, 2026-01-01, 1:30, "", !!str 5]}')
    assert spec.run.command == ("yes", "no", "on", "2026-01-01", "1:30", "", "5")


def test_an_anchor_may_be_used_again() -> None:
    spec = parse_spec(b"run: {command: &c [a, b], variants: [{when: {}, command: *c}]}")
    assert spec.run.variants[0].command == ("a", "b")


@given(
    st.binary(max_size=60)
    | st.text(max_size=60).map(lambda text: RUN.encode() + text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes_are_a_spec_or_refused_and_nothing_else(data: bytes) -> None:
    with suppress(CallerError):
        assert isinstance(parse_spec(data), TaskSpec)
