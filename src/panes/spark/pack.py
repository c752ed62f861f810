"""Before the shuffle: rows of a source partition become one Arrow blob per shard, reduced by the operator's kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from panes.kernels.bounded import bounded
from panes.kernels.idle import Heard
from panes.kernels.kernel import SHARD, Kernel
from panes.kernels.late_rows import LATE, left_out
from panes.spark.blob import to_bytes
from panes.spark.memory import Memory
from panes.spark.worker import set_up

# Columns of the pre-projection. CONTROL is true for the end of the input, NULL for a heartbeat, false for a row.
TIME, KEEP, WATERMARK, CONTROL = "panes_time", "panes_keep", "panes_watermark", "panes_control"
IDENTITY = ("panes_id_batch", "panes_id_place")  # when a row came that an operator passed on
NOW = "panes_now"  # in arrival mode the row's time, where it is not the current micro-batch's
# Columns that pack adds: a row's micro-batch and its place in the source.
BATCH, PLACE = "panes_batch", "panes_place"

# For idle streams: the micro-batch's moment, when the run started, and of an operator below its clock; microseconds.
MOMENT, STARTED, TOLD = "panes_moment", "panes_started", "panes_told"
BESIDE = (CONTROL, LATE, TOLD)  # what an operator gives its reader beside rows

# `place` is that of the blob's first row: it orders the blobs of a shard. See `Heard` for the last four.
ARROW_PACKED = pa.schema(
    [
        ("shard", pa.int32()),
        ("place", pa.int64()),
        ("rows_in", pa.int64()),
        ("null_time_rows", pa.int64()),
        ("no_window_rows", pa.int64()),
        ("flush", pa.bool_()),
        ("blob", pa.binary()),
        ("moment", pa.int64()),
        ("came", pa.bool_()),
        ("started", pa.int64()),
        ("clock", pa.int64()),
    ]
)
PACKED = (
    "shard int, place bigint, rows_in bigint, null_time_rows bigint, no_window_rows bigint, flush boolean, "
    "blob binary, moment bigint, came boolean, started bigint, clock bigint"
)
MOST_ROWS, MOST_BYTES = 1_000_000, 64 << 20  # packed at once


@dataclass(frozen=True)
class Packed:
    """A row for a shard: what it is told, and some of its rows in a blob."""

    shard: int
    place: int = 0
    rows_in: int = 0
    null_time_rows: int = 0
    no_window_rows: int = 0
    flush: bool = False
    blob: bytes | None = None
    moment: int | None = None
    came: bool = False
    started: int | None = None
    clock: int | None = None


@dataclass(frozen=True)
class Pack:
    """The function that runs in `mapInArrow`. `shards` are the shard ids; rows carry an index into them.

    Rows that WHERE rejects are dropped here, unless the kernel is to see them.
    """

    kernel: Kernel
    shards: tuple[int, ...]
    takes_rejected: bool = False
    memory: Memory = field(default_factory=Memory)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        set_up(self.memory)
        context = TaskContext.get()
        partition = context.partitionId() if context is not None else 0
        number = int((context.getLocalProperty("streaming.sql.batchId") if context is not None else None) or 0)
        if partition == 0:
            yield _packed([Packed(shard) for shard in self.shards])  # greet every shard
        position = 0
        for table in _tables(batches):
            yield from self._pack(table, number, (partition << 40) + position)
            position += table.num_rows

    def _pack(self, table: pa.Table, number: int, position: int) -> Iterator[pa.RecordBatch]:
        heard = _heard(table)
        if heard != Heard():
            yield _packed([_told(shard, heard) for shard in self.shards])
        table = table.drop_columns([name for name in (MOMENT, STARTED, TOLD) if name in table.column_names])
        if LATE in table.column_names:
            yield from self._late(table, position)
            table = table.filter(pc.is_null(table[LATE])).drop_columns([LATE])
        total = table.num_rows
        if CONTROL in table.column_names:
            total = pc.sum(pc.invert(table[CONTROL])).as_py() or 0
            if pc.any(table[CONTROL]).as_py():
                yield _packed([Packed(shard, flush=True) for shard in self.shards])
        table = table.append_column(PLACE, pa.array(np.arange(position, position + table.num_rows)))
        table = table.append_column(BATCH, pa.repeat(pa.scalar(number, pa.int64()), table.num_rows))
        if not self.takes_rejected and KEEP in table.column_names:
            table = table.filter(table[KEEP])
        elif CONTROL in table.column_names:
            table = table.filter(pc.fill_null(pc.invert(table[CONTROL]), False))
        timed = table.filter(pc.is_valid(table[TIME]))
        nulls = table.num_rows - timed.num_rows
        packed = self.kernel.pack(timed) if timed.num_rows else timed
        counted = Packed(self.shards[0], position, total, nulls, left_out(timed, packed))
        yield _packed([counted, *self._blobs(packed, position)])

    def _late(self, table: pa.Table, position: int) -> Iterator[pa.RecordBatch]:
        """Late rows of an operator below: they only pass through, by the first shard."""
        late = table.select([LATE]).filter(pc.is_valid(table[LATE]))
        for number, part in enumerate(bounded(late) if late.num_rows else ()):
            yield _packed([Packed(self.shards[0], position + number, blob=to_bytes(part))])

    def _blobs(self, packed: pa.Table, position: int) -> Iterator[Packed]:
        """One or more for each shard that has rows, which were reduced all at once: sorted by shard, and cut.

        A blob that follows another has at least one row before it, so `place` tells them apart.
        """
        if not packed.num_rows:
            return
        indices = packed[SHARD].to_numpy()
        rows = packed.drop_columns([SHARD])
        if len(self.shards) > 1:
            narrow = indices.astype(np.min_scalar_type(len(self.shards)))  # NumPy sorts these in one pass
            rows = rows.take(pa.array(np.argsort(narrow, kind="stable")))
        counts = np.bincount(indices, minlength=len(self.shards))
        for shard, end, count in zip(self.shards, np.cumsum(counts).tolist(), counts.tolist(), strict=True):
            for number, part in enumerate(bounded(rows.slice(end - count, count))):
                yield Packed(shard, position + number, blob=to_bytes(part))


def _tables(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches gathered into tables that are worth a kernel call."""
    gathered: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if batch.num_rows:
            gathered.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= MOST_ROWS or size >= MOST_BYTES:
            yield _in_utc(pa.Table.from_batches(gathered))
            gathered, rows, size = [], 0, 0
    if gathered:
        yield _in_utc(pa.Table.from_batches(gathered))


def _in_utc(table: pa.Table) -> pa.Table:
    """The same moments: Spark writes the session's time zone into the types of its times, DuckDB writes UTC."""
    schema = pa.schema([field.with_type(utc(field.type)) for field in table.schema])
    return table if schema == table.schema else table.cast(schema)


def utc(type_: pa.DataType) -> pa.DataType:
    """The type with UTC for every time zone in it.

    >>> utc(pa.list_(pa.timestamp("us", "Asia/Tokyo")))
    ListType(list<item: timestamp[us, tz=UTC]>)
    """
    if pa.types.is_timestamp(type_) and type_.tz is not None:
        return pa.timestamp(type_.unit, "UTC")
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(utc(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(utc(type_.key_type), type_.item_field.with_type(utc(type_.item_type)))
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(utc(type_.value_type)))
    return type_


def _heard(table: pa.Table) -> Heard:
    """What these rows tell of the stream: that some came, or that a heartbeat did. The end of the input is neither."""
    known = table.column_names
    clock = pc.max(table[TOLD]).as_py() if TOLD in known else None
    if MOMENT not in known:
        return Heard(clock=clock)
    control = table[CONTROL]
    came = bool(pc.any(pc.invert(control)).as_py())
    if not came and not control.null_count:
        return Heard(clock=clock)
    started = pc.max(table[STARTED]).as_py() if STARTED in known else None
    return Heard(pc.max(table[MOMENT]).as_py(), came, started, clock)


def _told(shard: int, heard: Heard) -> Packed:
    return Packed(shard, moment=heard.moment, came=heard.came, started=heard.started, clock=heard.clock)


def _packed(rows: list[Packed]) -> pa.RecordBatch:
    columns = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in ARROW_PACKED]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_PACKED)
