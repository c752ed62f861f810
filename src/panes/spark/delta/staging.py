"""Rows on their way into a table: executors write them to files beside it, the driver reads those as a stream.

    TABLE/_panes_staging/3f0c9a…-12-e1b5…-0.arrow    sink, micro-batch, attempt, partition

So no more than some record batches are in memory anywhere, and all go through the table's own storage options. Names
that begin with `_` are no files of the table. What a kill leaves goes away with the next micro-batch that is committed.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from pyarrow.fs import FileSelector
from pyspark import TaskContext
from pyspark.sql import DataFrame

from panes.spark.delta.table import failures_of, files_of
from panes.spark.folders import is_local

FOLDER = "_panes_staging"
BUFFER = 1 << 20
STAGED = pa.schema([("file", pa.string()), ("size", pa.int64()), ("null_keys", pa.bool_())])


@dataclass(frozen=True)
class Stage:
    """The function that runs in `mapInArrow`: a partition's rows become a file."""

    path: str
    storage: Mapping[str, str]
    prefix: str
    schema: pa.Schema
    key: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None:
            return
        context = TaskContext.get()
        name = f"{FOLDER}/{self.prefix}-{context.partitionId() if context is not None else 0}-{uuid.uuid4().hex}.arrow"
        size, null_keys = 0, False
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with (
            failures_of(self.path, self.storage),
            self._opened(name) as out,
            pa.ipc.new_file(out, self.schema, options=options) as file,
        ):
            while first is not None:
                table = pa.Table.from_batches([first]).cast(self.schema)
                file.write_table(table)
                size += table.nbytes
                null_keys = null_keys or any(table[name].null_count for name in self.key)
                first = next(batches, None)
        yield pa.RecordBatch.from_pydict({"file": [name], "size": [size], "null_keys": [null_keys]}, STAGED)

    def _opened(self, name: str) -> pa.NativeFile:
        files = files_of(self.path, self.storage)
        if is_local(self.path):
            files.create_dir(FOLDER)
        return files.open_output_stream(name, buffer_size=BUFFER)  # without, Arrow hands on what delta-rs does not take


@dataclass(frozen=True)
class Staged:
    """The files of an attempt at a micro-batch, the bytes that their rows take in memory, and whether keys are NULL."""

    path: str
    storage: Mapping[str, str]
    files: tuple[str, ...]
    schema: pa.Schema
    size: int
    null_keys: bool

    def reader(self) -> pa.RecordBatchReader:
        """All rows, a few record batches at a time."""
        from pyarrow.dataset import dataset

        found = dataset(list(self.files), self.schema, "ipc", files_of(self.path, self.storage))
        return found.scanner(batch_readahead=2, fragment_readahead=1).to_reader()


def stage(
    rows: DataFrame,
    path: str,
    storage: Mapping[str, str],
    sink: str,
    batch: int,
    schema: pa.Schema,
    key: tuple[str, ...],
) -> Staged:
    """Have executors write the rows of a micro-batch, whose columns are those of `schema`; some are its `key`."""
    prefix = f"{_short(sink)}-{batch}-{uuid.uuid4().hex}"
    write = Stage(path, storage, prefix, schema, key)
    done = rows.mapInArrow(write, "file string, size bigint, null_keys boolean").collect()
    files = tuple(sorted(row["file"] for row in done))
    return Staged(path, storage, files, schema, sum(row["size"] for row in done), any(row["null_keys"] for row in done))


def clean_up(path: str, storage: Mapping[str, str], sink: str, batch: int) -> None:
    """Remove what was staged for a micro-batch that is committed, and for those before it, by whomever."""
    with failures_of(path, storage):
        files = files_of(path, storage)
        for one in files.get_file_info(FileSelector(FOLDER, allow_not_found=True)):
            owner, _, rest = one.base_name.partition("-")
            if owner == _short(sink) and int(rest.partition("-")[0]) <= batch:
                with suppress(FileNotFoundError):  # another driver was faster
                    files.delete_file(one.path)


def nullable(type_: pa.DataType) -> pa.DataType:
    """The type with NULL allowed everywhere in it: a NULL is the table's to refuse.

    >>> nullable(pa.struct([pa.field("a", pa.int32(), nullable=False)]))
    StructType(struct<a: int32>)
    """
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(field.name, nullable(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(nullable(type_.key_type), nullable(type_.item_type))
    if pa.types.is_list(type_):
        return pa.list_(pa.field(type_.value_field.name, nullable(type_.value_type)))
    return type_


def _short(sink: str) -> str:
    """A sink's id as part of a file's name."""
    return hashlib.sha256(sink.encode()).hexdigest()[:16]
