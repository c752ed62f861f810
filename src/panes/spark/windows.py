"""Windows on Spark: a pre-projection makes the kernel's columns, a post-projection the query's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from panes.errors import PanesError
from panes.kernels.accumulators import Accumulator, accumulator, argument_cast
from panes.kernels.changes import CHANGE, INSERT
from panes.kernels.count import CountWindows
from panes.kernels.grouped import Fold, Grouping
from panes.kernels.kernel import Kernel
from panes.kernels.release import Release
from panes.kernels.session import NUMBER, SessionWindows
from panes.kernels.slices import END, SLICE, START, SliceWindows
from panes.physical import plan as physical
from panes.spark.expressions import known_type, not_executable, quoted, shifted, type_of
from panes.spark.operator import Operator, run
from panes.spark.pack import BATCH, CONTROL, KEEP, PLACE, SHARD, TIME, WATERMARK
from panes.sql.duration import TimeUnit

if TYPE_CHECKING:
    from panes.spark.build import Builder


@dataclass(frozen=True)
class Named:
    """A column of the pre-projection: Spark's text and the name that the kernel knows it by."""

    sql: str
    name: str


@dataclass(frozen=True)
class Aggregate:
    """An aggregate with its accumulator and the columns that the pre-projection makes for it."""

    output: str
    accumulator: Accumulator
    columns: tuple[Named, ...]
    condition: Named | None = None

    def fold(self, state: str) -> Fold:
        condition = self.condition.name if self.condition is not None else None
        return Fold(self.accumulator, tuple(column.name for column in self.columns), condition, state)


@dataclass(frozen=True)
class Columns:
    """The pre-projection of a window: what it is partitioned by, grouped by, ordered by, and its aggregates."""

    partition: tuple[Named, ...]
    keys: tuple[Named, ...]
    order: tuple[Named, ...]
    aggregates: tuple[Aggregate, ...]

    def all(self) -> list[Named]:
        found = [*self.partition, *self.keys, *self.order]
        for one in self.aggregates:
            found += [*one.columns, *([one.condition] if one.condition is not None else [])]
        return found


ROWS = "panes_rows"


def window(plan: physical.Window, below: DataFrame, builder: Builder, feeds_another: bool) -> DataFrame:
    """The DataFrame of a window; `feeds_another` if a stateful operator reads it."""
    if isinstance(plan.kind, physical.Sliding | physical.StateMachine):
        raise not_executable(f"{'sliding' if isinstance(plan.kind, physical.Sliding) else 'state'} windows")
    columns = _columns(plan, below)
    shards = 1 if plan.placement.one_shard else builder.shards
    projected = _projected(plan, columns, below, shards)
    types = {field.name: field.dataType.simpleString() for field in projected.schema.fields}
    zone = "timestamp_ntz" if types[TIME] == "timestamp_ntz" else "timestamp"
    kept = [*columns.partition, *columns.keys]
    outputs = [(key.name, types[key.name]) for key in kept]
    outputs += [(f"v{i}", one.accumulator.value_type) for i, one in enumerate(columns.aggregates)]
    outputs += [(START, zone), (END, zone)]
    changes = plan.placement.emit == physical.EmitMode.CHANGES
    outputs += [(CHANGE, "string")] if changes and below.isStreaming else []
    passes_flush = feeds_another and CONTROL in below.columns
    metrics = f"panes_{operators_below(plan.input) + 1}" if feeds_another else "panes"
    kernel = _kernel(plan, columns)
    operator = Operator(
        kernel, shards, tuple(outputs), repr(plan), metrics, feeds_another, passes_flush, sessions_below(plan.input)
    )
    unpacked = run(operator, projected, builder.spark)
    if changes and not below.isStreaming:
        unpacked = unpacked.selectExpr("*", f"'{INSERT}' AS {CHANGE}")
    return _raw_rows(plan, unpacked, below) if plan.raw else _values(plan, columns, unpacked)


def _columns(plan: physical.Window, below: DataFrame) -> Columns:
    guard = f"CASE WHEN {KEEP} THEN %s END" if KEEP in below.columns else "%s"
    is_count = isinstance(plan.kind, physical.Count)
    partition_sql = list(plan.placement.partition_by) if is_count else []
    partition = [Named(guard % _normalised(sql, below), f"panes_p{i}") for i, sql in enumerate(partition_sql)]
    grouped = [] if plan.raw and is_count else [key for key in plan.keys if key.sql not in partition_sql]
    keys = [Named(guard % _normalised(key.sql, below), f"panes_k{i}") for i, key in enumerate(grouped)]
    order = [Named(quoted(name), f"panes_o{i}") for i, name in enumerate(plan.placement.key)]
    if plan.raw:
        aggregates = [_rows_as_values(below, guard)]
    else:
        aggregates = [_aggregate(i, argument, below, guard) for i, argument in enumerate(plan.aggregates)]
    ordered = is_count or any(one.accumulator.ordered for one in aggregates)
    return Columns(tuple(partition), tuple(keys), tuple(order) if ordered else (), tuple(aggregates))


def _projected(plan: physical.Window, columns: Columns, below: DataFrame, shards: int) -> DataFrame:
    time = plan.placement.time
    time_sql = quoted(time) if time is not None else "current_timestamp()"
    if plan.placement.time_shift:
        time_sql = f"({time_sql} - INTERVAL '0.000001' SECOND)"
    by = columns.partition if isinstance(plan.kind, physical.Count) else columns.keys
    shard = f"pmod(hash({', '.join(key.sql for key in by)}), {shards})" if by else "0"
    pre = [f"{one.sql} AS {one.name}" for one in columns.all()]
    pre += [f"{time_sql} AS {TIME}", f"CAST({shard} AS INT) AS {SHARD}"]
    pre += [name for name in (KEEP, CONTROL) if name in below.columns]
    if below.isStreaming and not operators_below(plan.input):
        pre.append(WATERMARK if WATERMARK in below.columns else f"{shifted('current_timestamp()')} AS {WATERMARK}")
    return below.selectExpr(*pre)


def operators_below(plan: physical.Plan) -> int:
    """How many stateful operators there are; above the first the clock is there already."""
    own = isinstance(plan, physical.Window | physical.OverWindow | physical.StatefulFunction)
    return own + sum(operators_below(child) for child in physical.children(plan))


def sessions_below(plan: physical.Plan) -> int:
    """How many session windows there are below.

    A session that ends at the watermark is still open (`end < W`) where another window that ends there is closed
    (`end <= W`): what stands above a session looks at the clock a microsecond later, so that it misses none.
    """
    own = isinstance(plan, physical.Window) and isinstance(plan.kind, physical.Session)
    return own + sum(sessions_below(child) for child in physical.children(plan))


def _values(plan: physical.Window, columns: Columns, unpacked: DataFrame) -> DataFrame:
    """The post-projection: keys under their names, aggregates finished by Spark."""
    partition_sql = list(plan.placement.partition_by) if columns.partition else []
    names = iter(columns.keys)
    post = []
    for key in plan.keys:
        own = columns.partition[partition_sql.index(key.sql)] if key.sql in partition_sql else next(names)
        post.append(f"{own.name} AS {quoted(key.name)}")
    for i, one in enumerate(columns.aggregates):
        post.append(f"{Template(one.accumulator.finish).substitute(v=f'v{i}')} AS {quoted(one.output)}")
    return unpacked.selectExpr(*post, *_bounds(plan), *_carried(unpacked))


def _raw_rows(plan: physical.Window, unpacked: DataFrame, below: DataFrame) -> DataFrame:
    """The post-projection of a window whose rows come out: one output per row and window."""
    explode = "explode_outer" if CONTROL in unpacked.columns else "explode"
    exploded = unpacked.selectExpr(f"{explode}(v0) AS {ROWS}", *_bounds(plan), *_carried(unpacked))
    names = _own(below)
    fields = [f"{ROWS}.c{i} AS {quoted(name)}" for i, name in enumerate(names)]
    rest = [name for name in exploded.columns if name != ROWS]
    return exploded.selectExpr(*fields, *(quoted(name) for name in rest))


def _bounds(plan: physical.Window) -> list[str]:
    return [f"{bound} AS {quoted(name)}" for name, bound in plan.bounds]


def _carried(unpacked: DataFrame) -> list[str]:
    """What goes along with every row: its change type, or that it is the end of the input."""
    return [name for name in (CHANGE, CONTROL) if name in unpacked.columns]


def _own(below: DataFrame) -> list[str]:
    return [name for name in below.columns if name not in (KEEP, CONTROL, WATERMARK)]


def _rows_as_values(below: DataFrame, guard: str) -> Aggregate:
    """The window's rows as a list, in the stream's order: a window without aggregates is one that collects."""
    struct = ", ".join(f"'c{i}', {quoted(name)}" for i, name in enumerate(_own(below)))
    sql = guard % f"named_struct({struct})"
    found = accumulator("collect_list", [type_of(f"named_struct({struct})", below)])
    assert found is not None
    return Aggregate(ROWS, found, (Named(sql, ROWS),))


def _normalised(sql: str, below: DataFrame) -> str:
    """A key as Spark's GROUP BY sees it: -0.0 is 0.0, every NaN is one NaN."""
    type_ = known_type(sql, below)
    if type_ in ("double", "float"):
        one = f"WHEN isnan({sql}) THEN CAST('NaN' AS {type_}) WHEN {sql} = 0 THEN CAST(0 AS {type_})"
        return f"(CASE {one} ELSE {sql} END)"
    return f"({sql})"


def _aggregate(index: int, argument: physical.Argument, below: DataFrame, guard: str) -> Aggregate:
    args = () if argument.args == ("*",) else argument.args
    constant = ""
    if argument.function in ("percentile", "approx_count_distinct"):
        args, constant = args[:1], (argument.args[1] if len(argument.args) > 1 else "")
    types = [known_type(arg, below) for arg in args]
    casts = [argument_cast(argument.function, type_) for type_ in types]
    cast = [f"CAST({arg} AS {to})" if to else f"({arg})" for arg, to in zip(args, casts, strict=True)]
    types = [to or type_ for to, type_ in zip(casts, types, strict=True)]
    if argument.function == "approx_count_distinct":
        cast, types = [f"CASE WHEN {cast[0]} IS NOT NULL THEN xxhash64({cast[0]}) END"], ["bigint"]
    if argument.function == "percentile":
        types = [*types, type_of(constant, below)]
        constant = _as_duck(constant, below)
    found = accumulator(argument.function, types, argument.distinct, argument.ignore_nulls, constant)
    if found is None:
        raise PanesError("not-executable", f"{argument.text} has no accumulator yet")
    columns = tuple(Named(guard % sql, f"panes_a{index}_{j}") for j, sql in enumerate(cast))
    condition = Named(guard % f"({argument.condition})", f"panes_f{index}") if argument.condition is not None else None
    return Aggregate(argument.output, found, columns, condition)


def _as_duck(sql: str, below: DataFrame) -> str:
    """A constant of Spark's as text for DuckDB."""
    value = below.sparkSession.sql(f"SELECT {sql} AS v").collect()[0]["v"]
    return str([float(one) for one in value]) if isinstance(value, list) else str(float(value))


FIRST_TIME = Accumulator(f"min({TIME}) $w", "min($s)", "$s", "timestamp", "$v")
LAST_TIME = Accumulator(f"max({TIME}) $w", "max($s)", "$s", "timestamp", "$v")


def _kernel(plan: physical.Window, columns: Columns) -> Kernel:
    keys = tuple(key.name for key in columns.keys)
    folds = tuple(one.fold(f"v{i}") for i, one in enumerate(columns.aggregates))
    arrival = plan.placement.mode == physical.Mode.ARRIVAL
    by_time = () if arrival else (TIME, *(name.name for name in columns.order))
    order = (*by_time, BATCH, PLACE) if isinstance(plan.kind, physical.Count) or _ordered(columns.aggregates) else ()
    late = plan.placement.late or arrival
    changes = plan.placement.emit == physical.EmitMode.CHANGES and plan.placement.mode != physical.Mode.BATCH
    match plan.kind:
        case physical.Tumbling(unit=unit, length=length):
            size = hop = length * TimeUnit(unit).microseconds
            return SliceWindows(size, hop, TIME, keys, Grouping((SLICE, *keys), folds, order), late, changes)
        case physical.Hopping(unit=unit, size=size, hop=hop):
            scale = TimeUnit(unit).microseconds
            grouping = Grouping((SLICE, *keys), folds, order)
            return SliceWindows(size * scale, hop * scale, TIME, keys, grouping, late, changes)
        case physical.Session(unit=unit, gap=gap):
            grouping = Grouping((*keys, NUMBER), folds, order)
            return SessionWindows(gap * TimeUnit(unit).microseconds, TIME, keys, grouping, late, changes)
        case physical.Count(count=count, every=every):
            waits = not arrival and plan.placement.emit != physical.EmitMode.IMMEDIATELY
            release = Release(TIME, order, waits, plan.placement.late)
            ends = (Fold(FIRST_TIME, (), None, START), Fold(LAST_TIME, (), None, END))
            partition = tuple(key.name for key in columns.partition)
            return CountWindows(count, every, partition, keys, (*folds, *ends), release)
        case _:
            raise AssertionError(f"{plan.kind} has no kernel")


def _ordered(aggregates: Sequence[Aggregate]) -> bool:
    return any(one.accumulator.ordered for one in aggregates)
