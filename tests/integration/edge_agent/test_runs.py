"""Runs from their order to their end, with real processes."""

from pathlib import Path
from typing import Any

import pytest

from intertie.model.states import Outcome, RunState
from intertie.testing.waiting import eventually

MIB = 1 << 20


async def test_a_task_runs_and_its_end_is_told_after_its_samples(site: Any, agent: Any) -> None:
    order = site.order("/bin/true")
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert (end.exit_code, end.signal, dict(end.evidence)) == (0, 0, {})
    book = site.region.book(order)
    assert book.samples[-1].final
    assert book.run_ms == end.boot_ms
    assert book.states[-1] is RunState.ENDED


async def test_an_acknowledged_run_leaves_nothing_on_the_node(site: Any, agent: Any) -> None:
    order = site.python("print('x')")
    site.region.send("n1", order)
    await site.region.ended(order)
    folders = agent.live.folders
    await eventually(lambda: not list((folders.state / "runs").iterdir()), 10)
    journal = folders.keeper / "journal.log"
    await eventually(lambda: b'["gone"' in journal.read_bytes().splitlines()[-1], 10)


async def test_the_exit_code_of_a_task_is_told(site: Any, agent: Any) -> None:
    order = site.order("exit 7", shell=True)
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert end.exit_code == 7
    assert dict(end.evidence) == {}


async def test_a_missing_executable_is_named_by_its_errno(site: Any, agent: Any) -> None:
    order = site.order("no-such-program")
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert end.evidence["errno"] == "ENOENT"
    assert end.exit_code is None


async def test_an_exec_format_error_is_named_by_its_errno(site: Any, agent: Any) -> None:
    digest = await site.region.blobs.put(b"\x00\x01 no program")
    order = site.order("./junk", **site.files(("junk", digest, 13, 0o755)))
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert end.evidence["errno"] == "ENOEXEC"


async def test_a_task_that_runs_too_long_ends_by_its_timeout(site: Any, agent: Any) -> None:
    order = site.order("sleep", "60", timeout_ms=300)
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert "timeout" in end.evidence
    assert 300 <= end.boot_ms < 10_000


async def test_a_task_that_ignores_the_notice_is_killed(site: Any, agent: Any) -> None:
    order = site.order("trap '' TERM; echo deaf; while :; do sleep 1; done", shell=True)
    site.region.send("n1", order)
    await site.print_of("n1", order, b"deaf")
    site.region.stop_run("n1", order, notice_ms=300)
    end = await site.region.ended(order)
    assert end.signal == 9
    assert end.evidence["stopped"] == "the test says so"


async def test_a_stop_gives_a_task_its_notice_first(site: Any, agent: Any) -> None:
    order = site.order(
        "trap 'cat \"$INTERTIE_NOTICE_FILE\"; exit 3' TERM; echo up; while :; do sleep 0.1; done",
        shell=True,
    )
    site.region.send("n1", order)
    await site.print_of("n1", order, b"up")
    site.region.stop_run("n1", order, notice_ms=20_000)
    end = await site.region.ended(order)
    assert end.exit_code == 3
    assert b'"by": "STOP"' in await site.output(order)
    assert RunState.STOPPING in site.region.book(order).states


async def test_a_stop_of_an_unknown_run_is_answered_by_its_end(site: Any, agent: Any) -> None:
    order = site.order("/bin/true")
    site.region.stop_run("n1", order)
    end = await site.region.ended(order)
    assert "lost" in end.evidence
    assert end.boot_ms == 0


async def test_a_thousand_children_die_with_their_task(site: Any, agent: Any) -> None:
    code = (
        "import os, time\n"
        "for _ in range(1000):\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(300)\n"
        "print('forked', flush=True)\n"
    )
    order = site.python(code, memory=2 << 30)
    site.region.send("n1", order)
    end = await site.region.ended(order, within_s=60)
    assert end.exit_code == 0
    assert int(end.evidence["leftovers"]) >= 900
    assert not _processes_of(agent, order)


async def test_a_task_that_daemonises_is_killed_whole(site: Any, agent: Any) -> None:
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(300)\n"
        "    os._exit(0)\n"
        "time.sleep(0.3)\n"
    )
    order = site.python(code)
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert end.exit_code == 0
    assert not _processes_of(agent, order)


@pytest.mark.parametrize("folder", ["WORK_DIR", "OUTPUT_DIR", "CHECKPOINT_DIR", "SCRATCH"])
async def test_a_task_that_fills_its_disk_is_stopped(site: Any, agent: Any, folder: str) -> None:
    code = (
        "import os, time\n"
        f"os.chdir(os.environ['INTERTIE_{folder}'])\n"
        "for number in range(100):\n"
        "    open(f'{number}', 'wb').write(b'x' * (1 << 20))\n"
        "time.sleep(60)\n"
    )
    order = site.python(code, disk=8 * MIB)
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert "disk" in end.evidence


async def test_what_a_task_prints_is_bounded_and_keeps_its_offsets(site: Any) -> None:
    agent = site.agent(task__log_bytes="1MiB")
    await agent.up()
    await site.region.attached("n1")
    code = (
        "import os\n"
        "block = b'y' * 65535 + b'\\n'\n"
        "for _ in range(16384):\n"
        "    os.write(1, block)\n"
        "os.write(1, b'the end')\n"
    )
    order = site.python(code)
    site.region.send("n1", order)
    end = await site.region.ended(order, within_s=60)
    assert end.exit_code == 0
    newest = next(file for file in end.logs if file.path == "stdout")
    assert newest.start + newest.size == (1 << 30) + len(b"the end")
    assert sum(file.size for file in end.logs) <= MIB
    assert (await site.region.blobs.get(newest.sha256, MIB)).endswith(b"the end")
    assert min(file.start for file in end.logs) == 0


async def test_a_task_that_deletes_its_work_directory_ends_normally(site: Any, agent: Any) -> None:
    order = site.order('rm -rf "$INTERTIE_WORK_DIR"/* "$INTERTIE_WORK_DIR"; echo gone', shell=True)
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert end.exit_code == 0
    assert await site.output(order) == b"gone\n"


async def test_a_task_beyond_its_memory_limit_shows_that_as_evidence(site: Any, agent: Any) -> None:
    code = "held = []\nwhile True: held.append(bytearray(1 << 22))"
    order = site.python(code, memory=48 * MIB)
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert "oom" in end.evidence


async def test_outputs_come_back_and_a_missing_one_is_evidence(site: Any, agent: Any) -> None:
    code = 'cd "$INTERTIE_OUTPUT_DIR"; echo one > a.txt; mkdir d; echo two > d/b.txt'
    order = site.order(code, shell=True, outputs=("a.txt", "d", "c.txt"))
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert [file.path for file in end.outputs] == ["a.txt", "d/b.txt"]
    assert await site.region.blobs.get(end.outputs[1].sha256, 100) == b"two\n"
    assert "c.txt" in end.evidence["output"]


async def test_a_link_in_the_place_of_an_output_is_not_followed(site: Any, agent: Any) -> None:
    order = site.order('ln -s /etc/passwd "$INTERTIE_OUTPUT_DIR/a"', shell=True, outputs=("a",))
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert end.outputs == ()
    assert "output" in end.evidence


async def test_a_failed_task_is_not_blamed_for_a_missing_output(site: Any, agent: Any) -> None:
    order = site.order("exit 2", shell=True, outputs=("a",))
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert end.exit_code == 2
    assert "output" not in end.evidence


async def test_a_task_sees_its_environment_and_none_of_the_agents(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_SECRET", "s3cret")
    agent = site.agent(task_path="/opt/tools/bin")
    await agent.up()
    await site.region.attached("n1")
    order = site.order("/usr/bin/env", env={"MINE": "1", "MASTER_PORT": "1"})
    site.region.send("n1", order)
    printed = (await site.output(order)).decode()
    found = dict(line.split("=", 1) for line in printed.splitlines())
    root = agent.folder(order)
    assert found["INTERTIE_TASK"] == order.task
    assert found["INTERTIE_WORK_DIR"] == found["HOME"] == str(root / "work")
    assert found["INTERTIE_OUTPUT_DIR"] == str(root / "out")
    assert found["INTERTIE_CHECKPOINT_DIR"] == str(root / "checkpoint")
    assert found["INTERTIE_SCRATCH"] == found["TMPDIR"] == str(root / "scratch")
    assert found["PATH"].startswith("/opt/tools/bin:")
    assert found["CUDA_VISIBLE_DEVICES"] == ""
    assert found["MINE"] == "1"
    assert found["MASTER_PORT"] == found["PET_MASTER_PORT"] != "1"
    assert "AGENT_SECRET" not in found


async def test_a_live_log_is_followed_by_offset(site: Any, agent: Any) -> None:
    order = site.order("echo one; sleep 0.5; echo two; sleep 60", shell=True)
    site.region.send("n1", order)
    await site.print_of("n1", order, b"one")
    more = await site.region.read("n1", order, "stdout", offset=4, wait_ms=10_000)
    assert (more.data, more.offset, more.next_offset) == (b"two\n", 4, 8)
    assert not more.final
    site.region.stop_run("n1", order, outcome=Outcome.CANCELLED)
    await site.region.ended(order)


async def test_reading_the_log_of_an_unknown_run_is_refused(site: Any, agent: Any) -> None:
    chunk = await site.region.read("n1", site.order("/bin/true"), "stdout")
    assert chunk.error == "NOT_FOUND"


async def test_an_argument_list_that_no_kernel_takes_is_named(site: Any, agent: Any) -> None:
    order = site.order("/bin/echo", "x" * 200_000)
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert end.evidence["errno"] == "E2BIG"


async def test_an_environment_of_megabytes_is_refused_by_the_node(site: Any, agent: Any) -> None:
    order = site.order("/bin/true", env={f"V{n}": "x" * 100_000 for n in range(20)})
    site.region.send("n1", order)
    end = await site.region.ended(order)
    assert end.evidence["errno"] == "E2BIG"


def _processes_of(agent: Any, order: Any) -> list[str]:
    """Processes whose working directory is the run's, or was."""
    folder = str(agent.folder(order))
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                cwd = str((entry / "cwd").readlink())
            except OSError:
                continue
            if cwd.startswith(folder):
                found.append(entry.name)
    return found
