"""Columns of CREATE STREAM: read from the source, computed from others, or the metadata of a record."""

from __future__ import annotations

from collections.abc import Sequence

from panes.errors import PanesError, suggestion
from panes.functions import Functions
from panes.functions.taken import BOUNDS
from panes.sql.aggregates import is_aggregate
from panes.sql.calls import calls_in
from panes.sql.expr import Expr
from panes.sql.stateful import is_stateful
from panes.sql.statements import ColumnDef
from panes.sql.tokens import Token, span_of, top_level
from panes.sql.types import parse_type
from panes.sql.windows import is_window

USAGE = "column TYPE, column TYPE AS expression, or column TYPE METADATA [FROM 'name']"


def parse_column(item: tuple[Token, ...], functions: Functions) -> ColumnDef:
    """`name TYPE [NOT NULL] [COMMENT '…']`, with `AS expression` or `METADATA [FROM 'name']` behind the type."""
    name, rest = item[0], item[1:]
    while len(rest) > 1 and (rest[-2].word == "COMMENT" or (rest[-2].word, rest[-1].word) == ("NOT", "NULL")):
        rest = rest[:-2]
    end = next((index for index in top_level(rest) if rest[index].word in ("AS", "METADATA")), len(rest))
    type_, behind = rest[:end], rest[end:]
    if not name.is_name or not type_:
        raise PanesError("parse-error", "a column is a name and a type", span_of(item), USAGE)
    column = name.name, parse_type(type_), span_of(item)
    if not behind:
        return ColumnDef(*column)
    if behind[0].word == "METADATA":
        return ColumnDef(*column, metadata=_metadata(name, behind))
    if len(behind) == 1:
        raise PanesError("parse-error", "an expression is missing behind AS", behind[0].span, USAGE)
    return ColumnDef(*column, computed=_computed(behind[1:], functions))


def _metadata(name: Token, behind: tuple[Token, ...]) -> str:
    if len(behind) == 1:
        return name.name.lower()
    found = Expr(behind[2:]).string if behind[1].word == "FROM" and len(behind) == 3 else None
    if found is None:
        raise PanesError("parse-error", "METADATA is not complete", span_of(behind), USAGE)
    return found.lower()


def _computed(tokens: tuple[Token, ...], functions: Functions) -> Expr:
    """An expression over the columns of one row, for Spark."""
    for place in calls_in(tokens):
        ours = is_window(place.name) or place.name in BOUNDS or place.over_start is not None
        if ours or is_stateful(tokens, place, functions) or is_aggregate(place, functions):
            at = span_of(tokens[place.start : place.end + 1])
            hint = "A computed column sees one row: compute this in a query or a view."
            raise PanesError("unsupported-clause", f"{place.name} in a computed column", at, hint)
    for token in tokens:
        if token.word == "SELECT":
            hint = "A computed column sees one row: join in a query or a view."
            raise PanesError("unsupported-clause", "a query in a computed column", token.span, hint)
    expr = Expr(tokens)
    _ = expr.columns  # what cannot be parsed is refused here
    return expr


def check_computed(columns: Sequence[ColumnDef]) -> None:
    """Refuse a computed column that reads one that is not there, or one that is computed after it."""
    known = [column.name.lower() for column in columns if column.computed is None]
    for column in columns:
        if column.computed is None:
            continue
        for ref in column.computed.columns:
            if ref.parts[0].lower() not in known:
                at = span_of(column.computed.tokens[ref.first : ref.last + 1])
                later = any(one.name.lower() == ref.parts[0].lower() for one in columns)
                hint = "Declare it further up." if later else suggestion(ref.parts[0], known)
                raise PanesError("unknown-column", f"there is no column {ref.parts[0]} for {column.name}", at, hint)
        known.append(column.name.lower())
