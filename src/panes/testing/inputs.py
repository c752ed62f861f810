"""The rows of a stream or a table, as a test writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from panes.catalog import CHANGE_TYPE, Column, Stream
from panes.errors import suggestion
from panes.testing.markdown import Block
from panes.testing.tables import Cell, read_tables

INTEGERS = ("tinyint", "smallint", "int", "bigint")
NUMBERS = {**dict.fromkeys(INTEGERS, int), "double": float, "float": float}


class CaseError(Exception):
    """A test that cannot be run as it is written."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(f"line {line}: {text}")
        self.line, self.text = line, text


@dataclass(frozen=True)
class Input:
    """The rows of one stream, as text: a cell is None for NULL."""

    stream: Stream
    columns: tuple[str, ...]
    batches: tuple[tuple[tuple[Cell, ...], ...], ...]
    line: int = 0

    def stored(self) -> list[Column]:
        """The columns of a row as the source would deliver it, in order."""
        return [*([Column(CHANGE_TYPE, "string")] if self.stream.changelog else []), *_stored(self.stream)]

    def rows(self) -> list[list[tuple[Any, ...]]]:
        """The rows of each micro-batch, as values of all stored columns: those that are not named are NULL."""
        places = {name.lower(): at for at, name in enumerate(self.columns)}
        stored = self.stored()
        return [[tuple(self._value(row, places, one) for one in stored) for row in batch] for batch in self.batches]

    def _value(self, row: Sequence[Cell], places: dict[str, int], column: Column) -> Any:
        at = places.get(column.name.lower())
        return typed(row[at], column, self.line) if at is not None else None


def _stored(stream: Stream) -> list[Column]:
    """All that are not computed."""
    return [column for column in stream.columns if column.computed is None]


def input_of(block: Block, stream: Stream) -> Input:
    """The rows of an input block for a stream that was declared."""
    (header, *first), *more = read_tables(block.text) if block.text.strip() else [[[]]]
    columns = tuple(str(name) for name in header)
    known = [*([CHANGE_TYPE] if stream.changelog else []), *(column.name for column in _stored(stream))]
    for name in columns:
        if name.lower() not in [one.lower() for one in known]:
            hint = suggestion(name, known) or ""
            raise CaseError(block.line, f"{stream.name} has no column {name} that a row could bring. {hint}".strip())
    batches = tuple(tuple(_row(row, columns, block) for row in rows) for rows in (first, *more))
    return Input(stream, columns, batches, block.line)


def _row(row: Sequence[Cell], columns: Sequence[str], block: Block) -> tuple[Cell, ...]:
    if len(row) != len(columns):
        raise CaseError(block.line, f"a row has {len(row)} cells for {len(columns)} columns: {row}")
    return tuple(row)


def typed(text: Cell, column: Column, line: int) -> Any:
    """A cell as a value of its column; Spark reads times, dates and decimals from their text.

    >>> (
    ...     typed("3", Column("a", "int"), 1),
    ...     typed("true", Column("b", "boolean"), 1),
    ...     typed("[1]", Column("c", "array<int>"), 1),
    ... )
    (3, True, [1])
    """
    type_ = (column.type or "string").lower()
    if text is None:
        return None
    try:
        if type_ == "boolean":
            return {"true": True, "false": False}[text.lower()]
        if type_.startswith(("array", "struct", "map")):
            return json.loads(text)
        return NUMBERS.get(type_, str)(text)
    except (ValueError, KeyError):
        raise CaseError(line, f"{text} is no {type_} (column {column.name})") from None


@dataclass(frozen=True)
class StaticTable:
    """A table for joins: `item string | price double` above its rows."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]

    @property
    def schema(self) -> str:
        return schema_of(self.columns)


def table_of_block(block: Block) -> StaticTable:
    """The table of a block `table NAME`."""
    tables = read_tables(block.text)
    if len(tables) != 1 or len(block.words) < 2 or not tables[0]:
        raise CaseError(block.line, "a table block has a name, a line of columns with types, and rows")
    header, *rows = tables[0]
    columns = []
    for one in header:
        name, _, type_ = (one or "").partition(" ")
        if not type_.strip():
            raise CaseError(block.line, f"the column {name} of the table has no type: write {name} STRING")
        columns.append(Column(name, type_.strip().lower()))
    for row in rows:
        _row(row, [one.name for one in columns], block)
    values = (tuple(typed(text, one, block.line) for text, one in zip(row, columns, strict=True)) for row in rows)
    return StaticTable(block.words[1], tuple(columns), tuple(values))


def schema_of(columns: Sequence[Column]) -> str:
    """Columns as Spark writes a schema."""
    return ", ".join(f"`{column.name.replace('`', '``')}` {column.type}" for column in columns)
