"""Links, keepers and regions that die or fall silent: nothing is lost, nothing runs twice."""

import os
import signal
from typing import Any

from intertie.model.states import Outcome, RunState
from intertie.testing.waiting import consistently, eventually, let_pass

COUNT = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.1; done"


async def spawned(site: Any, **settings: Any) -> Any:
    agent = site.agent(**settings)
    agent.spawn()
    await site.region.attached(agent.name)
    return agent


async def test_a_run_goes_on_over_the_death_of_its_link(site: Any, alive: Any) -> None:
    agent = await spawned(site)
    order = site.order(f"echo $$; {COUNT}", shell=True)
    site.region.send("n1", order)
    pid = int((await site.print_of("n1", order, b"\n1\n")).split()[0])
    agent.kill_link()
    await site.region.detached("n1")
    assert alive(pid)
    agent.spawn()
    await site.region.attached("n1")
    assert [run.task for run in site.region.hellos[-1].runs] == [order.task]
    assert site.region.hellos[-1].keeper_incarnation == site.region.hellos[0].keeper_incarnation
    assert alive(pid)
    site.region.stop_run("n1", order, notice_ms=2_000)
    end = await site.region.ended(order)
    assert end.pid == pid
    book = site.region.book(order)
    assert book.run_ms == end.boot_ms > 0
    assert [sample.interval for sample in book.samples] == list(range(1, len(book.samples) + 1))


async def test_an_end_that_came_while_the_link_was_dead_is_told_once_it_lives(
    site: Any, alive: Any
) -> None:
    agent = await spawned(site)
    order = site.order("echo $$; sleep 1; exit 5", shell=True)
    site.region.send("n1", order)
    pid = int(await site.print_of("n1", order, b"\n"))
    agent.kill_link()
    await eventually(lambda: not alive(pid), 20)
    agent.spawn()
    end = await site.region.ended(order)
    assert end.exit_code == 5
    assert 1_000 <= end.boot_ms < 10_000
    assert b"%d\n" % pid == await site.output(order)


async def test_a_killed_link_loses_no_run_whatever_it_was_doing(site: Any) -> None:
    agent = await spawned(site)
    digest = await site.region.blobs.put(b"data")
    orders = [
        site.order("cat a; sleep 0.2", shell=True, **site.files(("a", digest, 4, 0o644)))
        for _ in range(12)
    ]
    for order in orders:
        site.region.send("n1", order)
    for _ in range(3):
        await let_pass(0.15, "the link is killed in the middle of its work")
        agent.kill_link()
        agent.spawn()
        await site.region.attached("n1")
        held = {run.task for run in site.region.hellos[-1].runs}
        for order in orders:
            if site.region.book(order).end is None and order.task not in held:
                site.region.send("n1", order)
    for order in orders:
        end = await site.region.ended(order)
        assert end.exit_code == 0
        assert await site.output(order) == b"data"


async def test_runs_of_a_killed_keeper_are_lost_and_their_processes_dead(
    site: Any, agent: Any, alive: Any
) -> None:
    order = site.order(f"(setsid sleep 300 & echo $!); echo $$; {COUNT}", shell=True)
    site.region.send("n1", order)
    printed = await site.print_of("n1", order, b"\n1\n")
    pids = [int(word) for word in printed.split()[:2]]
    first = site.region.hellos[-1].keeper_incarnation
    os.kill(agent.keeper(), signal.SIGKILL)
    end = await site.region.ended(order)
    assert "lost" in end.evidence
    assert end.exit_code is None
    assert end.boot_ms > 0
    assert not any(alive(pid) for pid in pids)
    assert b"1\n" in await site.output(order)
    assert agent.live.keeping.incarnation != first
    again = site.order("/bin/true")
    site.region.send("n1", again)
    assert (await site.region.ended(again)).exit_code == 0


async def test_the_death_of_link_and_keeper_together_loses_runs_but_no_word(
    site: Any, alive: Any
) -> None:
    agent = await spawned(site)
    order = site.order(f"echo $$; {COUNT}", shell=True)
    site.region.send("n1", order)
    pid = int((await site.print_of("n1", order, b"\n1\n")).split()[0])
    keeper = agent.keeper()
    agent.kill_link()
    os.kill(keeper, signal.SIGKILL)
    await eventually(lambda: not alive(pid), 10)
    agent.spawn()
    end = await site.region.ended(order)
    assert "lost" in end.evidence


async def test_ends_and_samples_wait_for_a_region_that_is_away(site: Any, agent: Any) -> None:
    order = site.order("sleep 0.5; echo done", shell=True)
    site.region.send("n1", order)
    await site.region.told(order, RunState.RUNNING)
    await site.region.down()
    await let_pass(1.0, "the task ends while the region is away")
    await site.region.up()
    end = await site.region.ended(order)
    assert end.exit_code == 0
    assert await site.output(order) == b"done\n"
    assert site.region.hellos[-1].incarnation == site.region.hellos[0].incarnation


async def test_what_is_not_acknowledged_is_told_again(site: Any, agent: Any) -> None:
    site.region.acknowledges = False
    order = site.order("/bin/true")
    site.region.send("n1", order)
    await eventually(lambda: any(_is_end(m, order) for m in site.region.heard), 20)
    site.region.faults.clear()
    site.region.acknowledges = True
    await site.region.attached("n1")
    end = await site.region.ended(order)
    assert end.exit_code == 0
    assert await eventually(lambda: not list((agent.state / "runs").iterdir()), 10)


async def test_a_move_run_is_stopped_when_its_lease_is_over_and_a_stay_run_goes_on(
    site: Any, agent: Any, alive: Any
) -> None:
    site.region.lease_ms = 4_500
    move = site.order(f"echo $$; {COUNT}", shell=True, is_move=True, lease_ms=4_500)
    stay = site.order(f"echo $$; {COUNT}", shell=True)
    for order in (move, stay):
        site.region.send("n1", order)
    moving, staying = [
        int((await site.print_of("n1", order, b"\n2\n")).split()[0]) for order in (move, stay)
    ]
    await let_pass(2.0, "longer than one lease lasts, while beats renew it")
    assert alive(moving)
    await site.region.down()
    await eventually(lambda: not alive(moving), 4.5, what="the keeper stops the move run")
    assert alive(staying)
    await site.region.up()
    end = await site.region.ended(move)
    assert "deadline" in end.evidence
    assert alive(staying)
    site.region.stop_run("n1", stay, notice_ms=100)
    await site.region.ended(stay)


async def test_the_lease_ends_a_move_run_though_its_link_is_frozen(site: Any, alive: Any) -> None:
    site.region.lease_ms = 4_500
    agent = await spawned(site)
    order = site.order(f"echo $$; {COUNT}", shell=True, is_move=True, lease_ms=4_500)
    site.region.send("n1", order)
    pid = int((await site.print_of("n1", order, b"\n1\n")).split()[0])
    os.kill(agent.process.pid, signal.SIGSTOP)
    await eventually(lambda: not alive(pid), 6, what="the keeper stops the move run")
    os.kill(agent.process.pid, signal.SIGCONT)
    assert "deadline" in (await site.region.ended(order)).evidence


async def test_a_move_run_does_not_start_before_a_beat_was_answered(site: Any) -> None:
    site.region.answers_beats = False
    agent = site.agent()
    await agent.up()
    await site.region.attached("n1")
    order = site.order("/bin/true", is_move=True, lease_ms=6_000)
    site.region.send("n1", order)
    await site.region.told(order, RunState.STARTING)
    await consistently(lambda: RunState.RUNNING not in site.region.book(order).states, 0.5)
    site.region.answers_beats = True
    assert (await site.region.ended(order)).exit_code == 0


async def test_a_newer_token_supersedes_the_older_run_of_a_task(
    site: Any, agent: Any, alive: Any
) -> None:
    old = site.order(f"echo $$; {COUNT}", shell=True)
    site.region.send("n1", old)
    pid = int((await site.print_of("n1", old, b"\n1\n")).split()[0])
    new = site.order("echo new", task=old.task, shell=True, sub=2)
    site.region.send("n1", new)
    end = await site.region.ended(old)
    assert "superseded" in end.evidence
    assert not alive(pid)
    assert await site.output(new) == b"new\n"
    again = site.order("/bin/true", task=old.task, n=2)
    site.region.send("n1", again)
    assert (await site.region.ended(again)).exit_code == 0


async def test_an_older_token_is_refused_even_when_the_newer_run_is_forgotten(
    site: Any, agent: Any
) -> None:
    new = site.order("/bin/true", sub=5)
    site.region.send("n1", new)
    await site.region.ended(new)
    await eventually(lambda: not list((agent.state / "runs").iterdir()), 10)
    old = site.order("/bin/true", task=new.task, sub=4)
    site.region.send("n1", old)
    assert "superseded" in (await site.region.ended(old)).evidence


async def test_a_second_agent_with_the_same_node_id_gets_no_work(site: Any, agent: Any) -> None:
    other = site.agent("n1", state="other")
    await other.up()
    await eventually(lambda: other.live.link.fault is not None, 10)
    assert other.live.link.fault.reason.value == "SESSION_TAKEN"
    order = site.order("/bin/true")
    site.region.send("n1", order)
    assert (await site.region.ended(order)).exit_code == 0
    assert site.region.is_attached("n1")
    assert len({hello.incarnation for hello in site.region.hellos}) == 1


async def test_a_stop_that_came_before_a_restart_is_carried_out_after_it(site: Any) -> None:
    agent = await spawned(site)
    order = site.order(f"trap '' TERM; {COUNT}", shell=True)
    site.region.send("n1", order)
    await site.print_of("n1", order, b"1\n")
    site.region.stop_run("n1", order, outcome=Outcome.EVICTED, notice_ms=3_000)
    await site.region.told(order, RunState.STOPPING)
    agent.kill_link()
    agent.spawn()
    end = await site.region.ended(order)
    assert end.signal == 9
    assert "stopped" in end.evidence


def _is_end(message: Any, order: Any) -> bool:
    return (
        getattr(message, "task", "") == order.task
        and getattr(message, "state", None) is RunState.ENDED
    )
