"""Spark's types, by their short names, beside Arrow's."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import pyarrow as pa

SIMPLE: dict[str, pa.DataType] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
NAMES = {type_: name for name, type_ in SIMPLE.items()}


@cache
def arrow_type(name: str) -> pa.DataType:
    """The Arrow type of a Spark type.

    >>> arrow_type("struct<a:int,b:array<decimal(10,2)>>")
    StructType(struct<a: int32, b: list<element: decimal128(10, 2)>>)
    """
    name = name.strip().lower()
    if name in SIMPLE:
        return SIMPLE[name]
    if found := re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", name):
        return pa.decimal128(int(found[1]), int(found[2]))
    if name.startswith("array<"):
        return pa.list_(pa.field("element", arrow_type(name[6:-1])))
    if name.startswith("struct<"):
        return pa.struct([(one, arrow_type(type_)) for one, type_ in fields(name[7:-1], ":")])
    raise NotImplementedError(f"the double of Spark has no type {name}")


def fields(text: str, separator: str) -> list[tuple[str, str]]:
    """Names and types of fields.

    >>> fields("a int, b struct<c:int,d:int>", " ")
    [('a', 'int'), ('b', 'struct<c:int,d:int>')]
    """
    found, depth, start = [], 0, 0
    for at, letter in enumerate(f"{text},"):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            name, _, type_ = text[start:at].strip().partition(separator)
            found.append((name.strip("`"), type_.strip()))
            start = at + 1
    return found


def spark_type(type_: pa.DataType) -> str:
    """The Spark type of an Arrow type, as DuckDB and kernels give them.

    >>> spark_type(pa.list_(pa.struct([("a", pa.int32())])))
    'array<struct<a:int>>'
    """
    if pa.types.is_timestamp(type_):
        return "timestamp_ntz" if type_.tz is None else "timestamp"
    if type_ in NAMES:
        return NAMES[type_]
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return "string"
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_struct(type_):
        return "struct<" + ",".join(f"{one.name}:{spark_type(one.type)}" for one in type_) + ">"
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"array<{spark_type(type_.value_type)}>"
    if pa.types.is_null(type_):
        return "void"
    raise NotImplementedError(f"the double of Spark has no type for Arrow's {type_}")


@dataclass(frozen=True)
class DataType:
    name: str

    def simpleString(self) -> str:  # noqa: N802
        return self.name


@dataclass(frozen=True)
class Field:
    name: str
    dataType: DataType  # noqa: N815
    metadata: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Schema:
    """The columns of a DataFrame; a name may stand twice."""

    fields: tuple[Field, ...]

    @staticmethod
    def of(text: str) -> Schema:
        return Schema(tuple(Field(name, DataType(type_)) for name, type_ in fields(text, " ")))

    @staticmethod
    def of_arrow(schema: pa.Schema) -> Schema:
        return Schema(tuple(Field(one.name, DataType(spark_type(one.type))) for one in schema))

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.fields]

    def add(self, name: str, type_: DataType) -> Schema:
        return Schema((*self.fields, Field(name, type_)))

    def __getitem__(self, name: str) -> Field:
        return next(one for one in self.fields if one.name == name)

    @cached_property
    def text(self) -> str:
        return "struct<" + ",".join(f"{one.name}:{one.dataType.name}" for one in self.fields) + ">"

    def simpleString(self) -> str:  # noqa: N802
        return self.text

    @cached_property
    def arrow(self) -> pa.Schema:
        return pa.schema([(one.name, arrow_type(one.dataType.name)) for one in self.fields])
