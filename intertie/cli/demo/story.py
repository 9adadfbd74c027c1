"""The story of the demo: submit, plan, watch, break, prove. Every figure is read from the
system.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from tenacity import AsyncRetrying, RetryError, retry_if_result, stop_after_delay, wait_fixed

from intertie.cli.demo.bill import prove_the_bill
from intertie.cli.demo.examples import TRAINING, Example, load_examples
from intertie.cli.demo.telling import Telling
from intertie.cli.dev.cluster import Cluster
from intertie.errors import Reason, error
from intertie.model.spec import Resources
from intertie.model.states import RunState, TaskState
from intertie.model.task import Plan, Task
from intertie.sdk.client import Client

POLL_S = 0.2
PATIENCE_S = 240.0
FIRST_STEP = 5
"""The node is killed only after this step is committed: there must be something to lose."""

T = TypeVar("T")


class Story:
    """One run of the demo over a development federation that runs already."""

    def __init__(self, cluster: Cluster, examples: Path, telling: Telling) -> None:
        self.cluster = cluster
        self.examples = load_examples(examples)
        self.tell = telling
        self.names: dict[str, list[str]] = {}

    async def run(self) -> None:
        """All parts, in order."""
        config = self.cluster.layout.context_file
        async with Client.from_context("dev", config=config) as client:
            await self._plan(client)
            await self._submit(client)
            await self._kill_the_node(client)
            await self._kill_the_servers(client)
            await self._results(client)
        await prove_the_bill(self.cluster, self.names, self.tell)

    # --- parts -----------------------------------------------------------------------------------

    async def _plan(self, client: Client) -> None:
        self.tell.heading("Plan: where would it run, and why?")
        training = self._example(TRAINING)
        self.tell.command(f"intertie plan {training.folder}/task.yaml")
        plan = await self._ready_plan(client, training)
        self._show_plan(plan)
        self.tell.check(plan.chosen, f"the plan names a region: {plan.chosen}")
        big = replace(training.spec, resources=Resources(memory=1 << 40))
        refused = await client.plan_task(big, base=training.folder)
        self.tell.check(not refused.chosen, f"with 1 TiB of memory: {refused.remedy}")

    async def _ready_plan(self, client: Client, example: Example) -> Plan:
        """The first summaries come a moment after the agents attach."""

        async def ask() -> Plan:
            return await client.plan_task(example.spec, base=example.folder)

        return await self._until(ask, lambda plan: bool(plan.chosen), "a region with room")

    def _show_plan(self, plan: Plan) -> None:
        rows = [
            (v.region, c.name, c.need, c.have, "yes" if c.holds else "NO")
            for v in plan.verdicts
            for c in v.checks
        ]
        self.tell.table(("REGION", "CHECK", "NEED", "HAVE", "HOLDS"), rows)

    async def _submit(self, client: Client) -> None:
        self.tell.heading("Submit real tasks")
        for example in self.examples:
            task = await client.create_task(example.spec, base=example.folder)
            self.names[example.name] = [str(task.name)]
            if example.spec.array:
                found = [t async for t in client.list_tasks(f'group = "{task.group}"')]
                self.names[example.name] = sorted(str(t.name) for t in found)
        count = sum(len(names) for names in self.names.values())
        self.tell.fact(f"{len(self.examples)} specs, {count} tasks, each durable before its ack")

    async def _kill_the_node(self, client: Client) -> None:
        self.tell.heading("Kill the node of the training: agent, keeper and tasks at once")
        name = self.names[TRAINING][0]
        task = await self._until_task(client, name, _has_checkpoint, "a committed checkpoint")
        before = task.run
        assert before is not None, "a task with a checkpoint has a run"
        assert before.checkpoint is not None, "awaited above"
        self.tell.fact(
            f"{TRAINING} runs on {before.node}, checkpoint of step {before.checkpoint.step}"
            f" committed under token {before.checkpoint.token}"
        )
        await self._show_states(client)
        await asyncio.to_thread(self.cluster.kill, before.node)
        killed_s = self.tell.seconds()
        self.tell.fact(f"{before.node} is dead; the region waits until its lease is over")
        moved = await self._until_task(
            client, name, lambda t: _runs_elsewhere(t, before.node), "the run on another node"
        )
        after = moved.run
        assert after is not None, "awaited above"
        waited_s = self.tell.seconds() - killed_s
        self.tell.fact(
            f"after {waited_s:.1f} s it runs on {after.node} under token {after.token},"
            f" resumed from step {after.resumed_step}"
        )
        self.tell.check(after.token > before.token, "the token grew: the old node may not act")
        self.tell.check(
            after.resumed_step >= before.checkpoint.step, "it resumed from a committed checkpoint"
        )
        await asyncio.to_thread(self.cluster.start, before.node)
        self.tell.fact(f"{before.node} is back")

    async def _kill_the_servers(self, client: Client) -> None:
        self.tell.heading("kill -9 the region, then the federation, and start them again")
        name = self.names[TRAINING][0]
        before = await client.get_task(name)
        for process in ("region", "federation"):
            await asyncio.to_thread(self.cluster.kill, process)
            self.tell.fact(f"{process} is dead")
            await asyncio.to_thread(self.cluster.start, process)
            self.tell.fact(f"{process} runs again")
        after = await client.get_task(name)
        listed = [task async for task in client.list_tasks()]
        expected = sum(len(names) for names in self.names.values())
        self.tell.check(len(listed) == expected, f"all {expected} tasks are still there")
        same = (
            before.run is not None
            and after.run is not None
            and (after.run.token == before.run.token)
        )
        self.tell.check(same, "the training went on meanwhile, as the same run")

    async def _results(self, client: Client) -> None:
        self.tell.heading("Results")
        rows, tasks = [], {}
        for example in self.examples:
            for name in self.names[example.name]:
                task = await self._until_task(client, name, lambda t: t.is_final, "its end")
                tasks[name] = task
                rows.append(_row(example, task))
        self.tell.table(
            ("TASK", "STATE", "EXIT", "CLASS", "NODE", "PLACED", "USEFUL", "LOST", "WHY"), rows
        )
        for example in self.examples:
            for name in self.names[example.name]:
                self._check_end(example, tasks[name])
        await self._show_outputs(client)

    def _check_end(self, example: Example, task: Task) -> None:
        expected = (example.state, example.failure, example.exit_code)
        seen = (
            task.state,
            task.failure_class,
            task.exit_code if example.exit_code is not None else None,
        )
        if seen != expected:
            self.tell.check(holds=False, text=f"{example.name} ended as expected, not {seen}")
        label = "" if not example.spec.array else f" {task.index}"
        self.tell.check(holds=True, text=f"{example.name}{label} ended as {task.state}")

    async def _show_outputs(self, client: Client) -> None:
        for example, path in ((TRAINING, "metrics.json"), ("ci-build", "report.json")):
            name = self.names[example][0]
            outputs = [output async for output in client.list_outputs(name)]
            found = [o for o in outputs if o.path == path] or outputs[:1]
            self.tell.check(found, f"{example} left outputs: {', '.join(o.path for o in outputs)}")
            folder = self.cluster.layout.root / "outputs" / example
            written = await client.download_output(name, found[0], folder)
            text = written.read_text(encoding="utf-8", errors="replace").strip()
            self.tell.fact(f"{example}/{found[0].path}: {text[:300]}")

    # --- looking ---------------------------------------------------------------------------------

    async def _show_states(self, client: Client) -> None:
        rows = []
        for example in self.examples:
            for name in self.names[example.name]:
                task = await client.get_task(name)
                run = task.run
                where = run.node if run is not None else ""
                rows.append((example.name, task.index, task.state, where))
        self.tell.table(("TASK", "INDEX", "STATE", "NODE"), rows)

    async def _until_task(
        self, client: Client, name: str, holds: Callable[[Task], bool], what: str
    ) -> Task:
        return await self._until(lambda: client.get_task(name), holds, what)

    async def _until(
        self, ask: Callable[[], Awaitable[T]], holds: Callable[[T], bool], what: str
    ) -> T:
        asking = AsyncRetrying(
            stop=stop_after_delay(PATIENCE_S),
            wait=wait_fixed(POLL_S),
            retry=retry_if_result(lambda answer: not holds(answer)),
        )

        async def attempt() -> T:
            return await ask()

        try:
            return await asking(attempt)
        except RetryError:
            raise error(
                Reason.DEADLINE_EXCEEDED, f"The demo waited {PATIENCE_S:g} s for {what}."
            ) from None

    def _example(self, name: str) -> Example:
        return next(example for example in self.examples if example.name == name)


def _has_checkpoint(task: Task) -> bool:
    run = task.run
    live = run is not None and run.state is RunState.RUNNING and task.state is TaskState.RUNNING
    checkpoint = run.checkpoint if run is not None else None
    return live and checkpoint is not None and checkpoint.step >= FIRST_STEP


def _runs_elsewhere(task: Task, node: str) -> bool:
    run = task.run
    return run is not None and run.state is RunState.RUNNING and run.node not in ("", node)


def _row(example: Example, task: Task) -> Sequence[object]:
    run = task.run
    assert run is not None, "a task that ended has a run"
    label = f"{example.name}[{task.index}]" if example.spec.array else example.name
    return (
        label,
        task.state,
        "" if task.exit_code is None else task.exit_code,
        task.failure_class or "",
        run.node,
        run.placements,
        f"{run.useful_ms / 1000:.1f} s",
        f"{run.lost_ms / 1000:.1f} s",
        task.message,
    )
