"""Rows as JSON files that Spark reads, and values as they come back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from panes.testing.sameness import Row

Fields = Sequence[tuple[str, DataType]]


def write_rows(folder: Path, number: int, rows: Sequence[Sequence[Any]], fields: Fields) -> None:
    lines = []
    for row in rows:
        if len(row) != len(fields):
            raise ValueError(f"a row has {len(row)} values for {len(fields)} columns: {row!r}")
        values = {name: _encoded(value, type_) for (name, type_), value in zip(fields, row, strict=True)}
        lines.append(json.dumps({name: value for name, value in values.items() if value is not None}, default=str))
    publish(folder / f"{number:06}.json", "\n".join(lines))


def publish(path: Path, text: str) -> None:
    """A file that Spark's file source sees only when it is complete."""
    hidden = path.with_name(f".{path.name}")
    hidden.write_text(text + "\n", encoding="utf-8")
    hidden.rename(path)


def _encoded(value: Any, type_: DataType) -> Any:
    """A value as Spark's JSON reader takes it. A struct is a dictionary, or its values in order."""
    if value is None:
        return None
    match type_:
        case TimestampType() | TimestampNTZType():
            moment = datetime.fromisoformat(value) if isinstance(value, str) else value
            zoned = isinstance(type_, TimestampType) and moment.tzinfo is None
            return (moment.replace(tzinfo=UTC) if zoned else moment).isoformat()
        case StructType(fields=fields):
            values = [value.get(one.name) for one in fields] if isinstance(value, dict) else value
            return {one.name: _encoded(each, one.dataType) for one, each in zip(fields, values, strict=True)}
        case ArrayType(elementType=inner):
            return [_encoded(one, inner) for one in value]
        case MapType(valueType=inner):
            return {key: _encoded(one, inner) for key, one in value.items()}
        case _:
            return value.isoformat() if isinstance(value, date) else value


def plain(row: Row) -> Row:
    """A row of Arrow as Python values."""
    return {name: _plain_value(value) for name, value in row.items()}


def _plain_value(value: Any) -> Any:
    """Times as naive UTC."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, list):
        return [_plain_value(one) for one in value]
    if isinstance(value, dict):
        return plain(value)
    return value
