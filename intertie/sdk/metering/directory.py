"""A pulled log as files: everything that `intertie metering verify` needs, offline.

    <dir>/<origin>/entries/<N>     256 leaves each, in the form of C2SP entry bundles
    <dir>/<origin>/hidden/<N>      (index, hash) of leaves that the reader may not see
    <dir>/<origin>/checkpoint      the cosigned checkpoint, as received
    <dir>/<origin>/cursor.json     where the next pull goes on
    <dir>/<origin>/granted         up to which entry the cited grants were asked for
    <dir>/trust.policy             the trust file that was used
    <dir>/grant.keys               the keys that sign grants
    <dir>/grants/<sha256>.json     grants that entries cite

Leaves beyond the cursor are from a pull that broke; the next one writes them anew.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from intertie.errors import IntertieError, Reason, error, invalid
from intertie.metering.cursor import Cursor
from intertie.metering.faults import MeteringError
from intertie.metering.log import strict
from intertie.metering.log.tiles import WIDTH, Tile, bundle, parse_bundle
from intertie.metering.verify import Hidden, Leaf
from intertie.model.texts import relative_path_fault
from intertie.pki.files import write_private

CHECKPOINT, CURSOR, GRANTED = "checkpoint", "cursor.json", "granted"
TRUST, GRANTS = "trust.policy", "grants"
_HIDDEN_BYTES = 33


class LogDirectory:
    """The files of one log below a folder; a sink of `pull`."""

    def __init__(self, folder: Path, origin: str) -> None:
        if fault := relative_path_fault(origin):
            raise invalid("origin", fault)
        self.origin = origin
        self.path = folder / origin
        self._bundle: list[Leaf] = []
        self._next = 0

    def cursor(self) -> Cursor:
        """Where the reader stands; the start of the log in a new folder."""
        try:
            text = (self.path / CURSOR).read_text(encoding="utf-8")
        except FileNotFoundError:
            return Cursor.start(self.origin)
        cursor = Cursor.from_json(text)
        if cursor.origin != self.origin:
            raise invalid("cursor", f"{self.path / CURSOR} is of {cursor.origin}")
        return cursor

    def begin(self, cursor: Cursor) -> None:
        """Get ready to write after the cursor; what a broken pull left is dropped."""
        self._next = cursor.size
        full, rest = divmod(cursor.size, WIDTH)
        self._bundle = self._read(full)[:rest] if rest else []
        if len(self._bundle) != rest:
            raise self._incomplete(cursor.size)

    def write(self, leaves: Sequence[Leaf]) -> None:
        """Append leaves; complete bundles are written at once."""
        for leaf in leaves:
            self._bundle.append(leaf)
            self._next += 1
            if len(self._bundle) == WIDTH:
                self._store(self._next // WIDTH - 1)
                self._bundle = []

    def reach(self, cursor: Cursor) -> None:
        """Write the last bundle, the checkpoint, and then the cursor that makes them count."""
        assert cursor.size == self._next, "the cursor stands behind the last leaf"
        if self._bundle:
            self._store(self._next // WIDTH)
        self.path.mkdir(parents=True, exist_ok=True)
        write_private(self.path / CHECKPOINT, cursor.signed)
        write_private(self.path / CURSOR, cursor.to_json().encode())

    def checkpoint(self) -> bytes:
        """The cosigned checkpoint."""
        return read_file(self.path / CHECKPOINT)

    def leaves(self, start: int = 0) -> Iterator[Leaf]:
        """The leaves from one on, in order, as far as there are any."""
        index, skipped = divmod(start, WIDTH)
        while found := self._read(index):
            yield from found[skipped:]
            skipped = 0
            if len(found) < WIDTH:
                return
            index += 1

    def leaf(self, seq: int) -> bytes | None:
        """One leaf by its index; None if it is not here or hidden."""
        found = self._read(seq // WIDTH)
        at = seq % WIDTH
        leaf = found[at] if at < len(found) else None
        return leaf if isinstance(leaf, bytes) else None

    def granted(self) -> int:
        """Up to which entry the cited grants were asked for."""
        try:
            return strict.size((self.path / GRANTED).read_text(encoding="ascii").strip(), GRANTED)
        except (FileNotFoundError, UnicodeDecodeError, MeteringError):
            return 0  # asked again, which costs a call and changes nothing

    def set_granted(self, size: int) -> None:
        """Remember that the grants of all entries before this one were asked for."""
        write_private(self.path / GRANTED, b"%d\n" % size)

    def _store(self, index: int) -> None:
        entries = self._file("entries", index)
        entries.parent.mkdir(parents=True, exist_ok=True)
        seen = [leaf if isinstance(leaf, bytes) else b"" for leaf in self._bundle]
        write_private(entries, bundle(seen))
        hashes = b"".join(
            bytes([at]) + leaf.digest
            for at, leaf in enumerate(self._bundle)
            if isinstance(leaf, Hidden)
        )
        hidden = self._file("hidden", index)
        if hashes:
            hidden.parent.mkdir(parents=True, exist_ok=True)
            write_private(hidden, hashes)
        else:
            hidden.unlink(missing_ok=True)

    def _read(self, index: int) -> list[Leaf]:
        entries = self._file("entries", index)
        if not entries.exists():
            return []
        leaves: list[Leaf] = list(parse_bundle(entries.read_bytes()))
        hidden = self._file("hidden", index)
        data = hidden.read_bytes() if hidden.exists() else b""
        for start in range(0, len(data) - _HIDDEN_BYTES + 1, _HIDDEN_BYTES):
            at, digest = data[start], data[start + 1 : start + _HIDDEN_BYTES]
            if at < len(leaves) and not leaves[at]:
                leaves[at] = Hidden(digest)
        return leaves

    def _file(self, kind: str, index: int) -> Path:
        return self.path / Tile(-1, index).path().replace("tile/entries", kind, 1)

    def _incomplete(self, size: int) -> IntertieError:
        return error(
            Reason.CONFIG_INVALID,
            f"{self.path} has not the {size} entries that its cursor tells.",
            remedy="Remove the folder and pull the log again.",
        )


def logs_in(folder: Path) -> list[LogDirectory]:
    """All pulled logs below a folder, by origin.

    Raises:
        IntertieError: NOT_FOUND if there is none.
    """
    found = sorted(folder.rglob(CHECKPOINT)) if folder.is_dir() else []
    if not found:
        raise error(
            Reason.NOT_FOUND,
            f"{folder} holds no pulled log.",
            remedy="Pull one first: intertie metering pull DIR.",
        )
    return [LogDirectory(folder, path.parent.relative_to(folder).as_posix()) for path in found]


def read_file(path: Path) -> bytes:
    """The bytes of a file; NOT_FOUND names it."""
    try:
        return path.read_bytes()
    except OSError as problem:
        raise error(
            Reason.NOT_FOUND, f"{path}: {problem.strerror}.", remedy="Check the path."
        ) from None
