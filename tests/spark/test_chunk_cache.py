"""Chunks at hand: shared by files, bounded in memory and on disk, and a miss where there is none or the disk fails."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import SparkFiles

from panes.spark.blob import to_bytes
from panes.spark.chunk_cache import ChunkCache, chunk_cache


def table(number: int) -> pa.Table:
    return pa.table({"v": pa.array([number] * 1000)})


def test_another_worker_finds_what_one_has_shared(tmp_path: Path) -> None:
    ChunkCache(tmp_path).share({"a": to_bytes(table(1))})
    other = ChunkCache(tmp_path)
    assert other.get("a") == table(1)
    assert other.get("b") is None


def test_memory_may_be_bounded_later(tmp_path: Path) -> None:
    cache = ChunkCache(tmp_path)
    for number in range(4):
        cache.remember(str(number), table(number))
    cache.bound_memory(2 * table(0).nbytes)
    assert [cache.get(str(number)) for number in range(4)] == [None, None, table(2), table(3)]


def test_nobody_finds_half_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(path: Path, blob: bytes) -> None:
        with path.open("wb") as file:
            file.write(blob[: len(blob) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", killed)
    with pytest.raises(KeyboardInterrupt):
        ChunkCache(tmp_path).share({"a": to_bytes(table(1))})
    assert ChunkCache(tmp_path).get("a") is None


def test_another_worker_may_take_the_room_while_one_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, write = ChunkCache(tmp_path), Path.write_bytes

    def taken(path: Path, blob: bytes) -> None:
        write(path, blob)
        path.unlink()

    monkeypatch.setattr(Path, "write_bytes", taken)
    cache.share({"a": to_bytes(table(1))})
    assert cache.get("a") is None


def test_a_full_disk_is_a_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, blob: bytes) -> None:
        with path.open("wb") as file:
            file.write(blob[: len(blob) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    check_all_miss(ChunkCache(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_a_miss(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check_all_miss(ChunkCache(tmp_path / "file"))
    check_all_miss(ChunkCache(tmp_path / "file" / "below"))
    check_all_miss(ChunkCache(tmp_path / "never" / "there"))


def test_a_folder_that_is_gone_is_made_again(tmp_path: Path) -> None:
    cache = ChunkCache(tmp_path / "chunks")
    cache.share({"a": to_bytes(table(1))})
    shutil.rmtree(tmp_path / "chunks")
    assert cache.get("a") is None
    cache.drop(["a"])
    cache.share({"a": to_bytes(table(1))})
    assert cache.get("a") == table(1)


def test_a_file_that_cannot_be_read_is_a_miss(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").write_bytes(to_bytes(table(1))[:-100])
    (tmp_path / "c").write_bytes(b"")
    cache = ChunkCache(tmp_path)
    assert [cache.get(name) for name in "abc"] == [None, None, None]
    cache.drop("abc")


@pytest.fixture
def executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working folder of an executor, where Spark's root is relative."""
    (tmp_path / "executor").mkdir()
    monkeypatch.chdir(tmp_path / "executor")
    monkeypatch.setattr(SparkFiles, "_root_directory", ".")
    monkeypatch.setattr(SparkFiles, "_is_running_on_worker", True)
    chunk_cache.cache_clear()
    yield tmp_path / "executor"
    chunk_cache.cache_clear()


def test_a_function_may_change_the_working_folder(executor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chunk_cache()
    monkeypatch.chdir(executor.parent)
    chunk_cache().share({"a": to_bytes(table(1))})
    assert names(executor / "panes-chunks") == {"a"}
    assert names(executor.parent) == {"executor"}
    assert chunk_cache().get("a") == table(1)


def test_the_working_folder_may_be_gone(executor: Path) -> None:
    executor.rmdir()
    check_all_miss(chunk_cache())


def check_all_miss(cache: ChunkCache) -> None:
    cache.share({"a": to_bytes(table(1)), "b": to_bytes(table(2))})
    assert (cache.get("a"), cache.get("b")) == (None, None)
    cache.drop(["a", "b"])


def test_what_is_dropped_is_nowhere(tmp_path: Path) -> None:
    cache = ChunkCache(tmp_path)
    cache.remember("a", table(1))
    cache.share({"a": to_bytes(table(1))})
    cache.drop(["a", "never there"])
    assert cache.get("a") is None
    assert list(tmp_path.iterdir()) == []


def test_memory_is_bounded_and_keeps_what_was_used_last(tmp_path: Path) -> None:
    cache = ChunkCache(tmp_path, memory=3 * table(0).nbytes)
    for number in range(3):
        cache.remember(str(number), table(number))
    cache.get("0")
    cache.remember("3", table(3))
    assert [cache.get(str(number)) is not None for number in range(4)] == [True, False, True, True]


def test_files_are_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    blob = to_bytes(table(0))
    cache = ChunkCache(tmp_path, files=2 * len(blob))
    for moment, name in enumerate("abc"):
        cache.share({name: blob})
        os.utime(tmp_path / name, (moment, moment))
    assert names(tmp_path) == {"b", "c"}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
