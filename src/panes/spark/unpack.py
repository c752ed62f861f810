"""After the shuffle: blobs become rows again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from panes.spark.blob import from_bytes


@dataclass(frozen=True)
class Unpack:
    """The function that runs in `mapInArrow`: the rows of each blob, in the columns and types that were promised."""

    names: tuple[str, ...]
    times: tuple[tuple[str, str | None], ...]  # columns of microseconds and the zone of the time they become

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch.column("blob").to_pylist():
                if blob is not None:
                    yield from self._rows(from_bytes(blob))

    def _rows(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        zones = dict(self.times)
        columns = [
            table[name].cast(pa.timestamp("us", zones[name])) if name in zones else table[name] for name in self.names
        ]
        yield from pa.table(columns, names=list(self.names)).combine_chunks().to_batches(max_chunksize=100_000)
