"""What a DataFrame of the double is made of: plan nodes, each with the schema of its rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import sqlglot
from sqlglot import exp

from .scalar import expression, run, run_translated
from .types import DataType, Field, Schema, spark_type

if TYPE_CHECKING:
    from .frame import Frame

Partitions = list[pa.Table]


@dataclass(frozen=True, eq=False)
class Source:
    """Rows that are given, or come micro-batch by micro-batch."""

    name: str
    schema: Schema
    streaming: bool
    rows: pa.Table | None = None
    inputs: tuple[Frame, ...] = ()


@dataclass(frozen=True, eq=False)
class Query:
    """SQL over inputs under these names."""

    sql: str
    names: tuple[str, ...]
    inputs: tuple[Frame, ...]

    @property
    def schema(self) -> Schema:
        return _query_schema(self.sql, self.names, tuple(one.schema.simpleString() for one in self.inputs), self.inputs)

    @property
    def needs_all_rows(self) -> bool:
        """Whether it is not the same over one partition after the other."""
        return _needs_all_rows(self.sql)


@cache
def _needs_all_rows(sql: str) -> bool:
    tree = sqlglot.parse_one(sql, read="spark")
    return tree.find(exp.AggFunc, exp.Window, exp.Distinct, exp.Limit, exp.SetOperation) is not None


SCHEMAS: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Schema] = {}


def _query_schema(sql: str, names: tuple[str, ...], types: tuple[str, ...], inputs: tuple[Frame, ...]) -> Schema:
    key = (sql, names, types)
    if key not in SCHEMAS:
        nothing = {name: one.schema.arrow.empty_table() for name, one in zip(names, inputs, strict=True)}
        SCHEMAS[key] = Schema.of_arrow(run(sql, nothing).schema)
    return SCHEMAS[key]


@dataclass(frozen=True, eq=False)
class Select:
    """Expressions over each row, or a condition: what needs no other row. "*" may stand first."""

    inputs: tuple[Frame]
    columns: tuple[str, ...]  # expressions, each with a name or a column
    condition: str = "true"

    @property
    def schema(self) -> Schema:
        below = self.inputs[0].schema
        items = [item for one in self.columns for item in (below.names if one == "*" else [one])]
        return Schema(
            tuple(
                Field(name, DataType(type_))
                for name, type_ in zip(map(_name, items), _types(items, below), strict=True)
            )
        )

    def sql(self, below: str, carried: str = "") -> str:
        """The query over what is below, in DuckDB's words; a column that is carried goes through."""
        items = [one if one == "*" else f'{expression(_text(one))} AS "{_name(one)}"' for one in self.columns]
        more = [carried] if carried and self.columns[0] != "*" else []
        return f"SELECT {', '.join([*items, *more])} FROM {below} WHERE {expression(self.condition)}"


AS = re.compile(r"(?P<sql>.*) AS (?P<name>`(?:[^`]|``)+`|\w+)", re.DOTALL)
COLUMN = re.compile(r"\(*(?P<name>`(?:[^`]|``)+`|\w+)\)*")
TYPES: dict[tuple[str, str], str] = {}  # of expressions, by their text and the schema below


def _name(item: str) -> str:
    found = AS.fullmatch(item)
    return (found["name"] if found else item).strip("`").replace("``", "`")


def _text(item: str) -> str:
    found = AS.fullmatch(item)
    return found["sql"] if found else item


def _types(items: list[str], below: Schema) -> list[str]:
    """The types of expressions; DuckDB is asked only for those that nobody has asked for before."""
    texts = [_text(item) for item in items]
    known = below.simpleString()
    columns = {one.name: one.dataType.name for one in below.fields}
    for text in texts:
        if (found := COLUMN.fullmatch(text)) and (name := found["name"].strip("`")) in columns:
            TYPES[text, known] = columns[name]
    new = list(dict.fromkeys(text for text in texts if (text, known) not in TYPES))
    if new:
        selected = ", ".join(f"{expression(text)} AS x{i}" for i, text in enumerate(new))
        found_ = run_translated(f"SELECT {selected} FROM input_rows", {"input_rows": below.arrow.empty_table()})
        TYPES.update({(text, known): spark_type(one.type) for text, one in zip(new, found_.schema, strict=True)})
    return [TYPES[text, known] for text in texts]


@dataclass(frozen=True, eq=False)
class Columns:
    """Some columns of the input."""

    inputs: tuple[Frame]
    names: tuple[str, ...]

    @property
    def schema(self) -> Schema:
        return Schema(tuple(one for one in self.inputs[0].schema.fields if one.name in self.names))


@dataclass(frozen=True, eq=False)
class MapInArrow:
    inputs: tuple[Frame]
    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    schema: Schema


@dataclass(frozen=True, eq=False)
class Watermarked:
    inputs: tuple[Frame]
    column: str

    @property
    def schema(self) -> Schema:
        return self.inputs[0].schema


@dataclass(frozen=True, eq=False)
class WithState:
    """`transformWithState`: a processor for the rows of each value of `by`."""

    inputs: tuple[Frame]
    by: str
    processor: Any
    schema: Schema
    event_time: str = ""  # another operator follows: rows must not be behind the watermark


@dataclass(frozen=True, eq=False)
class ApplyInArrow:
    inputs: tuple[Frame]
    by: str
    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    schema: Schema


@dataclass(frozen=True, eq=False)
class Observed:
    inputs: tuple[Frame]
    name: str

    @property
    def schema(self) -> Schema:
        return self.inputs[0].schema


@dataclass(frozen=True, eq=False)
class Union:
    """By name; what one side lacks is NULL."""

    inputs: tuple[Frame, Frame]

    @property
    def schema(self) -> Schema:
        left, right = (one.schema.fields for one in self.inputs)
        names = {one.name for one in left}
        return Schema((*left, *(one for one in right if one.name not in names)))


Node = Source | Query | Select | Columns | MapInArrow | Watermarked | WithState | ApplyInArrow | Observed | Union
