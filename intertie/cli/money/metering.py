"""`intertie metering ...`: pull logs, verify them, get and check receipts, correct usage."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from intertie.cli.calling import open_client, open_pool, run
from intertie.cli.money.verify import check_receipt, verify
from intertie.cli.options import Format, Output
from intertie.cli.printing import lines, notice, progress_is_shown, structured, table
from intertie.errors import IntertieError, Reason, error
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.note import Note
from intertie.metering.log.trust import Trust, parse_trust
from intertie.pki.files import make_private_directory, write_private
from intertie.sdk.client import Client
from intertie.sdk.metering.directory import TRUST, LogDirectory, read_file
from intertie.sdk.metering.grants import KEYS, fetch_grants
from intertie.sdk.metering.pull import Pulled, pull

app = typer.Typer(no_args_is_help=True, help="Pull metering logs and verify them offline.")
app.command("verify")(verify)
app.command("check-receipt")(check_receipt)


@app.command("pull")
def pull_(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the logs are kept.")],
    origin: Annotated[str, typer.Option("--origin", help="Only this log.")] = "",
    policy: Annotated[
        Path | None, typer.Option("--policy", metavar="TRUST", help="The trust file to believe.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Pull what is new of every log that you may read, checking it against its cosigned root.

    The grants that records cite are fetched too. The trust file is DIR/trust.policy or --policy,
    the grant keys are DIR/grant.keys; in a new folder the federation's are taken, so compare their
    fingerprints (intertie metering trust) with what the operators tell you.
    """
    came = 0

    async def work() -> list[Pulled]:
        nonlocal came
        async with open_client(ctx) as client:
            trust = await _trust(client, folder, policy)
            origins = [origin] if origin else await _origins(client)
            found = [await _pull(client, folder, name, trust) for name in origins]
            came = await _fetch(client, folder, origins)
            return found

    pulled = run(work())
    if output in (Format.JSON, Format.YAML):
        found = [
            {"origin": p.cursor.origin, "size": p.cursor.size, "pulled": p.entries} for p in pulled
        ]
        structured({"logs": found, "grants": came}, output)
    elif output is Format.NAME:
        lines(p.cursor.origin for p in pulled)
    else:
        rows = [[p.cursor.origin, str(p.entries), str(p.cursor.size)] for p in pulled]
        table(["LOG", "PULLED", "SIZE"], rows)
        lines(["", f"grants pulled: {came}"])


async def _trust(client: Client, folder: Path, policy: Path | None) -> Trust:
    kept = folder / TRUST
    if policy is not None:
        data = read_file(policy)
    elif kept.exists():
        data = read_file(kept)
    else:
        data = await client.metering.trust_file()
        notice(f"notice: {kept} is the federation's own word; compare its fingerprints.")
    trust = parse_trust(data.decode("utf-8", "replace"))
    make_private_directory(folder)
    write_private(kept, data)
    return trust


async def _fetch(client: Client, folder: Path, origins: Sequence[str]) -> int:
    """Fetch what grants are missing; whoever may read a log but no grants goes on without."""
    kept = folder / KEYS
    is_new = not kept.exists()
    try:
        if is_new:
            keys = await client.metering.grant_keys()
            if not keys:
                notice("notice: this federation hands out no grants; caps will not be checked.")
                return 0
            write_private(kept, keys)
            notice(f"notice: {kept} is the federation's own word; compare its fingerprints.")
        logs = [LogDirectory(folder, origin) for origin in origins]
        return await fetch_grants(client.metering, folder, logs)
    except IntertieError as problem:
        if problem.reason is not Reason.PERMISSION_DENIED:
            raise
        if is_new:
            kept.unlink(missing_ok=True)  # without grants every record would seem to lack its own
        notice("notice: this identity may not read grants; caps will not be checked.")
        return 0


async def _origins(client: Client) -> list[str]:
    notes = await client.metering.checkpoints()
    found = sorted(Checkpoint.parse(Note.parse(note).text).origin for note in notes)
    if not found:
        raise error(
            Reason.NOT_FOUND,
            "There is no log with a cosigned checkpoint that you may read.",
            remedy="Wait until a region has cosigned records.",
        )
    return found


async def _pull(client: Client, folder: Path, origin: str, trust: Trust) -> Pulled:
    log = LogDirectory(folder, origin)
    cursor = log.cursor()
    log.begin(cursor)
    told = 0

    def shown(done: int, size: int) -> None:
        nonlocal told
        if progress_is_shown() and done - told >= size // 10:
            told = done
            notice(f"{origin}: {done} of {size} entries")

    return await pull(client.metering, cursor, log, trust, shown)


@app.command()
def receipt(
    ctx: typer.Context,
    seq: Annotated[int, typer.Argument(metavar="SEQ", min=0, help="Index of the record.")],
    origin: Annotated[str, typer.Option("--origin", help="The log, if there are several.")] = "",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write it there.")
    ] = None,
) -> None:
    """Get the receipt of one record: its proof, to be kept and checked offline."""

    async def ask() -> bytes:
        async with open_client(ctx) as client:
            return await client.metering.receipt(origin or await _only_origin(client), seq)

    data = run(ask())
    if out is None:
        typer.echo(data.decode(), nl=False)
    else:
        out.write_bytes(data)
        lines([f"wrote {out}"])


async def _only_origin(client: Client) -> str:
    origins = await _origins(client)
    if len(origins) > 1:
        raise error(
            Reason.INVALID_FIELD,
            f"There are {len(origins)} logs: {', '.join(origins[:8])}.",
            remedy="Name one by --origin.",
        )
    return origins[0]


@app.command()
def trust(
    ctx: typer.Context,
    grant_keys: Annotated[
        bool, typer.Option("--grant-keys", help="The keys of grants and statements instead.")
    ] = False,
) -> None:
    """Print the federation's trust file with the fingerprints of its keys."""

    async def ask() -> bytes:
        async with open_client(ctx) as client:
            if grant_keys:
                return await client.metering.grant_keys()
            return await client.metering.trust_file()

    typer.echo(run(ask()).decode(), nl=False)


@app.command()
def adjust(
    ctx: typer.Context,
    seq: Annotated[int, typer.Argument(metavar="SEQ", min=0, help="The record to correct.")],
    quantity: Annotated[
        int, typer.Option("--by", metavar="N", help="Signed change, in the meter's base unit.")
    ],
    reason: Annotated[str, typer.Option("--reason", help="Why, for the record.")],
    output: Output = Format.TABLE,
) -> None:
    """Correct usage in the context's region by a new record; nothing is edited."""

    async def ask() -> str:
        async with open_pool(ctx) as client:
            return await client.create_adjustment(seq, quantity, reason)

    rid = run(ask())
    if output is Format.JSON:
        typer.echo(json.dumps({"rid": rid}))
    else:
        lines([rid])
