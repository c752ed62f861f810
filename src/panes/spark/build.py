"""Physical plan → DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeAlias, assert_never
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from panes.functions import Functions
from panes.kernels.changelog.changes import CHANGE
from panes.physical import plan as physical
from panes.physical.identity import Identity
from panes.physical.lineage import result_of
from panes.spark.chain import streams_before_operators
from panes.spark.expressions import quoted, shifted, type_of
from panes.spark.heartbeat import heartbeat
from panes.spark.normalize import normalize
from panes.spark.over import over
from panes.spark.pack import CONTROL, KEEP, NOW, WATERMARK
from panes.spark.pair import paired
from panes.spark.progress import metrics_name
from panes.spark.projection import HIDDEN
from panes.spark.settle import PASS, settle
from panes.spark.stateful import stateful
from panes.spark.windows import window
from panes.sql.template import placeholder

SparkPart: TypeAlias = physical.DataSource | physical.SparkQuery | physical.Filter | physical.Project


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
        match plan:
            case physical.DataSink(input=input_, changelog=True):
                return settle(replace(self, changelog=result_of(plan)).build(input_))
            case physical.DataSink(input=input_):
                return self.build(input_)
            case physical.DataSource() | physical.SparkQuery():
                return self._by_spark(plan, self.build)
            case physical.Filter(changelog=False) | physical.Project(changelog=False):
                return self._by_spark(plan, self.build)
            case physical.Watermark(input=input_, time=time, delay=delay):  # for state that Spark keeps itself
                rows = self.build(input_)
                return rows.withWatermark(time, f"{delay // 1000} milliseconds") if rows.isStreaming else rows
            case physical.Window():
                return window(plan, self.before(plan.input), self, feeds_another=False)
            case physical.Normalize():
                return normalize(plan, self.before(plan.input), self, feeds_another=False)
            case physical.Pair(input=input_):
                metrics = self.metrics(below=0, feeds_another=True), self.metrics(below=1, feeds_another=False)
                return paired(plan, self.build(input_), metrics)
            case physical.StatefulFunction():
                return stateful(plan, self.before(plan.input), self, feeds_another=False)
            case physical.OverWindow():
                return over(plan, self.before(plan.input), self, feeds_another=False)
            case physical.Filter(input=input_, predicates=predicates):
                below = self.build(input_)
                passed = [PASS] if PASS in below.columns else []
                condition = " AND ".join([*passed, *(f"({predicate})" for predicate in predicates)])
                others = [quoted(name) for name in below.columns if name != PASS]
                return below.selectExpr(*others, f"coalesce({condition}, false) AS {PASS}")
            case physical.Project(input=input_, fields=fields):
                below = self.build(input_)
                carried = [name for name in (CHANGE, PASS) if name in below.columns]
                return below.selectExpr(*(f"{one.sql} AS {quoted(one.name)}" for one in fields), *carried)
            case _:
                assert_never(plan)

    def _by_spark(self, plan: SparkPart, below: Callable[[physical.Plan], DataFrame]) -> DataFrame:
        """What Spark does alone; `below` builds the inputs."""
        match plan:
            case physical.DataSource(stream=stream, columns=columns, changelog=changelog):
                names = [*(quoted(name) for name in columns), *([CHANGE] if changelog else [])]
                return self.source(stream).select(*names)
            case physical.SparkQuery(sql=sql, inputs=()):
                return self.spark.sql(sql)
            case physical.SparkQuery(template=template, inputs=inputs):
                frames: dict[str, Any] = {placeholder(name): below(child) for name, child in inputs}
                return self.spark.sql(template, **frames)
            case physical.Filter(input=input_, predicates=predicates):
                return below(input_).where(" AND ".join(f"({predicate})" for predicate in predicates))
            case physical.Project(input=input_, fields=fields):
                return below(input_).selectExpr(*(f"{one.sql} AS {quoted(one.name)}" for one in fields))

    def source(self, name: str) -> DataFrame:
        """A stream's DataFrame, or a table that only Spark knows, as it is now."""
        found = self.sources.get(name.lower())
        return found if found is not None else self.spark.table(name)

    def before(self, plan: physical.Plan) -> DataFrame:
        """The rows below a stateful operator. A row that WHERE removes still moves the watermark: it is only marked."""
        match plan:
            case physical.Window():
                return _marked(window(plan, self.before(plan.input), self, feeds_another=True))
            case physical.OverWindow():
                return _marked(over(plan, self.before(plan.input), self, feeds_another=True))
            case physical.Normalize():
                return _marked(normalize(plan, self.before(plan.input), self, feeds_another=True))
            case physical.StatefulFunction():
                return _marked(stateful(plan, self.before(plan.input), self, feeds_another=True))
            case physical.DataSource(streaming=True):
                return self._source(plan)
            case physical.SparkQuery():
                return self._through_spark(plan)
            case physical.Watermark(input=input_, time=time, delay=delay):
                rows = self.before(input_)
                return _timed(rows, time, delay) if rows.isStreaming else rows
            case physical.Filter(input=input_, predicates=predicates):
                below = self.before(input_)
                kept = [KEEP] if KEEP in below.columns else []
                condition = " AND ".join([*kept, *(f"({guarded(predicate, below)})" for predicate in predicates)])
                others = [quoted(name) for name in below.columns if name != KEEP]
                return below.selectExpr(*others, f"coalesce({condition}, false) AS {KEEP}")
            case physical.Project(input=input_, fields=fields):
                below = self.before(input_)
                carried = [name for name in below.columns if name in HIDDEN]
                outputs = [f"{guarded(one.sql, below)} AS {quoted(one.name)}" for one in fields]
                return below.selectExpr(*outputs, *carried)
            case _:
                return self.build(plan)

    def _source(self, plan: physical.DataSource) -> DataFrame:
        """A stream's rows, and beside them the end of the input and heartbeats."""
        source = self.source(plan.stream)
        scripted = [name for name in (NOW, CONTROL) if name in source.columns]
        names = [*(quoted(name) for name in plan.columns), *([CHANGE] if plan.changelog else [])]
        return self._controlled(source.selectExpr(*names, *scripted), [plan.stream])

    def _controlled(self, rows: DataFrame, streams: Iterable[str]) -> DataFrame:
        """Rows, and beside them the end of the input and the heartbeats of these streams."""
        others = [self.control.selectExpr(f"true AS {CONTROL}")] if self.control is not None else []
        beats = [self.heartbeats[name.lower()] for name in streams if name.lower() in self.heartbeats]
        if beats:
            others.append(heartbeat(self.spark, min(beats)).selectExpr(f"CAST(NULL AS BOOLEAN) AS {CONTROL}"))
        if others and CONTROL not in rows.columns:
            rows = rows.selectExpr("*", f"false AS {CONTROL}")
        for other in others:
            rows = rows.unionByName(other, allowMissingColumns=True)
        return _marked(rows)

    # ---- a part that Spark runs, below a stateful operator

    def _through_spark(self, plan: physical.SparkQuery) -> DataFrame:
        """The rows of Spark's part. Rows that only control something would not survive a join: they come in here."""
        rows = self._clocked(plan)
        return self._controlled(rows, streams_before_operators(plan)) if rows.isStreaming else rows

    def _clocked(self, plan: physical.Plan) -> DataFrame:
        """Rows below a part that Spark runs: their clock is attached at the source, where every row still is."""
        match plan:
            case physical.Watermark(input=input_, time=time, delay=delay):
                rows = self._clocked(input_)
                return _behind_barrier(_timed(rows, time, delay), time) if rows.isStreaming else rows
            case physical.Window() | physical.OverWindow() | physical.StatefulFunction():
                rows = self.before(plan)
                kept = rows.where(KEEP) if KEEP in rows.columns else rows
                return kept.drop(*HIDDEN)
            case physical.DataSource() | physical.SparkQuery() | physical.Filter() | physical.Project():
                return self._by_spark(plan, self._clocked)
            case physical.Normalize() | physical.Pair():
                raise AssertionError("Spark gets no changelog")
            case physical.DataSink():
                raise AssertionError("a sink has no output")
            case _:
                assert_never(plan)


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
    """Rows of which those that only control something are not kept."""
    return rows.selectExpr("*", f"coalesce(NOT {CONTROL}, false) AS {KEEP}") if CONTROL in rows.columns else rows


def guarded(sql: str, below: DataFrame) -> str:
    """An expression that is not evaluated for rows that WHERE removed: `a / b` after `WHERE b <> 0` must not fail."""
    return f"CASE WHEN {KEEP} THEN {sql} END" if KEEP in below.columns else sql
