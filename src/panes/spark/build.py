"""Physical plan → DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from pyspark.sql import DataFrame, SparkSession

from panes.functions import Functions
from panes.kernels.changes import CHANGE
from panes.physical import plan as physical
from panes.spark.expressions import quoted, shifted, type_of
from panes.spark.heartbeat import heartbeat
from panes.spark.over import over
from panes.spark.pack import CONTROL, KEEP, NOW, WATERMARK
from panes.spark.projection import HIDDEN
from panes.spark.settle import PASS, settle
from panes.spark.stateful import stateful
from panes.spark.windows import window


@dataclass(frozen=True)
class Builder:
    """What a plan is built with: the session, the DataFrame of each stream by lower-case name, shards, functions."""

    spark: SparkSession
    sources: Mapping[str, DataFrame]
    shards: int
    functions: Functions
    control: DataFrame | None = None  # a stream that has a row when the input has ended
    heartbeats: Mapping[str, int] = field(default_factory=dict)  # microseconds, of the streams that have one

    def build(self, plan: physical.Plan) -> DataFrame:
        """The DataFrame of a plan's result."""
        match plan:
            case physical.DataSink(input=input_, changelog=True):
                return settle(self.build(input_))
            case physical.DataSink(input=input_):
                return self.build(input_)
            case physical.DataSource(stream=stream, columns=columns, changelog=True):
                return self.sources[stream.lower()].select(*(quoted(name) for name in columns), CHANGE)
            case physical.DataSource(stream=stream, columns=columns):
                return self.sources[stream.lower()].select(*(quoted(name) for name in columns))
            case physical.SparkQuery(sql=sql, inputs=inputs):
                for name, child in inputs:
                    self.build(child).createOrReplaceTempView(quoted(name))
                return self.spark.sql(sql)
            case physical.Filter(input=input_, predicates=predicates, changelog=False):
                return self.build(input_).where(" AND ".join(f"({predicate})" for predicate in predicates))
            case physical.Project(input=input_, fields=fields, changelog=False):
                return self.build(input_).selectExpr(*(f"{one.sql} AS {quoted(one.name)}" for one in fields))
            case physical.Window():
                return window(plan, self.before(plan.input), self, feeds_another=False)
            case physical.Watermark(input=input_):
                return self.build(input_)
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

    def before(self, plan: physical.Plan) -> DataFrame:
        """The rows below a stateful operator. A row that WHERE removes still moves the watermark: it is only marked."""
        match plan:
            case physical.Window():
                return _marked(window(plan, self.before(plan.input), self, feeds_another=True))
            case physical.OverWindow():
                return _marked(over(plan, self.before(plan.input), self, feeds_another=True))
            case physical.StatefulFunction():
                return _marked(stateful(plan, self.before(plan.input), self, feeds_another=True))
            case physical.DataSource(streaming=True):
                return self._source(plan)
            case physical.Watermark(input=input_, time=time, delay=delay):
                rows = self.before(input_)
                zoned = type_of(quoted(time), rows) != "timestamp_ntz"
                return rows.selectExpr("*", f"{shifted(quoted(time), delay, zoned)} AS {WATERMARK}")
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
        source = self.sources[plan.stream.lower()]
        names = [*(quoted(name) for name in plan.columns), *([CHANGE] if plan.changelog else [])]
        scripted = [name for name in (NOW, CONTROL) if name in source.columns]
        others = [self.control.selectExpr(f"true AS {CONTROL}")] if self.control is not None else []
        every = self.heartbeats.get(plan.stream.lower())
        if every is not None:
            others.append(heartbeat(self.spark, every).selectExpr(f"CAST(NULL AS BOOLEAN) AS {CONTROL}"))
        if not (scripted or others):
            return source.select(*names)
        rows = source.selectExpr(*names, *(scripted or [f"false AS {CONTROL}"]))
        for other in others:
            rows = rows.unionByName(other, allowMissingColumns=True)
        return _marked(rows)


def _marked(rows: DataFrame) -> DataFrame:
    """Rows of which those that only control something are not kept."""
    return rows.selectExpr("*", f"coalesce(NOT {CONTROL}, false) AS {KEEP}") if CONTROL in rows.columns else rows


def guarded(sql: str, below: DataFrame) -> str:
    """An expression that is not evaluated for rows that WHERE removed: `a / b` after `WHERE b <> 0` must not fail."""
    return f"CASE WHEN {KEEP} THEN {sql} END" if KEEP in below.columns else sql
