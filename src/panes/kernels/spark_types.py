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


@dataclass(frozen=True)
class Ranked:
    """A type whose values are doubles in between: DuckDB's texts for the way there (`$x`) and back (`$v`).

    `type` is the Spark type of what comes back, `cast` what Spark casts it to then.
    """

    type: str
    given: str = "$x::DOUBLE"
    value: str = "$v"
    cast: str | None = None


def ranked_type(type_: str) -> Ranked | None:
    """Numbers, dates and timestamps; None for others.

    >>> ranked_type("int").value, ranked_type("string")
    ('$v::INT', None)
    """
    if type_ == "bigint":  # the greatest are rounded up to a double that is above all
        return Ranked(type_, value="CASE WHEN $v >= 9223372036854775807.0 THEN 9223372036854775807 ELSE $v::BIGINT END")
    if decimal(type_) is not None:
        return Ranked("double", cast=type_)
    if type_ in INTEGRAL or type_ == "float":
        return Ranked(type_, value=f"$v::{type_.upper()}")
    return _RANKED.get(type_)


_RANKED = {
    "double": Ranked("double"),
    "date": Ranked("date", "($x - DATE '1970-01-01')::DOUBLE", "DATE '1970-01-01' + $v::INT"),
    "timestamp": Ranked("timestamp", "epoch_us($x)::DOUBLE", "make_timestamp($v::BIGINT)::TIMESTAMPTZ"),
    "timestamp_ntz": Ranked("timestamp_ntz", "epoch_us($x)::DOUBLE", "make_timestamp($v::BIGINT)"),
}


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
