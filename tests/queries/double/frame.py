"""Sessions and DataFrames that only remember what was asked of them; `double.batches` runs them."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import sqlglot
from sqlglot import exp

from .nodes import (
    ApplyInArrow,
    Columns,
    MapInArrow,
    Node,
    Observed,
    Query,
    Select,
    Source,
    Union,
    Watermarked,
    WithState,
)
from .types import DataType, Field, Schema

CONF = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true", "spark.sql.shuffle.partitions": "2"}
AGGREGATES = re.compile(r"\b(max|min|sum|count|avg)\(")
CAST_NULL = re.compile(r"CAST\(NULL AS ([\w<>(),:]+)\) AS (\w+)")  # how Panes asks for a schema
NOTHING = re.compile(rf"SELECT {CAST_NULL.pattern}(, {CAST_NULL.pattern})*")


@dataclass(eq=False)
class Session:
    """What `panes.spark` asks of a SparkSession."""

    version = "4.3.0"
    _sc = SimpleNamespace(master="local[2]", pythonExec=sys.executable)
    conf_: dict[str, str] = field(default_factory=lambda: dict(CONF))
    views: dict[str, Frame] = field(default_factory=dict)

    @property
    def conf(self) -> Any:
        return SimpleNamespace(get=lambda name, *default: self.conf_.get(name, *default), set=self.conf_.__setitem__)

    @property
    def catalog(self) -> Any:
        return SimpleNamespace(
            tableExists=lambda name: name.strip("`").lower() in self.views,
            dropTempView=lambda name: self.views.pop(name.strip("`").lower(), None) is not None,
        )

    def createDataFrame(self, rows: list[Any], schema: Schema | str) -> Frame:  # noqa: N802
        named = Schema.of(schema) if isinstance(schema, str) else schema
        return Frame(self, Source("", named, False, pa.Table.from_pylist(rows, named.arrow)))

    def table(self, name: str) -> Frame:
        return self.views[name.strip("`").lower()]

    def sql(self, text: str, args: None = None, **frames: Frame) -> Frame:
        """A query over views and frames, which stand in the text as `{name}`."""
        assert args is None
        if NOTHING.fullmatch(text):
            named = [(one[1], one[0]) for one in CAST_NULL.findall(text)]
            schema = Schema(tuple(Field(name, DataType(type_)) for name, type_ in named))
            row = pa.Table.from_pylist([{}], schema.arrow)
            return Frame(self, Source("", schema, False, row))
        inputs = {f"panes_frame_{name}": frame for name, frame in frames.items()}
        text = text.format(**{name: f"panes_frame_{name}" for name in frames}) if frames else text
        for table in sqlglot.parse_one(text, read="spark").find_all(exp.Table):
            found = self.views.get(table.name.lower())
            if found is not None:
                inputs[table.name] = found
        return Frame(self, Query(text, tuple(inputs), tuple(inputs.values())))


class Frame:
    """What `panes.spark` asks of a DataFrame. What it asks besides is an AttributeError."""

    def __init__(self, session: Session, node: Node) -> None:
        self.sparkSession = session
        self.node = node
        self.schema = node.schema

    @property
    def columns(self) -> list[str]:
        return self.schema.names

    @property
    def isStreaming(self) -> bool:  # noqa: N802
        node = self.node
        return node.streaming if isinstance(node, Source) else any(one.isStreaming for one in node.inputs)

    def _with(self, node: Node) -> Frame:
        return Frame(self.sparkSession, node)

    def select(self, *columns: str) -> Frame:
        return self.selectExpr(*columns)

    def selectExpr(self, *columns: str) -> Frame:  # noqa: N802
        if any(AGGREGATES.search(one) for one in columns):
            return self._with(Query(f"SELECT {', '.join(columns)} FROM input_rows", ("input_rows",), (self,)))
        return self._with(Select((self,), columns))

    def where(self, condition: str) -> Frame:
        return self._with(Select((self,), ("*",), condition))

    def drop(self, *names: str) -> Frame:
        return self._with(Columns((self,), tuple(one for one in self.columns if one not in names)))

    def limit(self, number: int) -> Frame:
        if number == 0:
            return self._with(Source("", self.schema, False, self.schema.arrow.empty_table()))
        return self._with(Query(f"SELECT * FROM input_rows LIMIT {number}", ("input_rows",), (self,)))

    def withWatermark(self, column: str, delay: str) -> Frame:  # noqa: N802
        assert delay == "0 seconds", delay
        return self._with(Watermarked((self,), column))

    def mapInArrow(self, function: Any, schema: Any) -> Frame:  # noqa: N802
        return self._with(MapInArrow((self,), function, _schema(schema)))

    def groupBy(self, by: str) -> Grouped:  # noqa: N802
        return Grouped(self, by)

    def observe(self, name: str, *metrics: Any) -> Frame:
        return self._with(Observed((self,), name))

    def unionByName(self, other: Frame, allowMissingColumns: bool = False) -> Frame:  # noqa: N802, N803
        assert allowMissingColumns or set(self.columns) == set(other.columns)
        return self._with(Union((self, other)))

    def createOrReplaceTempView(self, name: str) -> None:  # noqa: N802
        self.sparkSession.views[name.strip("`").lower()] = self

    def toArrow(self) -> pa.Table:  # noqa: N802
        from .batches import whole

        return whole(self)

    def collect(self) -> list[dict[str, Any]]:
        return list(self.toArrow().to_pylist())


@dataclass(frozen=True)
class Grouped:
    frame: Frame
    by: str

    def transformWithState(  # noqa: N802
        self,
        processor: Any,
        schema: str,
        output: str,
        time: str,
        eventTimeColumnName: str = "",  # noqa: N803
    ) -> Frame:
        assert (output, time) == ("Append", "EventTime")
        return self.frame._with(WithState((self.frame,), self.by, processor, Schema.of(schema), eventTimeColumnName))

    def applyInArrow(self, function: Any, schema: str) -> Frame:  # noqa: N802
        return self.frame._with(ApplyInArrow((self.frame,), self.by, function, Schema.of(schema)))


def _schema(schema: Any) -> Schema:
    return Schema.of(schema) if isinstance(schema, str) else schema


class Metric:
    """A column of `observe`, of which only the name is asked for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def alias(self, name: str) -> Metric:
        return Metric(name)
