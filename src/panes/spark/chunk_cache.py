"""Chunks at hand: in this worker's memory, and in files that all workers of the machine share.

Spark gives a shard to whichever Python worker is free, and reading a file is ten times as fast as asking the JVM. A
chunk's id is random and what it holds never changes: a stale one is never asked for, and one that is missing is read
from the state store.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import pyarrow as pa
from pyspark import SparkFiles

from panes.spark.blob import from_bytes

MEMORY_BYTES = 256 << 20
FILE_BYTES = 1 << 30


class ChunkCache:
    """Bounded: in memory what was used longest ago goes first, and of the files the oldest."""

    def __init__(self, folder: Path, memory: int = MEMORY_BYTES, files: int = FILE_BYTES) -> None:
        self._folder, self._memory, self._files = folder, memory, files
        self._size = 0
        self._tables: OrderedDict[str, pa.Table] = OrderedDict()

    def get(self, id_: str) -> pa.Table | None:
        table = self._tables.get(id_)
        if table is None:
            try:
                table = from_bytes((self._folder / id_).read_bytes())
            except FileNotFoundError:
                return None
            self.remember(id_, table)
        self._tables.move_to_end(id_)
        return table

    def remember(self, id_: str, table: pa.Table) -> None:
        """In memory."""
        if id_ not in self._tables:
            self._size += table.nbytes
        self._tables[id_] = table
        while self._size > self._memory and len(self._tables) > 1:
            self._size -= self._tables.popitem(last=False)[1].nbytes

    def share(self, blobs: Mapping[str, bytes]) -> None:
        """In files: chunks as bytes. A worker may be killed while it writes: only a whole file gets the name."""
        if not blobs:
            return
        self._make_room(sum(map(len, blobs.values())))
        for id_, blob in blobs.items():
            part = self._folder / f"{id_}.{os.getpid()}"
            part.write_bytes(blob)
            with suppress(FileNotFoundError):  # another worker needed the room
                part.replace(self._folder / id_)

    def drop(self, ids: Iterable[str]) -> None:
        """These are not in any state any more."""
        for id_ in ids:
            (self._folder / id_).unlink(missing_ok=True)
            table = self._tables.pop(id_, None)
            self._size -= table.nbytes if table is not None else 0

    def _make_room(self, needed: int) -> None:
        files = sorted(_files(self._folder))
        used = sum(size for _, size, _ in files)
        for _, size, path in files:
            if used + needed <= self._files:
                return
            Path(path).unlink(missing_ok=True)
            used -= size


def _files(folder: Path) -> Iterator[tuple[float, int, str]]:
    """When each file was written, its size and its path."""
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                found = entry.stat()
            except FileNotFoundError:  # another worker has dropped it
                continue
            yield found.st_mtime, found.st_size, entry.path


@cache
def chunk_cache() -> ChunkCache:
    """The one of this process; Spark removes its files when the application ends."""
    folder = Path(SparkFiles.getRootDirectory()) / "panes-chunks"
    folder.mkdir(mode=0o700, exist_ok=True)
    return ChunkCache(folder)
