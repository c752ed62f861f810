"""Cases as JSON files: what a failing query was, so that it is run forever."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from .double.types import arrow_type
from .law import Case, known_rows
from .rows import TABLE, Cut, Row, Stream

FOLDER = Path(__file__).parent / "regressions"


def to_json(case: Case, wrong: str, expected: pa.Table | None = None) -> str:
    """A case, what was wrong with it when it was found, and what the oracle says."""
    types = case.stream.types
    known = {} if expected is None else {"expected": expected_text(known_rows(expected))}
    found = {
        "wrong": [line for line in wrong.strip().splitlines() if line.strip()][-4:],
        "sql": case.sql,
        "stream": asdict(case.stream),
        "rows": [_encoded(row, types) for row in case.rows],
        "cuts": [{"sizes": one.sizes, "restarts": sorted(one.restarts), "shards": one.shards} for one in case.cuts],
        "tables": {name: [_encoded(row, TABLE) for row in table.to_pylist()] for name, table in case.tables.items()},
        "views": dict(case.views),
        "lags": case.lags,
        **known,
    }
    return json.dumps(found, indent=1, ensure_ascii=False)


def expected_text(rows: list[Row]) -> list[str]:
    """Rows as texts, in order: floating-point numbers to 9 digits, times in UTC."""
    return sorted(json.dumps(_comparable(row), sort_keys=True, ensure_ascii=False) for row in rows)


def _comparable(value: Any) -> Any:
    match value:
        case bool() | None | str():
            return value
        case int() | float() | Decimal():
            return f"{float(value) + 0.0:.9g}" if -(2**53) < value < 2**53 or value != value else str(value)
        case datetime():
            return (value.astimezone(UTC) if value.tzinfo is not None else value).isoformat()
        case date():
            return value.isoformat()
        case dict():
            return {name: _comparable(one) for name, one in value.items()}
        case list():
            return [_comparable(one) for one in value]
        case _:
            raise TypeError(f"{value!r}")


def from_json(text: str) -> Case:
    found = json.loads(text)
    stream = Stream(**{**found["stream"], "key": tuple(found["stream"]["key"])})
    rows = [_decoded(row, stream.types) for row in found["rows"]]
    cuts = [Cut(tuple(map(tuple, one["sizes"])), frozenset(one["restarts"]), one["shards"]) for one in found["cuts"]]
    schema = pa.schema([(name, arrow_type(type_)) for name, type_ in TABLE.items()])
    decoded = {name: [_decoded(row, TABLE) for row in rows_] for name, rows_ in found.get("tables", {}).items()}
    tables = {name: pa.Table.from_pylist(rows_, schema) for name, rows_ in decoded.items()}
    return Case(found["sql"], stream, rows, cuts, tables, found.get("views", {}), found.get("lags", False))


def _encoded(row: Row, types: dict[str, str]) -> dict[str, Any]:
    """Values that are not NULL; what JSON does not have is a text."""
    return {name: _text(row[name]) for name in types if row.get(name) is not None}


def _text(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal | float) else value


def _decoded(row: dict[str, Any], types: dict[str, str]) -> Row:
    return {name: _value(row[name], type_) if name in row else None for name, type_ in types.items()}


def _value(value: Any, type_: str) -> Any:
    match type_:
        case "timestamp":
            return datetime.fromisoformat(value).astimezone(UTC)
        case "timestamp_ntz":
            return datetime.fromisoformat(value)
        case "date":
            return date.fromisoformat(value)
        case "double":
            return float(value)
        case _:
            return Decimal(value) if type_.startswith("decimal") else value
