"""Rows as text and back: aligned columns with `|` between them, and `---` between micro-batches."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeAlias

Cell: TypeAlias = str | None  # None is NULL
Table: TypeAlias = list[list[Cell]]

NULL = "NULL"
NO_ROWS = "(no rows)"
BETWEEN = re.compile(r"^---+[ \t]*$", re.MULTILINE)
CELL = re.compile(r'[ \t]*("(?:[^"\\]|\\.)*"|[^|]*?)[ \t]*(\||$)')
PLAIN = re.compile(r'[^\s"|](?:[^|\n\r\t]*[^\s|])?')  # what needs no quotes to be read as it is


def text_tables(tables: Sequence[Sequence[Sequence[str]]]) -> str:
    """Rows as aligned columns; the tables share their widths and `---` stands between them.

    >>> print(text_tables([[["name", "n"], ["a", "10"]], [["bc", "2"]]]))
    name | n
    a    | 10
    ---
    bc   | 2
    """
    rows = [row for table in tables for row in table]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for number, table in enumerate(tables):
        lines += [*(["---"] if number else []), *(text_row(row, widths) for row in table)]
    return "\n".join(lines)


def text_row(row: Sequence[str], widths: Sequence[int]) -> str:
    """One line of a table."""
    return " | ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def read_tables(text: str) -> list[Table]:
    """The cells of what `text_tables` writes.

    >>> read_tables('a | b\\n1 | NULL\\n---\\n"x|y" | "NULL"')
    [[['a', 'b'], ['1', None]], [['x|y', 'NULL']]]
    """
    return [[_cells(line) for line in part.split("\n") if line.strip()] for part in BETWEEN.split(text)]


def _cells(line: str) -> list[Cell]:
    cells: list[Cell] = []
    at = 0
    while True:
        found = CELL.match(line, at)
        assert found is not None  # a cell may be empty
        text, ends, at = found[1], not found[2], found.end()
        cells.append(_read(text))
        if ends:
            return cells


def _read(text: str) -> Cell:
    if text == NULL:
        return None
    if len(text) > 1 and text.startswith('"') and text.endswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text
    return text


def cell(value: object) -> str:
    """A value as it stands in a table: times without what is zero at their end, texts in quotes where they need them.

    >>> [cell(one) for one in (None, "a b", "", "NULL", "x|y", 1.5, True, ["a", None])]
    ['NULL', 'a b', '""', '"NULL"', '"x|y"', '1.5', 'true', '["a", null]']
    """
    match value:
        case None:
            return NULL
        case str():
            plain = PLAIN.fullmatch(value) is not None and value != NULL and not BETWEEN.fullmatch(value)
            return value if plain else json.dumps(value, ensure_ascii=False)
        case bool():
            return str(value).lower()
        case datetime():
            return value.isoformat(sep=" ").removesuffix("+00:00")
        case list() | dict():
            return json.dumps(_in_json(value), ensure_ascii=False)
        case _:
            return str(value)


def _in_json(value: Any) -> Any:
    match value:
        case dict():
            return {str(name): _in_json(one) for name, one in value.items()}
        case list() | tuple():
            return [_in_json(one) for one in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            return cell(value)


def text_of_rows(columns: Sequence[str], batches: Sequence[Sequence[Sequence[object]]]) -> str:
    """A block of rows, one table for each micro-batch below one line of names."""
    (first, *more) = [[[cell(value) for value in row] for row in batch] for batch in (batches or [[]])]
    return text_tables([[list(columns), *first], *more])
