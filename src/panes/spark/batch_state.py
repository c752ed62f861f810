"""The state of a batch between two parts of it: chunks in a file, which is gone when the batch is done."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from tempfile import TemporaryFile
from typing import IO

import pyarrow as pa

from panes.kernels.kernel import Chunk, State
from panes.spark.blob import from_bytes, to_bytes
from panes.spark.worker import local_folder


class BatchState:
    def __init__(self) -> None:
        self._written: dict[str, tuple[int, int]] = {}  # where each chunk begins in the file, and its length
        self._file: IO[bytes] | None = None

    def put_away(self, state: State) -> State:
        """The same state, none of which is in memory."""
        return replace(state, chunks=tuple(map(self._put, state.chunks)))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _put(self, chunk: Chunk) -> Chunk:
        if chunk.id not in self._written:
            if self._file is None:
                self._file = TemporaryFile(dir=local_folder(), prefix="panes-batch-")  # noqa: SIM115 - see close
            blob = to_bytes(chunk.load())
            self._written[chunk.id] = self._file.seek(0, 2), len(blob)
            self._file.write(blob)
        return replace(chunk, load=partial(self._load, chunk.id))

    def _load(self, chunk: str) -> pa.Table:
        assert self._file is not None
        start, length = self._written[chunk]
        self._file.seek(start)
        return from_bytes(self._file.read(length))
