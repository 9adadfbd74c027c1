"""The demo's last part: pull the log, verify it offline, flip a byte, print the bill.

Runs the same commands that a billing engineer would, as processes, so that what it shows is what
they get. The verification needs no network: only the pulled folder and the trust file.
"""

import asyncio
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tenacity import AsyncRetrying, RetryError, retry_if_result, stop_after_delay, wait_fixed

from intertie.cli.demo.telling import Telling
from intertie.cli.dev.cluster import Cluster
from intertie.cli.dev.layout import PROJECT
from intertie.errors import Reason, error

PATIENCE_S = 60.0


async def prove_the_bill(
    cluster: Cluster, names: Mapping[str, Sequence[str]], tell: Telling
) -> None:
    """Pull, verify, break a copy, and print the statement."""
    commands = _Commands(cluster, tell)
    folder = cluster.layout.root / "pulled"
    tell.heading("Metering: pull the log and verify it offline")
    tasks = [name.rpartition("/")[2] for listed in names.values() for name in listed]
    await _pull_all(commands, folder, tasks)
    code, text = await commands.verify(folder)
    tell.console.print(text)
    tell.check(code == 0, "every record is under a cosigned checkpoint and says what it may say")
    tell.check("checked: " in text, "no region billed more than the federation granted")
    await _break_a_copy(commands, folder, tell)
    tell.heading("The bill")
    code, text = await commands.run("bill", "statement", "--payer", PROJECT)
    tell.console.print(text)
    tell.check(code == 0, "the statement adds up")


async def _pull_all(commands: "_Commands", folder: Path, tasks: Sequence[str]) -> None:
    """Pull until the end of every task is in the log: sequencing follows a moment after."""

    async def missing() -> list[str]:
        code, text = await commands.run("metering", "pull", str(folder), quiet=True)
        if code:
            raise error(Reason.INTERNAL, f"metering pull failed: {text}")
        ended = _ended_tasks(folder)
        return [task for task in tasks if task not in ended]

    asking = AsyncRetrying(
        stop=stop_after_delay(PATIENCE_S), wait=wait_fixed(0.5), retry=retry_if_result(bool)
    )
    try:
        await asking(missing)
    except RetryError:
        raise error(Reason.DEADLINE_EXCEEDED, "The log lacks the end of some tasks.") from None
    commands.tell.command(f"intertie metering pull {folder}")


async def _break_a_copy(commands: "_Commands", folder: Path, tell: Telling) -> None:
    copy = folder.with_name("pulled-broken")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    victim = max(_bundles(copy), key=lambda path: path.stat().st_size)
    broken = bytearray(victim.read_bytes())
    at = len(broken) // 2
    broken[at] ^= 0x01
    victim.write_bytes(bytes(broken))
    tell.fact(f"one bit of byte {at} of a copy of {victim.name} is flipped")
    code, text = await commands.verify(copy)
    tell.console.print(text)
    tell.check(code != 0, "the copy is refused, and the reason is named")


def _trust(folder: Path) -> Path:
    return folder / "trust.policy"


def _bundles(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and "entries" in path.parts]


def _ended_tasks(folder: Path) -> set[str]:
    """Tasks with a run_end record among the pulled entries."""
    ended: set[str] = set()
    for path in _bundles(folder):
        for part in path.read_bytes().split(b'{"')[1:]:
            if b'"kind":"run_end"' in part:
                ended.add(_field(part, b'"task":"'))
    return ended


def _field(part: bytes, name: bytes) -> str:
    return part.partition(name)[2].partition(b'"')[0].decode()


class _Commands:
    """Runs `intertie` as a process with the billing identity."""

    def __init__(self, cluster: Cluster, tell: Telling) -> None:
        self.tell = tell
        self._environment = {
            "INTERTIE_CONFIG": str(cluster.layout.context_file),
            "INTERTIE_CONTEXT": "dev-billing",
            "PATH": str(Path(sys.executable).parent),
        }

    async def verify(self, folder: Path) -> tuple[int, str]:
        """Verify a pulled folder against the trust file in it."""
        return await self.run("metering", "verify", "--policy", str(_trust(folder)), str(folder))

    async def run(self, *arguments: str, quiet: bool = False) -> tuple[int, str]:
        """Exit code and what was printed."""
        if not quiet:
            self.tell.command("intertie " + " ".join(arguments))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "intertie.cli",
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._environment,
        )
        output, _ = await process.communicate()
        assert process.returncode is not None, "communicate waits for the end"
        return process.returncode, output.decode(errors="replace").rstrip()
