"""Rows that somebody gives for a stream, as texts or as JSON has them: from a file, or a table on a page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from panes.catalog import CHANGE_TYPE, Stream
from panes.errors import PanesError, suggestion

BATCH = "_batch"  # the column that says in which micro-batch a row comes, from 1
MOST_CUTS = 8  # as many micro-batches are made of rows of which none says so
Record: TypeAlias = Mapping[str, Any]

_NUMBERS = {"tinyint": int, "smallint": int, "int": int, "bigint": int, "float": float, "double": float}


@dataclass(frozen=True)
class Given:
    """Rows by column, in micro-batches; a text is read as its column's type."""

    batches: tuple[tuple[Record, ...], ...]


def read_rows(path: Path) -> Given:
    """The rows of a CSV file with a header, or of a JSON file with a list of objects or an object a line."""
    text = path.read_text(encoding="utf-8-sig")
    records = _csv(text) if path.suffix.lower() == ".csv" else _json(text, path)
    return in_batches(records, path.name)


def _csv(text: str) -> list[Record]:
    """An empty cell is NULL."""
    rows = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    return [{name.strip(): value or None for name, value in row.items() if name is not None} for row in rows]


def _json(text: str, path: Path) -> list[Record]:
    try:
        listed = json.loads(text) if text.lstrip().startswith("[") else [json.loads(one) for one in _lines(text)]
    except ValueError as error:
        raise PanesError("malformed-record", f"{path.name} is neither CSV nor JSON: {error}", None, _HINT) from error
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise PanesError("malformed-record", f"{path.name} has something that is no object", None, _HINT)
    return listed


_HINT = "A file.csv has a header; any other file has a JSON object a line, or a list of them."


def _lines(text: str) -> Iterable[str]:
    return (line for line in text.splitlines() if line.strip())


def in_batches(records: Sequence[Record], name: str) -> Given:
    """Rows in the micro-batches that they name; else each in one of its own, or where they are many in eight."""
    if any(BATCH in one for one in records):
        return Given(_named_batches(records, name))
    size = max(-(-len(records) // MOST_CUTS), 1)
    return Given(tuple(tuple(records[start : start + size]) for start in range(0, len(records), size)))


def _named_batches(records: Sequence[Record], name: str) -> tuple[tuple[Record, ...], ...]:
    batches: dict[int, list[Record]] = {}
    for record in records:
        said = str(record.get(BATCH))
        if not said.isdecimal() or int(said) < 1:
            raise PanesError("malformed-record", f"{BATCH} of {name} is {said}, and counts from 1")
        own = {column: value for column, value in record.items() if column != BATCH}
        batches.setdefault(int(said), []).append(own)
    return tuple(tuple(batches.get(number, ())) for number in range(1, max(batches, default=0) + 1))


def values_of(given: Given, stream: Stream) -> list[list[tuple[Any, ...]]]:
    """The rows as a stream has them: a value for each of its columns; a column that a row lacks is NULL there."""
    columns = {column.name: column.type for column in stream.columns}
    wanted = {CHANGE_TYPE: "string", **columns} if stream.changelog else columns
    _check_columns(given, stream, wanted)
    return [
        [tuple(_value(_cell(row, name), type_, name) for name, type_ in wanted.items()) for row in batch]
        for batch in given.batches
    ]


def _check_columns(given: Given, stream: Stream, wanted: Mapping[str, object]) -> None:
    known = {name.lower() for name in wanted}
    for name in dict.fromkeys(name for batch in given.batches for row in batch for name in row):
        if name.lower() not in known:
            message = f"the stream {stream.name} has no column {name}"
            raise PanesError("unknown-column", message, None, suggestion(name, list(wanted)))


def _cell(row: Record, name: str) -> Any:
    return next((value for column, value in row.items() if column.lower() == name.lower()), None)


def _value(value: Any, type_: str | None, name: str) -> Any:
    """A text as its type has it; what is no text is so already."""
    if not isinstance(value, str):
        return value
    kind = type_ or "string"
    try:
        if kind == "boolean":
            return {"true": True, "false": False}[value.lower()]
        if kind.startswith(("array", "struct", "map")):
            return json.loads(value)
        return _NUMBERS.get(kind, str)(value)
    except (ValueError, KeyError):
        raise PanesError("malformed-record", f"{value} of the column {name} is no {kind}") from None
