"""Time windows on Spark: pre-projection, pack, shard, unpack, post-projection."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from panes.errors import PanesError
from panes.kernels.accumulators import Accumulator, accumulator, argument_cast
from panes.kernels.grouped import Fold, Grouping
from panes.kernels.kernel import Kernel
from panes.kernels.session import NUMBER, SessionWindows
from panes.kernels.slices import END, SLICE, START, SliceWindows
from panes.physical import plan as physical
from panes.spark.operator import Operator, run
from panes.spark.pack import BATCH, CONTROL, KEEP, PLACE, SHARD, TIME, WATERMARK
from panes.sql.duration import TimeUnit

if TYPE_CHECKING:
    from panes.spark.build import Builder


@dataclass(frozen=True)
class Aggregate:
    """An aggregate with its accumulator and the columns that the pre-projection makes for it."""

    argument: physical.Argument
    accumulator: Accumulator
    columns: tuple[tuple[str, str], ...]  # (SQL, name)
    condition: tuple[str, str] | None


def window(plan: physical.Window, below: DataFrame, builder: Builder) -> DataFrame:
    """The DataFrame of a window with aggregates."""
    from panes.spark.build import not_executable

    if plan.raw:
        raise not_executable("windows without aggregates")
    if plan.placement.emit == physical.EmitMode.CHANGES:
        raise not_executable("EMIT CHANGES")
    if not isinstance(plan.kind, physical.Tumbling | physical.Hopping | physical.Session):
        raise not_executable(f"{type(plan.kind).__name__.lower()} windows")
    guard = f"CASE WHEN {KEEP} THEN %s END" if KEEP in below.columns else "%s"
    time = plan.placement.time
    time_sql = f"`{time}`" if time is not None else "current_timestamp()"
    if plan.placement.time_shift:
        time_sql = f"({time_sql} - INTERVAL '0.000001' SECOND)"
    keys = [(guard % _normalised(key.sql, below), f"panes_k{i}") for i, key in enumerate(plan.keys)]
    aggregates = [_aggregate(i, argument, below, guard) for i, argument in enumerate(plan.aggregates)]
    order = [(f"`{name}`", f"panes_o{i}") for i, name in enumerate(plan.placement.key)]
    ordered = any(one.accumulator.ordered for one in aggregates)

    columns = [*keys, *(column for one in aggregates for column in one.columns)]
    columns += [one.condition for one in aggregates if one.condition is not None]
    columns += order if ordered else []
    names = [name for _, name in keys]
    shard = f"pmod(hash({', '.join(sql for sql, _ in keys)}), {builder.shards})" if keys else "0"
    pre = [f"{sql} AS {name}" for sql, name in columns]
    pre += [f"{time_sql} AS {TIME}", f"CAST({shard} AS INT) AS {SHARD}"]
    pre += [name for name in (KEEP, CONTROL) if name in below.columns]
    pre += [WATERMARK if WATERMARK in below.columns else f"{_arrival()} AS {WATERMARK}"] if below.isStreaming else []
    projected = below.selectExpr(*pre)

    folds = tuple(
        Fold(one.accumulator, tuple(n for _, n in one.columns), one.condition[1] if one.condition else None, f"v{i}")
        for i, one in enumerate(aggregates)
    )
    in_order = (TIME, *(name for _, name in order), BATCH, PLACE) if ordered else ()
    kernel = _kernel(plan, tuple(names), folds, in_order)
    types = {field.name: field.dataType.simpleString() for field in projected.schema.fields}
    zone = "timestamp_ntz" if types[TIME] == "timestamp_ntz" else "timestamp"
    outputs = [(name, types[name]) for name in names]
    outputs += [(f"v{i}", one.accumulator.value_type) for i, one in enumerate(aggregates)]
    outputs += [(START, zone), (END, zone)]
    operator = Operator(
        kernel,
        1 if plan.placement.one_shard else builder.shards,
        tuple(outputs),
        tuple((name, None if zone == "timestamp_ntz" else "UTC") for name in (START, END)),
        repr(plan),
    )
    unpacked = run(operator, projected, builder.spark)
    post = [f"{name} AS `{key.name}`" for name, key in zip(names, plan.keys, strict=True)]
    post += [
        f"{Template(one.accumulator.finish).substitute(v=f'v{i}')} AS `{one.argument.output}`"
        for i, one in enumerate(aggregates)
    ]
    post += [f"{bound} AS `{name}`" for name, bound in plan.bounds]
    return unpacked.selectExpr(*post)


def _arrival() -> str:
    from panes.spark.build import shifted

    return shifted("current_timestamp()")


def _normalised(sql: str, below: DataFrame) -> str:
    """A key as Spark's GROUP BY sees it: -0.0 is 0.0, every NaN is one NaN."""
    type_ = below.selectExpr(f"{sql} AS k").schema["k"].dataType.simpleString()
    if type_ in ("double", "float"):
        one = f"WHEN isnan({sql}) THEN CAST('NaN' AS {type_}) WHEN {sql} = 0 THEN CAST(0 AS {type_})"
        return f"(CASE {one} ELSE {sql} END)"
    return f"({sql})"


def _aggregate(index: int, argument: physical.Argument, below: DataFrame, guard: str) -> Aggregate:
    args = () if argument.args == ("*",) else argument.args
    constant = ""
    if argument.function in ("percentile", "approx_count_distinct"):
        args, constant = args[:1], (argument.args[1] if len(argument.args) > 1 else "")
    types = [below.selectExpr(f"{arg} AS x").schema["x"].dataType.simpleString() for arg in args]
    casts = [argument_cast(argument.function, type_) for type_ in types]
    cast = [f"CAST({arg} AS {to})" if to else arg for arg, to in zip(args, casts, strict=True)]
    types = [to or type_ for to, type_ in zip(casts, types, strict=True)]
    if argument.function == "approx_count_distinct":
        cast = [f"CASE WHEN ({cast[0]}) IS NOT NULL THEN xxhash64({cast[0]}) END"]
        types = ["bigint"]
    if argument.function == "percentile":
        types = [*types, "array<double>" if "(" in constant and "array" in constant.lower() else "double"]
        constant = _duck_constant(constant, below)
    found = accumulator(argument.function, types, argument.distinct, argument.ignore_nulls, constant)
    if found is None:
        raise PanesError("not-executable", f"{argument.text} has no accumulator yet")
    columns = tuple((guard % sql, f"panes_a{index}_{j}") for j, sql in enumerate(cast))
    condition = (guard % f"({argument.condition})", f"panes_f{index}") if argument.condition is not None else None
    return Aggregate(argument, found, columns, condition)


def _duck_constant(sql: str, below: DataFrame) -> str:
    """A constant of Spark's as text for DuckDB."""
    value = below.sparkSession.sql(f"SELECT {sql} AS v").collect()[0]["v"]
    return str([float(one) for one in value]) if isinstance(value, list) else str(float(value))


def _kernel(plan: physical.Window, keys: tuple[str, ...], folds: tuple[Fold, ...], order: tuple[str, ...]) -> Kernel:
    late = plan.placement.late or plan.placement.mode == physical.Mode.ARRIVAL
    match plan.kind:
        case physical.Tumbling(unit=unit, length=length):
            size = hop = length * TimeUnit(unit).microseconds
            return SliceWindows(size, hop, TIME, keys, Grouping((SLICE, *keys), folds, order), late)
        case physical.Hopping(unit=unit, size=size, hop=hop):
            scale = TimeUnit(unit).microseconds
            return SliceWindows(size * scale, hop * scale, TIME, keys, Grouping((SLICE, *keys), folds, order), late)
        case physical.Session(unit=unit, gap=gap):
            grouping = Grouping((*keys, NUMBER), folds, order)
            return SessionWindows(gap * TimeUnit(unit).microseconds, TIME, keys, grouping, late)
        case _:
            raise AssertionError(f"{plan.kind} is not a time window")
