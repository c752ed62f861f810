"""Chunks at hand: shared by files, bounded in memory and on disk, and a miss where there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from panes.spark.blob import to_bytes
from panes.spark.chunk_cache import ChunkCache


def table(number: int) -> pa.Table:
    return pa.table({"v": pa.array([number] * 1000)})


def test_another_worker_finds_what_one_has_shared(tmp_path):
    ChunkCache(tmp_path).share({"a": to_bytes(table(1))})
    other = ChunkCache(tmp_path)
    assert other.get("a") == table(1)
    assert other.get("b") is None


def test_nobody_finds_half_a_file(tmp_path, monkeypatch):
    def killed(path: Path, blob: bytes) -> None:
        with path.open("wb") as file:
            file.write(blob[: len(blob) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", killed)
    with pytest.raises(KeyboardInterrupt):
        ChunkCache(tmp_path).share({"a": to_bytes(table(1))})
    assert ChunkCache(tmp_path).get("a") is None


def test_another_worker_may_take_the_room_while_one_writes(tmp_path, monkeypatch):
    cache, write = ChunkCache(tmp_path), Path.write_bytes

    def taken(path: Path, blob: bytes) -> None:
        write(path, blob)
        path.unlink()

    monkeypatch.setattr(Path, "write_bytes", taken)
    cache.share({"a": to_bytes(table(1))})
    assert cache.get("a") is None


def test_what_is_dropped_is_nowhere(tmp_path):
    cache = ChunkCache(tmp_path)
    cache.remember("a", table(1))
    cache.share({"a": to_bytes(table(1))})
    cache.drop(["a", "never there"])
    assert cache.get("a") is None
    assert list(tmp_path.iterdir()) == []


def test_memory_is_bounded_and_keeps_what_was_used_last(tmp_path):
    cache = ChunkCache(tmp_path, memory=3 * table(0).nbytes)
    for number in range(3):
        cache.remember(str(number), table(number))
    cache.get("0")
    cache.remember("3", table(3))
    assert [cache.get(str(number)) is not None for number in range(4)] == [True, False, True, True]


def test_files_are_bounded_and_the_oldest_go_first(tmp_path):
    blob = to_bytes(table(0))
    cache = ChunkCache(tmp_path, files=2 * len(blob))
    for moment, name in enumerate("abc"):
        cache.share({name: blob})
        os.utime(tmp_path / name, (moment, moment))
    assert names(tmp_path) == {"b", "c"}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
