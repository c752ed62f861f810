"""Spark's types as far as a kernel must know them: they come as texts such as `decimal(10,2)` or `array<int>`."""

from __future__ import annotations

import re
from dataclasses import dataclass

INTEGRAL = frozenset(("tinyint", "smallint", "int", "bigint"))


@dataclass(frozen=True)
class Decimal:
    precision: int
    scale: int


def decimal(type_: str) -> Decimal | None:
    found = re.fullmatch(r"decimal\((\d+),(\d+)\)", type_)
    return Decimal(int(found[1]), int(found[2])) if found else None


def sortable(value: str, type_: str, depth: int = 0) -> str:
    """A value that DuckDB compares as Spark compares `value`: inside a struct or an array NULL comes first.

    >>> sortable("v", "int")
    'v'
    >>> sortable("v", "array<int>")
    'list_transform(v, lambda e0: {n: e0 IS NOT NULL, v: e0})'
    """
    inner = type_[type_.index("<") + 1 : -1] if type_.endswith(">") else ""
    if type_.startswith("array<"):
        one = f"e{depth}"
        return f"list_transform({value}, lambda {one}: {{n: {one} IS NOT NULL, v: {sortable(one, inner, depth + 1)}}})"
    if not type_.startswith("struct<"):
        return value
    parts = []
    for number, field in enumerate(_fields(inner), 1):
        part = f"struct_extract_at({value}, {number})"
        parts += [f"n{number}: {part} IS NOT NULL", f"v{number}: {sortable(part, field, depth)}"]
    return f"CASE WHEN {value} IS NOT NULL THEN {{{', '.join(parts)}}} END"


def _fields(text: str) -> list[str]:
    """The types of a struct's fields.

    >>> _fields("a:int,b:struct<c:int,d:decimal(10,2)>")
    ['int', 'struct<c:int,d:decimal(10,2)>']
    """
    found, depth, start = [], 0, 0
    for at, letter in enumerate(f"{text},"):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            found.append(text[start:at].partition(":")[2])
            start = at + 1
    return found
