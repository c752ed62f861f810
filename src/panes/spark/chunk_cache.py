"""Cached chunks: in this worker's memory, and in files that all workers of the machine share.

Spark gives a shard to whichever Python worker is free, and reading a file is ten times as fast as asking the JVM. All
queries on a machine share the files, so a chunk is known by a digest of its bytes: its id is a number that other shards
and queries have, too. A chunk that is missing is read from the state store, and so is one whose file cannot be read or
was never written: whatever the disk does, a query goes on.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
from pyspark import SparkFiles

from panes.spark.blob import from_bytes

MEMORY_BYTES = 256 << 20  # unless a task says how much
FILE_BYTES = 1 << 30


class ChunkCache:
    """Bounded: in memory what was used longest ago goes first, and of the files the oldest."""

    def __init__(self, folder: Path, memory: int = MEMORY_BYTES, files: int = FILE_BYTES) -> None:
        self._folder, self._memory, self._files = folder, memory, files
        self._size = 0
        self._tables: OrderedDict[str, pa.Table] = OrderedDict()

    def get(self, digest: str) -> pa.Table | None:
        table = self._tables.get(digest)
        if table is None:
            try:
                table = from_bytes((self._folder / digest).read_bytes())
            except (OSError, pa.ArrowInvalid):
                return None
            self.remember(digest, table)
        self._tables.move_to_end(digest)
        return table

    def remember(self, digest: str, table: pa.Table) -> None:
        """In memory."""
        if digest not in self._tables:
            self._size += table.nbytes
            self._tables[digest] = table
        self._evict()

    def bound_memory(self, bytes_: int) -> None:
        """From now on, keep at most so much in memory."""
        self._memory = bytes_
        self._evict()

    def _evict(self) -> None:
        while self._size > self._memory and len(self._tables) > 1:
            self._size -= self._tables.popitem(last=False)[1].nbytes

    def share(self, blobs: Mapping[str, bytes]) -> None:
        """In files: chunks as bytes, by their digests."""
        with suppress(OSError):  # a full disk, a folder that is gone or read-only
            if blobs:
                self._folder.mkdir(mode=0o700, exist_ok=True)
                self._make_room(sum(map(len, blobs.values())))
            for digest, blob in blobs.items():
                self._write(digest, blob)

    def _write(self, digest: str, blob: bytes) -> None:
        """A worker may be killed while it writes, and the disk may be full: only a whole file gets the name."""
        part = self._folder / f"{digest}.{os.getpid()}"
        try:
            part.write_bytes(blob)
            part.replace(self._folder / digest)
        except OSError:
            part.unlink(missing_ok=True)
            raise

    def drop(self, digests: Iterable[str]) -> None:
        """These are not in this state any more; where another one has them, it reads its state store."""
        for digest in digests:
            with suppress(OSError):
                (self._folder / digest).unlink()
            table = self._tables.pop(digest, None)
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


def digest_of(blob: bytes) -> str:
    return blake2b(blob, digest_size=16).hexdigest()


@cache
def chunk_cache() -> ChunkCache:
    """The one of this process; Spark removes its files when the application ends.

    On an executor Spark's folder is the working folder, which a function of the user's may leave: ask before it runs.
    """
    root = Path(SparkFiles.getRootDirectory())
    with suppress(OSError):  # the working folder is gone
        root = root.absolute()
    return ChunkCache(root / "panes-chunks")
