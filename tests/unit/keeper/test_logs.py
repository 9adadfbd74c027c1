"""Task output: bounded on disk, true offsets, the head and the newest bytes always there."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.keeper.logs import Chunk, LogReader, LogWriter


def pattern(length: int) -> bytes:
    return bytes(i * 31 % 251 for i in range(length))


@settings(max_examples=60, deadline=None)
@given(
    cap=st.integers(8, 300),
    sizes=st.lists(st.integers(1, 200), max_size=20),
    offset=st.integers(0, 2_000),
    limit=st.integers(1, 500),
)
def test_what_is_read_is_what_was_written_at_that_offset_and_the_bound_holds(
    cap: int, sizes: list[int], offset: int, limit: int
) -> None:
    with TemporaryDirectory() as directory:
        base = f"{directory}/out"
        writer, reader = LogWriter(base, cap), LogReader(base)
        whole = pattern(sum(sizes))
        for size in sizes:
            writer.write(whole[writer.offset : writer.offset + size])
            assert sum(segment.size for segment in reader.segments()) <= cap
        writer.close()
        assert writer.offset == len(whole) == reader.end()
        chunk = reader.read(offset, limit)
        assert chunk.data == whole[chunk.offset : chunk.next_offset]
        assert chunk.offset >= offset
        assert chunk.data or offset >= len(whole)
        head = reader.read(0, cap // 4)
        assert head == Chunk(0, whole[: cap // 4])
        newest = min(len(whole), cap * 3 // 8)
        assert reader.read(len(whole) - newest, newest).offset == len(whole) - newest


def test_a_reader_that_follows_sees_every_byte_or_a_gap_never_the_same_byte_twice(
    tmp_path: Path,
) -> None:
    base = str(tmp_path / "out")
    writer, reader = LogWriter(base, 100), LogReader(base)
    whole, at, seen = pattern(1000), 0, bytearray(1000)
    for start in range(0, 1000, 40):
        writer.write(whole[start : start + 40])
        while (chunk := reader.read(at, 16)).data:
            assert chunk.offset >= at
            seen[chunk.offset : chunk.next_offset] = chunk.data
            at = chunk.next_offset
    assert at == 1000
    writer.close()


def test_a_full_disk_loses_bytes_but_neither_the_task_nor_the_offsets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = str(tmp_path / "out")
    writer = LogWriter(base, 1000)
    writer.write(b"kept")
    with monkeypatch.context() as patch:
        patch.setattr("os.write", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
        writer.write(b"lost")
    writer.write(b"kept again")
    writer.close()
    reader = LogReader(base)
    assert reader.read(0, 100) == Chunk(0, b"kept")
    assert reader.read(4, 100) == Chunk(8, b"kept again")


def test_a_stream_that_never_began_is_empty(tmp_path: Path) -> None:
    assert LogReader(str(tmp_path / "no" / "out")).read(7, 10) == Chunk(7, b"")
    assert LogReader(str(tmp_path / "out")).end() == 0


def test_other_files_beside_the_segments_are_not_read(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "out"), 100)
    writer.write(b"mine")
    writer.close()
    (tmp_path / "out.txt").write_text("x")
    (tmp_path / ("output." + "0" * 20)).write_text("x")
    assert len(LogReader(str(tmp_path / "out")).segments()) == 1


def test_a_run_does_not_write_over_the_log_of_another(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "out"), 100)
    writer.write(b"x")
    writer.close()
    with pytest.raises(FileExistsError):
        LogWriter(str(tmp_path / "out"), 100)


def test_a_silent_stream_makes_no_file_but_one_that_cannot_be_is_refused(tmp_path: Path) -> None:
    LogWriter(str(tmp_path / "out"), 100).close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        LogWriter(str(tmp_path / "missing" / "out"), 100)
