"""A small store in memory with an append-only journal on disk: for a process with few live rows.

An edge agent holds some hundred rows and changes each a few times; a SQL engine and its bindings
would cost it a quarter of its memory. Same port, same semantics: a commit is durable when it
returns, and a restart finds exactly what was committed.

    DIR/journal    a header line, then one line per commit: crc32 of the body, a space, the body
    DIR/lock       one process at a time

A torn last line is what a crash leaves of a commit that nobody was told of: it is cut off. Any
other line that does not check is damage, and refused. The journal is rewritten as a snapshot when
it is loaded, and when it has outgrown what is live.
"""

import asyncio
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec

from intertie.errors import Reason, error
from intertie.ports import (
    Change,
    Claim,
    Delete,
    Event,
    Put,
    ShardCommit,
    ShardHead,
    StoreUnavailableError,
)
from intertie.store.lock import StateDirLock
from intertie.store.memory import MemoryStore, _Shard

SCHEMA_VERSION = 1
COMPACT_FROM_BYTES = 4 << 20
COMPACT_FACTOR = 4
"""The journal is rewritten when it is this many times as long as what is live."""

_NAME = "journal"


class _Entry(msgspec.Struct, array_like=True, omit_defaults=True):
    """One shard of one commit, or of a snapshot; an acquire is an entry with a new epoch."""

    shard: int
    epoch: int
    puts: Sequence[Put] = ()
    deletes: Sequence[Delete] = ()
    claims: Sequence[Claim] = ()
    events: Sequence[Event] = ()


_encode = msgspec.json.Encoder().encode
_decoder: msgspec.json.Decoder[list[_Entry]] = msgspec.json.Decoder(list[_Entry])


class JournalStore(MemoryStore):
    """See the module's text.

    Args:
        directory: made (0700) if missing, and locked until `close`. Blocks: make it before the
            event loop serves.

    Raises:
        IntertieError: STATE_DIR_IN_USE, STATE_DIR_NEWER, CONFIG_INVALID for a damaged journal.
        StoreUnavailableError: the disk refused.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__()
        with _disk():
            self._lock = StateDirLock(directory)
            self._path = directory / _NAME
            self._live_bytes = 0
            self._length = 0
            self._fd = -1
            self._is_sound = True
            self._thread = ThreadPoolExecutor(1, "journal")
            try:
                self._load()
                self._rewrite()
            except BaseException:
                self._lock.release()
                raise

    # --- the port --------------------------------------------------------------------------------

    async def acquire(self, shard: int) -> ShardHead:
        """See `Store.acquire`."""
        self._open()
        await self._mend()
        head = await super().acquire(shard)
        entry = _Entry(shard, head.epoch)
        await self._on_thread(partial(self._append, [entry]))
        return head

    async def commit(self, commits: Sequence[ShardCommit]) -> None:
        """See `Store.commit`: on disk first, then in memory."""
        contents = self._open()
        await self._mend()
        self._check_fences(contents, commits)
        self._check_claims(contents, commits)
        await self._on_thread(partial(self._append, [_entry(commit) for commit in commits]))
        await super().commit(commits)
        if self._length > max(COMPACT_FROM_BYTES, COMPACT_FACTOR * self._live_bytes):
            await self._on_thread(self._rewrite)

    async def forget_claims(self, space: str, before_utc_ms: int, *, limit: int) -> int:
        """See `Store.forget_claims`; a journal forgets them when it is rewritten."""
        forgotten = await super().forget_claims(space, before_utc_ms, limit=limit)
        if forgotten:
            await self._on_thread(self._rewrite)
        return forgotten

    async def close(self) -> None:
        """See `Store.close`."""
        await super().close()
        if self._fd >= 0:
            self._thread.shutdown()
            os.close(self._fd)
            self._fd = -1
            self._lock.release()

    async def _on_thread(self, call: Callable[[], None]) -> None:
        """On a thread of our own: commits must not wait for whatever else blocks here."""
        await asyncio.get_running_loop().run_in_executor(self._thread, call)

    # --- the file --------------------------------------------------------------------------------

    def _append(self, entries: Sequence[_Entry]) -> None:
        line = _line(_encode(entries))
        with _disk():
            try:
                _write_all(self._fd, line)
                os.fdatasync(self._fd)
            except OSError:
                # After a failed write or sync nobody knows what is on disk; see `_mend`.
                self._is_sound = False
                raise
        self._length += len(line)

    async def _mend(self) -> None:
        """After a fault, write all that is known to be committed anew before anything else."""
        if not self._is_sound:
            await self._on_thread(self._rewrite)

    def _rewrite(self) -> None:
        """Replace the journal by a snapshot of what is committed: old or new, never a mixture."""
        temporary = self._path.with_suffix(".new")
        with _disk():
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                data = _line(_header()) + _line(_encode(list(self._snapshot())))
                _write_all(fd, data)
                os.fsync(fd)
                temporary.replace(self._path)
                _sync_directory(self._path.parent)
            except BaseException:
                os.close(fd)
                raise
            if self._fd >= 0:
                os.close(self._fd)
            self._fd, self._length, self._live_bytes = fd, len(data), len(data)
            self._is_sound = True

    def _snapshot(self) -> Iterator[_Entry]:
        contents = self._contents
        for shard, state in contents.shards.items():
            events = [Event(event.key, event.scope, event.body) for event in state.events]
            yield _Entry(shard, state.epoch, events=events)
        for (shard, _), rows in contents.rows.items():
            puts = [Put(r.kind, r.key, r.body, r.scope, r.ord) for r in rows.values()]
            if puts:
                yield _Entry(shard, contents.shards[shard].epoch, puts=puts)
        if contents.claims and contents.shards:
            shard, state = next(iter(contents.shards.items()))
            claims = [claim for names in contents.claims.values() for claim in names.values()]
            yield _Entry(shard, state.epoch, claims=claims)

    def _load(self) -> None:
        try:
            lines = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        lines.pop()  # what follows the last newline: nothing, or a torn line
        if lines:
            self._check_header(_body(lines[0]))
        for number, line in enumerate(lines[1:], start=2):
            body = _body(line)
            try:
                entries = None if body is None else _decoder.decode(body)
            except msgspec.DecodeError:
                entries = None
            if entries is not None:
                self._apply(entries)
            elif number < len(lines):
                raise self._damaged(f"line {number} does not check")

    def _check_header(self, body: bytes | None) -> None:
        try:
            version = -1 if body is None else msgspec.json.decode(body, type=dict[str, int])["v"]
        except (msgspec.DecodeError, KeyError):
            version = -1
        if version > SCHEMA_VERSION:
            raise error(
                Reason.STATE_DIR_NEWER,
                f"{self._path} has version {version}, this software reads {SCHEMA_VERSION}.",
                remedy="Run the version that wrote it, or a later one.",
                metadata={"found": str(version), "known": str(SCHEMA_VERSION)},
            )
        if version != SCHEMA_VERSION:
            raise self._damaged("its header does not check")

    def _damaged(self, what: str) -> Exception:
        return error(
            Reason.CONFIG_INVALID,
            f"{self._path} is damaged: {what}.",
            remedy="Restore the state directory from a backup, or start with an empty one.",
        )

    def _apply(self, entries: Sequence[_Entry]) -> None:
        for entry in entries:
            state = self._contents.shards.setdefault(entry.shard, _Shard())
            state.epoch = max(state.epoch, entry.epoch)
            changes: list[Change] = [*entry.deletes, *entry.puts, *entry.claims]
            first_seq = state.last_seq + 1
            commit = ShardCommit(entry.shard, entry.epoch, first_seq, changes, entry.events)
            with suppress(StopIteration):  # nothing in the memory store awaits anything
                super().commit([commit]).send(None)


def _entry(commit: ShardCommit) -> _Entry:
    """A row's last change wins, so puts and deletes may be kept apart."""
    last: dict[tuple[str, str], Put | Delete] = {}
    claims: list[Claim] = []
    for change in commit.changes:
        if isinstance(change, Claim):
            claims.append(change)
        else:
            last[change.kind, change.key] = change
    return _Entry(
        commit.shard,
        commit.epoch,
        [change for change in last.values() if isinstance(change, Put)],
        [change for change in last.values() if isinstance(change, Delete)],
        claims,
        commit.events,
    )


def _header() -> bytes:
    return _encode({"v": SCHEMA_VERSION})


def _line(body: bytes) -> bytes:
    return b"%08x %b\n" % (zlib.crc32(body), body)


def _body(line: bytes) -> bytes | None:
    """The body of a line, None if it does not check."""
    crc, _, body = line.partition(b" ")
    return body if crc == b"%08x" % zlib.crc32(body) else None


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _sync_directory(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def _disk() -> Iterator[None]:
    try:
        yield
    except OSError as refusal:
        raise StoreUnavailableError(f"journal: {refusal}") from refusal
