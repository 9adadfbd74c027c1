"""Carries out what the core decided, once it is durable. Decides nothing itself.

Work on the files of a run is one asyncio task per run at most: a later one replaces it.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass

from edge_agent.adapters.files.folders import Folders, RunFolders
from edge_agent.adapters.files.trees import Trees
from edge_agent.adapters.keeping.reading import keeper_token, run_name
from edge_agent.adapters.keeping.supervision import Supervision
from edge_agent.adapters.region.link import RegionLink
from edge_agent.adapters.work.checkpoints import Checkpoints
from edge_agent.adapters.work.collecting import Collector
from edge_agent.adapters.work.confining import View, own_view
from edge_agent.adapters.work.environment import meeting_port, task_environment
from edge_agent.adapters.work.staging import Stager
from edge_agent.domain.events import (
    Abandon,
    CheckpointLooked,
    Collect,
    Extend,
    Forget,
    Halt,
    Launch,
    LaunchRefused,
    LookForCheckpoint,
    Measure,
    RunKey,
    Stage,
    ToRegion,
)
from edge_agent.keeper.protocol import OWN_MOUNTS
from edge_agent.keeper.spec import Limits, StartSpec
from intertie.errors import IntertieError
from intertie.model.agentlink import StartRun
from intertie.model.pool import Device

SHELL = ("/bin/sh", "-c")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettings:
    """What every task of this node gets."""

    task_path: tuple[str, ...]
    uid_base: int
    log_bytes: int
    pids: int
    grace_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What effects are carried out with."""

    folders: Folders
    trees: Trees
    keeping: Supervision
    link: RegionLink
    stager: Stager
    checkpoints: Checkpoints
    collector: Collector


class Outward:
    """See the module's text.

    Args:
        parts: what does the work.
        settings: what every task gets.
        devices: the node's accelerators by index.
        tell: takes the events that answer.
    """

    def __init__(
        self,
        parts: Parts,
        settings: TaskSettings,
        devices: Mapping[int, Device],
        tell: Callable[[object], None],
    ) -> None:
        self._parts = parts
        self._settings = settings
        self._devices = devices
        self._tell = tell
        self._work: dict[RunKey, asyncio.Task[None]] = {}
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def __call__(self, effects: Sequence[object]) -> None:
        """Carry out effects in order."""
        for effect in effects:
            self._carry_out(effect)

    def _carry_out(self, effect: object) -> None:
        parts = self._parts
        match effect:
            case ToRegion(link=link, message=message):
                parts.link.send(link, message)
            case Launch():
                self._launch(effect)
            case Halt():
                parts.keeping.halt(effect)
            case Extend():
                parts.keeping.extend(effect)
            case Measure():
                parts.keeping.measure(effect)
            case Stage(key=key):
                self._begin(key, self._staged(effect))
            case LookForCheckpoint(key=key):
                self._begin(key, self._looked(effect))
            case Collect(key=key):
                self._begin(key, self._collected(effect))
            case Abandon(key=key):
                self._end(key)
            case Forget(key=key, n=n):
                self._forget(key, n)
            case _:
                raise AssertionError(f"nobody carries out a {type(effect).__name__}")

    def drop_work(self) -> None:
        """The core that asked for it is no more; a new one asks again."""
        for key in list(self._work):
            self._end(key)

    async def ended(self) -> None:
        """Return when stopped; raises what broke a work: a fault of ours, or it would be told."""
        await asyncio.shield(self._broken)

    async def stop(self) -> None:
        """End all work here; tasks go on under their keeper."""
        self._broken.cancel()
        running = list(self._work.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    # --- processes -------------------------------------------------------------------------------

    def _launch(self, effect: Launch) -> None:
        try:
            folders = self._parts.trees.make(effect.key, effect.slot)
        except (IntertieError, OSError) as fault:
            refused = LaunchRefused(
                key=effect.key, retry=False, evidence={"staging": f"its folders: {fault}"}
            )
            self._tell(refused)
            return
        self._parts.keeping.launch(effect.key, self._spec(effect, folders))

    def _spec(self, effect: Launch, folders: RunFolders) -> StartSpec:
        order, settings = effect.order, self._settings
        uid = self._parts.folders.uid(effect.slot)
        environment = task_environment(
            order,
            folders,
            task_path=settings.task_path,
            devices=self._devices,
            port=meeting_port(settings.uid_base, effect.slot),
        )
        view = self._view(order, folders)
        return StartSpec(
            run=run_name(order.task, order.run),
            token=keeper_token(order.token),
            argv=_argv(order),
            env=environment,
            cwd=folders.work,
            stdout=folders.log("stdout"),
            stderr=folders.log("stderr"),
            log_bytes=settings.log_bytes,
            uid=uid,
            gid=uid,
            limits=Limits(
                memory_bytes=order.memory or None,
                cpu_millis=order.cpu or None,
                pids=settings.pids,
                disk_bytes=order.disk or None,
            ),
            timeout_ms=order.timeout_ms or None,
            deadline_boot_ns=effect.deadline_ns,
            grace_ms=settings.grace_ms,
            control_dir=folders.control,
            disk_dirs=tuple(folders.of_task()),
            tmp_dir=view.tmp_dir,
            shm_bytes=view.shm_bytes,
            hidden=view.hidden,
        )

    def _view(self, order: StartRun, folders: RunFolders) -> View:
        hello = self._parts.keeping.hello
        if hello is None or OWN_MOUNTS not in hello.features:
            return View()
        allotted = [self._devices[index] for index in order.devices if index in self._devices]
        outside = self._settings.task_path
        return own_view(folders.scratch, order.memory, allotted, outside=outside)

    def _forget(self, key: RunKey, n: int) -> None:
        self._end(key)
        self._parts.keeping.forget(key, n)
        self._parts.trees.discard(key)

    # --- files -----------------------------------------------------------------------------------

    async def _staged(self, effect: Stage) -> None:
        self._tell(await self._parts.stager.stage(effect))

    async def _looked(self, effect: LookForCheckpoint) -> None:
        slot = effect.slot
        saved = await self._parts.checkpoints.save(effect.key, slot, effect.above_step)
        self._tell(CheckpointLooked(key=effect.key, saved=saved))

    async def _collected(self, effect: Collect) -> None:
        self._tell(await self._parts.collector.collect(effect))

    def _begin(self, key: RunKey, work: Coroutine[None, None, None]) -> None:
        self._end(key)
        task = asyncio.create_task(work)
        self._work[key] = task
        task.add_done_callback(lambda done: self._done(key, done))

    def _done(self, key: RunKey, task: asyncio.Task[None]) -> None:
        if self._work.get(key) is task:
            del self._work[key]
        if task.cancelled() or self._broken.done():
            return
        fault = task.exception()
        if fault is not None:
            self._broken.set_exception(fault)

    def _end(self, key: RunKey) -> None:
        task = self._work.pop(key, None)
        if task is not None:
            task.cancel()


def _argv(order: StartRun) -> tuple[str, ...]:
    return (*SHELL, *order.command) if order.shell else order.command
