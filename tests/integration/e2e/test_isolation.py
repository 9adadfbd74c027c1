"""What a task can reach on a machine that it shares with other tasks, agents and services."""

import os
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs tasks as other users")

SPY = """
    for path in "$@"; do
        for place in "$path" "$path"/*; do
            if cat "$place" || ls "$place/" || (true >> "$place"); then
                echo "REACHED $place" >&3
            fi > /dev/null 2>&1
        done
    done 3>&1
    echo "looked as $(id -u)"
"""
SECRET = """
    for folder in "$INTERTIE_WORK_DIR" "$INTERTIE_OUTPUT_DIR" "$INTERTIE_SCRATCH" \
        "$INTERTIE_CHECKPOINT_DIR"
    do echo secret > "$folder/secret"; chmod 777 "$folder"; chmod 666 "$folder/secret"; done
    echo "$INTERTIE_WORK_DIR"; sleep 1000
"""


async def test_a_task_reaches_no_other_run_no_agent_no_identity_and_no_store(
    person: Any, cluster: Any
) -> None:
    other = await person.submit(SECRET)
    printed = await person.until_printed(other, b"\n")
    work = printed.decode().strip()
    run = work.rpartition("/")[0]
    layout = cluster.layout
    targets = [
        run,
        work,
        f"{work}/secret",
        str(layout.root / "identities"),
        str(layout.root / "ca"),
    ]
    for name in ("federation", "region", *cluster.description.agents):
        state = layout.process(name)
        assert state.exists()
        targets += [str(path) for path in state.iterdir() if path.name not in ("runs",)]
        targets += [str(path) for path in state.glob("keys")]
        targets += [str(path) for path in layout.identity(name).iterdir()]
        targets += [str(state / "runs")]
    assert len(targets) > 40
    spy = await person.submit(SPY, *targets)
    ended = await person.ended(spy)
    lines = (await person.printed(ended)).decode().splitlines()
    assert lines[-1].startswith("looked as ")
    uid = int(lines[-1].split()[-1])
    assert uid != os.geteuid()
    assert lines[:-1] == []


async def test_a_task_sees_no_credentials_in_its_environment(person: Any) -> None:
    ended = await person.ended(await person.submit("env; cat /proc/$PPID/environ"))
    printed = (await person.printed(ended)).decode()
    assert "INTERTIE_TASK=" in printed
    for word in ("identity", "key.pem", "INTERTIE_AGENT", "BEGIN "):
        assert word not in printed
