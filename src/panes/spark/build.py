"""Physical plan → DataFrame."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import count
from typing import Any, assert_never
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from panes.functions import Functions
from panes.kernels.changelog.changes import CHANGE
from panes.kernels.late_rows import LATE, WHOLE
from panes.physical import plan as physical
from panes.physical.chain import Stateful, streams_before_operators
from panes.physical.identity import Identity
from panes.physical.lineage import result_of
from panes.spark.changelog_output import PASS, changelog_output
from panes.spark.expressions import quoted, shifted, type_of
from panes.spark.heartbeat import heartbeat
from panes.spark.normalize import normalize
from panes.spark.over import over
from panes.spark.pack import CONTROL, KEEP, NOW, STARTED, WATERMARK
from panes.spark.pair import paired
from panes.spark.progress import metrics_name
from panes.spark.projection import HIDDEN
from panes.spark.stateful import stateful
from panes.spark.windows import window
from panes.sql.template import placeholder


class Reader(Enum):
    """Who reads the rows of a plan."""

    RESULT = "whoever asked for the result"
    OPERATOR = "a stateful operator: rows that WHERE removes still move the watermark, so they are only marked"
    SPARK = "a part that Spark runs, below an operator: the clock is attached at the source, where every row still is"


@dataclass(frozen=True)
class Builder:
    """What a plan is built with: the session, the DataFrame of each stream by lower-case name, shards, functions."""

    spark: SparkSession
    sources: Mapping[str, DataFrame]
    shards: int
    functions: Functions
    control: DataFrame | None = None  # a stream that has a row when the input has ended
    heartbeats: Mapping[str, int] = field(default_factory=dict)  # microseconds, of the streams that have one
    numbers: Iterator[int] = field(default_factory=count)  # of its operators
    result: str = field(default_factory=lambda: uuid4().hex[:8])  # tells its metrics from those of other results
    changelog: Mapping[str, Any] | None = None  # what comes out, where it cannot be taken back
    identities: list[Identity] = field(default_factory=list)  # of its operators, as they are built

    def metrics(self, below: int, feeds_another: bool) -> str:
        """A name for the metrics of an operator: Spark takes each name once in a query."""
        return metrics_name(self.result, next(self.numbers), reads_source=not below, feeds_another=feeds_another)

    def build(self, plan: physical.Plan) -> DataFrame:
        """The DataFrame of a plan's result."""
        return self.rows(plan, Reader.RESULT)

    def rows(self, plan: physical.Plan, reader: Reader) -> DataFrame:
        """The rows of a plan, as their reader needs them."""
        match plan:
            case physical.DataSource(streaming=True) if reader is Reader.OPERATOR:
                return self._with_control(plan)
            case physical.DataSource():
                source = self.source(plan.stream)
                return source.selectExpr(*_columns(plan), *_whole(plan, source))
            case physical.Watermark(input=input_, time=time, delay=delay):
                rows = self.rows(input_, reader)
                return _clocked(rows, time, delay, reader) if rows.isStreaming else rows
            case physical.SparkQuery() if reader is Reader.OPERATOR:
                rows = self._by_spark(plan, Reader.SPARK)
                return self._controlled(rows, streams_before_operators(plan)) if rows.isStreaming else rows
            case physical.SparkQuery():
                return self._by_spark(plan, reader)
            case physical.Filter(input=input_, predicates=predicates):
                return _filtered(self.rows(input_, reader), predicates, _mark(reader, plan.changelog))
            case physical.Project(input=input_, fields=fields):
                return _projected(self.rows(input_, reader), fields, _carried(reader, plan.changelog))
            case physical.Window() | physical.OverWindow() | physical.StatefulFunction() | physical.Normalize():
                return _operated(self._operator(plan, reader is not Reader.RESULT), reader)
            case physical.Pair(input=input_):
                metrics = self.metrics(below=0, feeds_another=True), self.metrics(below=1, feeds_another=False)
                return paired(plan, self.rows(input_, reader), metrics)
            case physical.DataSink(input=input_, changelog=True):
                return changelog_output(replace(self, changelog=result_of(plan)).rows(input_, reader))
            case physical.DataSink(input=input_):
                return self.rows(input_, reader)
            case _:
                assert_never(plan)

    def _operator(self, plan: Stateful, feeds_another: bool) -> DataFrame:
        below = self.rows(plan.input, Reader.OPERATOR)
        match plan:
            case physical.Window():
                return window(plan, below, self, feeds_another)
            case physical.OverWindow():
                return over(plan, below, self, feeds_another)
            case physical.StatefulFunction():
                return stateful(plan, below, self, feeds_another)
            case physical.Normalize():
                return normalize(plan, below, self, feeds_another)
            case _:
                assert_never(plan)

    def _by_spark(self, plan: physical.SparkQuery, reader: Reader) -> DataFrame:
        if not plan.inputs:
            return self.spark.sql(plan.sql)
        frames: dict[str, Any] = {placeholder(name): self.rows(child, reader) for name, child in plan.inputs}
        return self.spark.sql(plan.template, **frames)

    def source(self, name: str) -> DataFrame:
        """A stream's DataFrame, or a table that only Spark knows, as it is now."""
        found = self.sources.get(name.lower())
        return found if found is not None else self.spark.table(name)

    def _with_control(self, plan: physical.DataSource) -> DataFrame:
        """A stream's rows, and beside them the end of the input and heartbeats."""
        source = self.source(plan.stream)
        scripted = [name for name in (NOW, STARTED, CONTROL) if name in source.columns]
        rows = source.selectExpr(*_columns(plan), *_whole(plan, source), *scripted)
        return self._controlled(rows, [plan.stream])

    def _controlled(self, rows: DataFrame, streams: Iterable[str]) -> DataFrame:
        """Rows, and beside them the end of the input and the heartbeats of these streams."""
        others = [self.control.selectExpr(f"true AS {CONTROL}")] if self.control is not None else []
        beats = [self.heartbeats[name.lower()] for name in streams if name.lower() in self.heartbeats]
        if beats:
            beat = heartbeat(self.spark, min(beats))
            others.append(beat.selectExpr(f"CAST(NULL AS BOOLEAN) AS {CONTROL}", f"started AS {STARTED}"))
        if others and CONTROL not in rows.columns:
            rows = rows.selectExpr("*", f"false AS {CONTROL}")
        for other in others:
            rows = rows.unionByName(other, allowMissingColumns=True)
        return _marked(rows)


def _columns(plan: physical.DataSource) -> list[str]:
    return [*(quoted(name) for name in plan.columns), *([CHANGE] if plan.changelog else [])]


def _whole(plan: physical.DataSource, source: DataFrame) -> list[str]:
    """The whole row of a stream, as it comes from there, where it may be late."""
    names = [quoted(name) for name in source.columns if name not in HIDDEN]
    return [f"struct({', '.join(names)}) AS {WHOLE}"] if plan.whole else []


def _mark(reader: Reader, changelog: bool) -> str | None:
    """The column that says whether a row passes WHERE, where it is not removed at once.

    An operator's watermark moves with all rows, and of an update one side may pass and the other not.
    """
    return KEEP if reader is Reader.OPERATOR else PASS if changelog else None


def _filtered(below: DataFrame, predicates: Sequence[str], mark: str | None) -> DataFrame:
    if mark is None:
        condition = " AND ".join(f"({guarded(predicate, below)})" for predicate in predicates)
        return below.where(f"{LATE} IS NOT NULL OR ({condition})" if LATE in below.columns else condition)
    passed = [mark] if mark in below.columns else []
    condition = " AND ".join([*passed, *(f"({guarded(predicate, below)})" for predicate in predicates)])
    others = [quoted(name) for name in below.columns if name != mark]
    return below.selectExpr(*others, f"coalesce({condition}, false) AS {mark}")


def _carried(reader: Reader, changelog: bool) -> Collection[str]:
    """What goes along with every row beside its columns."""
    return HIDDEN if reader is Reader.OPERATOR else (CHANGE, PASS, LATE) if changelog else (LATE, WHOLE)


def _projected(below: DataFrame, fields: Sequence[physical.Output], carried: Collection[str]) -> DataFrame:
    outputs = [f"{guarded(one.sql, below)} AS {quoted(one.name)}" for one in fields]
    return below.selectExpr(*outputs, *(name for name in below.columns if name in carried))


def _operated(rows: DataFrame, reader: Reader) -> DataFrame:
    """What comes out of an operator, as its reader needs it."""
    match reader:
        case Reader.RESULT:
            return rows
        case Reader.OPERATOR:
            return _marked(rows)
        case Reader.SPARK:
            marked = _marked(rows)
            return (marked.where(KEEP) if KEEP in marked.columns else marked).drop(*HIDDEN)
        case _:
            assert_never(reader)


def _clocked(rows: DataFrame, time: str, delay: int, reader: Reader) -> DataFrame:
    """A stream's rows with its clock: Spark's own for state that Spark keeps, else the time that moves Panes'."""
    match reader:
        case Reader.RESULT:
            return rows.withWatermark(time, f"{delay // 1000} milliseconds")
        case Reader.OPERATOR:
            return _timed(rows, time, delay)
        case Reader.SPARK:
            return _behind_barrier(_timed(rows, time, delay), time)
        case _:
            assert_never(reader)


def _timed(rows: DataFrame, time: str, delay: int) -> DataFrame:
    """Rows with the time that moves the watermark."""
    zoned = type_of(quoted(time), rows) != "timestamp_ntz"
    return rows.selectExpr("*", f"{shifted(quoted(time), delay, zoned)} AS {WATERMARK}")


def _behind_barrier(rows: DataFrame, time: str) -> DataFrame:
    """Rows that have moved the watermark, whatever becomes of them above.

    Spark pushes conditions, also those that joins, IN and EXISTS imply, below a watermark, and then the rows that they
    remove no longer move it. It does not push them through a projection with an expression that it takes for
    non-deterministic, and the time column, which something above reads, is made one: the number of a row's partition is
    never negative.
    """
    clocked = rows.withWatermark(WATERMARK, "0 seconds")
    unmoved = f"CASE WHEN spark_partition_id() >= 0 THEN {quoted(time)} END AS {quoted(time)}"
    names = [name for name in rows.columns if name != WATERMARK]
    return clocked.selectExpr(*(unmoved if name.lower() == time.lower() else quoted(name) for name in names))


def _marked(rows: DataFrame) -> DataFrame:
    """Rows of which those that only control something, or are late, are not kept."""
    if CONTROL not in rows.columns:
        return rows
    on_time = f" AND {LATE} IS NULL" if LATE in rows.columns else ""
    return rows.selectExpr("*", f"coalesce(NOT {CONTROL}, false){on_time} AS {KEEP}")


def guarded(sql: str, below: DataFrame) -> str:
    """An expression that is not evaluated for rows that WHERE removed: `a / b` after `WHERE b <> 0` must not fail.

    Nor for late rows, which have no values.
    """
    if KEEP in below.columns:
        return f"CASE WHEN {KEEP} THEN {sql} END"
    return f"CASE WHEN {LATE} IS NULL THEN {sql} END" if LATE in below.columns else sql
