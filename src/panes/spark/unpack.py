"""After the kernel: blobs and files become rows again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from panes.spark.counters import CLOCK
from panes.spark.pack import CONTROL, TOLD
from panes.spark.results import read_result
from panes.spark.worker import freeze_imports


@dataclass(frozen=True)
class Unpack:
    """The function that runs in `mapInArrow`: the rows of each result, in the columns and types of `schema`.

    With a CONTROL column in the schema, the end of the input is passed on as a row that has nothing else, and with a
    column TOLD the clock, which may be ahead of the watermark.
    """

    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        passes_flush = CONTROL in self.schema.names
        for batch in batches:
            columns = (batch.column(name) for name in ("blob", "file", "flush", CLOCK))
            for blob, file, flush, clock in zip(*columns, strict=True):
                for table in read_result(blob.as_py(), file.as_py()):
                    yield from self._rows(table)
                if flush.as_py() and passes_flush:
                    yield pa.RecordBatch.from_pylist([{CONTROL: True}], self.schema)
                if clock.is_valid and TOLD in self.schema.names:
                    yield pa.RecordBatch.from_pylist([{TOLD: clock.as_py()}], self.schema)

    def _rows(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        columns = [self._column(table, field) for field in self.schema]
        yield from pa.table(columns, schema=self.schema).combine_chunks().to_batches(max_chunksize=100_000)

    def _column(self, table: pa.Table, field: pa.Field) -> pa.Array | pa.ChunkedArray:
        """A column of rows, or of late rows: those have nothing else, and other rows are not late."""
        if field.name == CONTROL:
            return pa.repeat(False, table.num_rows)
        if field.name not in table.column_names:
            return pa.nulls(table.num_rows, field.type)
        return table[field.name].cast(field.type)
