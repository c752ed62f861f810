"""Cells as values of their columns. What is no value of its column is told with its place in the table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from panes.catalog import CHANGE_TYPE, Column, Stream
from panes.kernels.changelog.changes import AFTER, BEFORE, DELETE, INSERT
from panes.play.document import Cell, StreamRows

WHOLE = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
CHANGES = (INSERT, BEFORE, AFTER, DELETE)


@dataclass(frozen=True)
class CellFault:
    """A cell that is no value of its column: `row` is the number of the row in its stream."""

    stream: str
    row: int
    column: str
    message: str


def columns_of(stream: Stream) -> tuple[Column, ...]:
    """The columns of a row in the table; computed ones are written there as well."""
    own = (Column(CHANGE_TYPE, "string"),) if stream.changelog else ()
    return (*own, *stream.columns)


def value_of(text: Cell, column: Column) -> Any:
    """A cell as Spark's JSON reader takes it, after a look at it; ValueError says what is wrong.

    >>> value_of("3", Column("a", "int")), value_of("true", Column("b", "boolean")), value_of(None, Column("c"))
    (3, True, None)
    """
    if text is None:
        return None
    type_ = (column.type or "string").lower()
    if column.name == CHANGE_TYPE and text not in CHANGES:
        raise ValueError(f"a change is one of {', '.join(CHANGES)}")
    if type_ == "string":
        return text
    try:
        return _typed(text.strip(), type_)
    except (ValueError, KeyError, InvalidOperation, RecursionError):
        raise ValueError(f"{text.strip() or 'nothing'} is no {type_}; an empty cell is NULL") from None


def _typed(text: str, type_: str) -> Any:
    if type_ in WHOLE:
        number = int(text)
        if not -(2 ** (WHOLE[type_] - 1)) <= number < 2 ** (WHOLE[type_] - 1):
            raise ValueError
        return number
    if type_ in ("double", "float"):
        return float(text)
    if type_ == "boolean":
        return {"true": True, "false": False}[text.lower()]
    if type_.startswith("decimal"):
        return str(Decimal(text))
    if type_.startswith("timestamp"):
        return str(datetime.fromisoformat(text))
    if type_ == "date":
        return date.fromisoformat(text).isoformat()
    if type_.startswith(("array", "struct", "map")):
        return json.loads(text)
    return text


def faults(stream: Stream, given: StreamRows) -> Iterator[CellFault]:
    """The cells of a stream that are no values of their columns."""
    for number, row in enumerate(given.rows):
        cells = {name.lower(): cell for name, cell in row.values.items()}
        for column in columns_of(stream):
            try:
                value_of(cells.get(column.name.lower()), column)
            except ValueError as error:
                yield CellFault(stream.name, number, column.name, str(error))


def values(stream: Stream, given: StreamRows, count: int) -> list[list[tuple[Any, ...]]]:
    """The rows of each micro-batch, as values in the order of the columns."""
    columns = columns_of(stream)
    found: list[list[tuple[Any, ...]]] = []
    for batch in given.batches(count):
        cells = [{name.lower(): cell for name, cell in row.values.items()} for row in batch]
        found.append([tuple(value_of(row.get(one.name.lower()), one) for one in columns) for row in cells])
    return found


def text_of(value: object) -> Cell:
    """A value as the table shows it.

    >>> text_of(None), text_of(True), text_of(1.5), text_of(["a", None])
    (None, 'true', '1.5', '["a", null]')
    """
    match value:
        case None | str():
            return value
        case bool() | list() | tuple() | dict():
            return json.dumps(value, ensure_ascii=False, default=str)
        case _:
            return str(value)
