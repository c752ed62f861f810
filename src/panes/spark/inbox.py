"""What has come to a shard in a micro-batch: blobs, in memory or, if they are many, in a file.

A shuffle hands blobs over in the order in which they arrive, which is another one in each attempt of a task. So they
are all received first, and then read in the order of their places.
"""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO

import pyarrow as pa

from panes.spark.blob import from_bytes
from panes.spark.worker import local_folder

IN_MEMORY = 64 << 20  # bytes


class Inbox:
    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._room = in_memory
        self._blobs: list[tuple[int, bytes | tuple[int, int]]] = []  # by place: bytes, or where they are in the file
        self._file: IO[bytes] | None = None

    def add(self, place: int, blob: bytes) -> None:
        self._room -= len(blob)
        if self._room >= 0:
            self._blobs.append((place, blob))
            return
        if self._file is None:
            self._file = TemporaryFile(dir=local_folder(), prefix="panes-inbox-")  # noqa: SIM115 - gone when it is closed
        self._blobs.append((place, (self._file.seek(0, 2), len(blob))))
        self._file.write(blob)

    def tables(self) -> Iterator[pa.Table]:
        """In the order of their places, once."""
        self._blobs.sort(key=lambda one: one[0], reverse=True)
        while self._blobs:
            _, blob = self._blobs.pop()
            if isinstance(blob, tuple):
                assert self._file is not None
                self._file.seek(blob[0])
                blob = self._file.read(blob[1])
            yield from_bytes(blob)
        if self._file is not None:
            self._file.close()
