"""Runs DataFrames of the double: once over a batch, or micro-batch by micro-batch as Structured Streaming does."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

import pyarrow as pa
from pyspark import TaskContext, cloudpickle

from .frame import Frame
from .nodes import (
    ApplyInArrow,
    Columns,
    MapInArrow,
    Node,
    Observed,
    Partitions,
    Query,
    Select,
    Source,
    Union,
    Watermarked,
    WithState,
)
from .scalar import run, run_translated
from .state import Store, Task
from .types import Schema, spark_type

PART = "panes_double_part"


@dataclass
class MicroBatch:
    """One run over all nodes. `rows` are the partitions of each source."""

    rows: Mapping[str, Partitions]
    number: int | None = None  # None in a batch
    watermark: int = 0  # milliseconds
    now: str = "1970-01-01 00:00:00"
    pick: random.Random = field(default_factory=lambda: random.Random(0))
    stores: Mapping[Node, Store] = field(default_factory=dict)
    seen: dict[Node, int] = field(default_factory=dict)  # the largest time at each watermark, in milliseconds
    metrics: dict[str, Counter[str]] = field(default_factory=dict)
    done: dict[int, Partitions] = field(default_factory=dict)

    def result(self, frame: Frame) -> Partitions:
        found = self.done.get(id(frame.node))
        if found is None:
            arrow = frame.schema.arrow
            found = self.done[id(frame.node)] = [_typed(one, arrow) for one in self._result(frame.node)]
        return found

    def _result(self, node: Node) -> Partitions:
        match node:
            case Source(name=name, rows=rows):
                return [rows] if rows is not None else list(self.rows[name])
            case Query():
                return self._query(node)
            case Select():
                return self._select(node)
            case Columns(inputs=(below,), names=names):
                return [table.select(names) for table in self.result(below)]
            case MapInArrow(inputs=(below,)):
                return [self._mapped(node, table, at) for at, table in enumerate(self.result(below))]
            case Watermarked(inputs=(below,), column=column):
                for table in self.result(below):
                    times = [one for one in table[column].cast(pa.int64()).to_pylist() if one is not None]
                    self.seen[node] = max([self.seen.get(node, 0), *(time // 1000 for time in times)])
                return self.result(below)
            case WithState(inputs=(below,)):
                return self._with_state(node, self.result(below))
            case ApplyInArrow(inputs=(below,), by=by, function=function):
                packed = _whole(self.result(below), below.schema)
                groups = dict.fromkeys(packed[by].to_pylist())
                done = (function(iter(_where(packed, by, group).to_batches())) for group in groups)
                return [pa.Table.from_batches(list(batches)) for batches in done]
            case Observed(inputs=(below,), name=name):
                counted = self.metrics.setdefault(name, Counter())
                for row in (row for table in self.result(below) for row in table.drop_columns(["blob"]).to_pylist()):
                    counted.update({one: value for one, value in row.items() if isinstance(value, int)})
                return self.result(below)
            case Union(inputs=inputs):
                schema = node.schema.arrow
                return [_with_nulls(table, schema) for one in inputs for table in self.result(one)]
            case _:
                raise NotImplementedError(node)

    def _select(self, node: Select) -> Partitions:
        """All selections down to another node, over all partitions at once: DuckDB's time goes by the query."""
        chain = [node]
        while isinstance(below := chain[-1].inputs[0].node, Select):
            chain.append(below)
        base = chain[-1].inputs[0]
        parts = self.result(base)
        full = [at for at, table in enumerate(parts) if table.num_rows]
        empty = node.schema.arrow.empty_table()
        if not full:
            return [empty for _ in parts]
        carried = PART if len(full) > 1 else ""
        numbers = [pa.array([at] * parts[at].num_rows, pa.int32()) for at in full]
        rows = [
            parts[at].append_column(PART, one) if carried else parts[at] for at, one in zip(full, numbers, strict=True)
        ]
        sql = "input_rows"
        for number, one in enumerate(reversed(chain)):
            sql = one.sql(sql if not number else f"({sql})", carried)
        found = run_translated(sql, {"input_rows": pa.concat_tables(rows)}, self.now)
        if not carried:
            return [found if at in full else empty for at in range(len(parts))]
        return [_where(found, PART, at).drop_columns([PART]) if at in full else empty for at in range(len(parts))]

    def _query(self, node: Query) -> Partitions:
        """Partition by partition where there is one input in several, else over everything at once."""
        parted = [at for at, one in enumerate(node.inputs) if one.isStreaming]
        if len(parted) > 1 or (parted and node.needs_all_rows):
            raise NotImplementedError(f"the double of Spark does not run this over a stream: {node.sql}")
        whole_ = {
            name: _whole(self.result(one), one.schema)
            for at, (name, one) in enumerate(zip(node.names, node.inputs, strict=True))
            if at not in parted
        }
        if not parted:
            return [run(node.sql, whole_, self.now)]
        name = node.names[parted[0]]
        parts = self.result(node.inputs[parted[0]])
        return [run(node.sql, {**whole_, name: table}, self.now) for table in parts]

    def _mapped(self, node: MapInArrow, table: pa.Table, partition: int) -> pa.Table:
        TaskContext._taskContext = _Context(partition, self.number)  # type: ignore[assignment]
        try:
            batches = list(node.function(self._cut(table)))
        finally:
            TaskContext._taskContext = None
        for batch in batches:
            given, wanted = (
                [spark_type(one.type) for one in batch.schema],
                [one.dataType.name for one in node.schema.fields],
            )
            assert given == wanted, f"{given} are not {wanted}"
        arrow = node.schema.arrow
        return pa.concat_tables(
            [_typed(pa.Table.from_batches([one]), arrow) for one in batches] or [arrow.empty_table()]
        )

    def _cut(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """Record batches of any size: one row, all rows, none."""
        whole_ = table.combine_chunks()
        start = 0
        while start < table.num_rows:
            size = self.pick.choice([table.num_rows, table.num_rows, 1, 2, 5])
            yield from whole_.slice(start, size).to_batches()
            start += size

    def _with_state(self, node: WithState, partitions: Partitions) -> Partitions:
        """Spark reads what was shuffled in any order of partitions; shards with rows go first, then timers."""
        shuffled = self.pick.sample(partitions, len(partitions))
        rows = _whole(shuffled, node.inputs[0].schema).to_pylist()
        task = Task(node.processor, self.stores[node], self.watermark)
        groups = list(dict.fromkeys(row[node.by] for row in rows))
        outputs = [task.rows(group, [row for row in rows if row[node.by] == group]) for group in groups]
        outputs += task.timers()
        if node.event_time:
            times = [row[node.event_time].replace(tzinfo=UTC).timestamp() for one in outputs for row in one]
            assert all(time * 1000 >= self.watermark for time in times), "a row is older than the watermark"
        schema = node.schema.arrow
        return [pa.Table.from_pylist(one, schema) for one in outputs]


@dataclass(frozen=True)
class _Context:
    """Spark's TaskContext."""

    partition: int
    number: int | None

    def partitionId(self) -> int:  # noqa: N802
        return self.partition

    def getLocalProperty(self, name: str) -> str | None:  # noqa: N802
        assert name == "streaming.sql.batchId", name
        return None if self.number is None else str(self.number)


def whole(frame: Frame) -> pa.Table:
    """All rows of a batch."""
    assert not frame.isStreaming
    return _whole(MicroBatch({}).result(frame), frame.schema)


def _whole(partitions: Sequence[pa.Table], schema: Schema) -> pa.Table:
    return pa.concat_tables([*partitions]) if partitions else schema.arrow.empty_table()


def _typed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The same rows under the names and types of a schema."""
    if table.schema.equals(schema):
        return table
    columns = [column.cast(one.type) for column, one in zip(table.columns, schema, strict=True)]
    return pa.table(columns, schema=schema)


def _where(table: pa.Table, name: str, value: Any) -> pa.Table:
    return table.filter(pa.array([one == value for one in table[name].to_pylist()], pa.bool_()))


def _with_nulls(table: pa.Table, schema: pa.Schema) -> pa.Table:
    names = set(table.column_names)
    columns = [table[one.name] if one.name in names else pa.nulls(table.num_rows, one.type) for one in schema]
    return pa.table(columns, schema=schema)


def nodes(frame: Frame) -> Iterator[Node]:
    for one in frame.node.inputs:
        yield from nodes(one)
    yield frame.node


@dataclass
class Checkpoint:
    """What outlives a restart: state by operator, watermarks, and the number of the next micro-batch."""

    stores: list[Store] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    watermark: int = 0
    number: int = 0


class StreamingRun:
    """A started query."""

    def __init__(self, frame: Frame, checkpoint: Checkpoint, pick: random.Random) -> None:
        self.frame, self.checkpoint, self.pick = frame, checkpoint, pick
        self.metrics: dict[str, Counter[str]] = {}
        found = list(dict.fromkeys(nodes(frame)))
        stateful = [one for one in found if isinstance(one, WithState)]
        self.clocks = [one for one in found if isinstance(one, Watermarked)]
        checkpoint.stores = checkpoint.stores or [Store() for _ in stateful]
        checkpoint.seen = checkpoint.seen or [0] * len(self.clocks)
        self.stores: dict[Node, Store] = dict(zip(stateful, checkpoint.stores, strict=True))
        self.sources = [one.name for one in found if isinstance(one, Source) and one.streaming]
        for one in found:  # what goes to Spark's workers is pickled
            for name in ("processor", "function"):
                if hasattr(one, name):
                    pickled = cloudpickle.dumps(getattr(one, name))  # type: ignore[no-untyped-call]
                    object.__setattr__(one, name, cloudpickle.loads(pickled))

    def micro_batch(self, now: str, **rows: Partitions) -> list[pa.Table]:
        """What comes out of a micro-batch, and of those without data that follow while the watermark moves."""
        tables = self._once(rows, now)
        while self._moved():
            tables += self._once({}, now)
        return tables

    def _once(self, rows: Mapping[str, Partitions], now: str) -> list[pa.Table]:
        given = {name: rows.get(name, []) for name in self.sources}
        seen: dict[Node, int] = dict(zip(self.clocks, self.checkpoint.seen, strict=True))
        batch = MicroBatch(
            given,
            self.checkpoint.number,
            self.checkpoint.watermark,
            now,
            self.pick,
            self.stores,
            seen,
            self.metrics,
        )
        tables = batch.result(self.frame)
        self.checkpoint.seen = [batch.seen[one] for one in self.clocks]
        self.checkpoint.number += 1
        return tables

    def _moved(self) -> bool:
        before = self.checkpoint.watermark
        self.checkpoint.watermark = max(before, min(self.checkpoint.seen, default=0))
        return self.checkpoint.watermark > before
