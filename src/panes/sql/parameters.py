"""Parameters of a query, as in `spark.sql(query, args=…)`: `:name` and `?` become literals before anything is read.

SELECT … WHERE k = :key GROUP BY tumblingwindow('ss', :length), k      {"key": "a", "length": 10}
SELECT … WHERE k = 'a'  GROUP BY tumblingwindow('ss', 10), k
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

from panes.errors import PanesError, suggestion
from panes.source import Source, Span
from panes.sql.tokens import Token, TokenType, tokenize

Args: TypeAlias = Mapping[str, Any] | Sequence[Any]
INT = range(-(2**31), 2**31)
BIGINT = range(-(2**63), 2**63)


def with_args(sql: str, args: Args | None) -> str:
    """The text with a literal instead of each parameter; without `args` as it is.

    >>> with_args("SELECT :a, v FROM t WHERE k = :b", {"a": 1.5, "b": "it's"})
    "SELECT 1.5D, v FROM t WHERE k = 'it\\\\'s'"
    >>> with_args("SELECT ? + ?", [1, -2])
    'SELECT 1 + (-2)'
    """
    if args is None:
        return sql
    tokens = tokenize(Source(sql))
    found = list(_named(tokens, args) if isinstance(args, Mapping) else _in_order(tokens, args))
    for span, value in reversed(found):
        sql = sql[: span.start] + literal(value, span) + sql[span.end :]
    return sql


def _named(tokens: Sequence[Token], args: Mapping[str, Any]) -> Iterator[tuple[Span, Any]]:
    _refuse(tokens, TokenType.PLACEHOLDER, "a ? where the values have names", "Write :name.")
    for span, name in _names(tokens):
        if name not in args:
            hint = suggestion(name, args) or "Give it in args."
            raise PanesError("parse-error", f"no value is given for :{name}", span, hint)
        yield span, args[name]


def _in_order(tokens: Sequence[Token], args: Sequence[Any]) -> Iterator[tuple[Span, Any]]:
    for span, name in _names(tokens):
        hint = "Give args as a dictionary, or write ? for each of its values in order."
        raise PanesError("parse-error", f":{name} where the values have no names", span, hint)
    places = [token.span for token in tokens if token.kind == TokenType.PLACEHOLDER]
    if len(places) != len(args):
        message = f"the query has {len(places)} parameters and args {len(args)} values"
        raise PanesError("parse-error", message, places[-1] if places else None, "Give one value for each ?.")
    yield from zip(places, args, strict=True)


def _names(tokens: Sequence[Token]) -> Iterator[tuple[Span, str]]:
    """Each `:name`; after a value the colon goes into it (`payload:field`)."""
    for before, colon, name in zip((None, *tokens), tokens, tokens[1:], strict=False):
        after_value = before is not None and (before.is_name or before.text in (")", "]"))
        goes_in = before is not None and after_value and before.span.end == colon.span.start
        if colon.kind == TokenType.COLON and name.is_name and colon.span.end == name.span.start and not goes_in:
            yield colon.span.to(name.span), name.name


def _refuse(tokens: Sequence[Token], kind: TokenType, message: str, hint: str) -> None:
    for token in tokens:
        if token.kind == kind:
            raise PanesError("parse-error", message, token.span, hint)


def literal(value: Any, span: Span | None = None) -> str:
    """A Python value as Spark SQL writes it; `span` is the place of its parameter.

    >>> literal([None, True, 3_000_000_000]), literal(timedelta(minutes=1)), literal(date(2024, 2, 29))
    ('array(NULL, TRUE, 3000000000L)', "INTERVAL '60.000000' SECOND", "DATE'2024-02-29'")
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int() if value in BIGINT:
            digits = str(value) if value in INT else f"{value}L"
            return digits if value >= 0 else f"({digits})"
        case float():
            text = f"{value!r}D" if math.isfinite(value) else f"double('{value}')"
            return text if not text.startswith("-") else f"({text})"
        case Decimal() if value.is_finite():
            text = f"{value:f}BD"
            return text if not text.startswith("-") else f"({text})"
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case bytes() | bytearray():
            return f"X'{value.hex()}'"
        case datetime():
            return f"TIMESTAMP'{value.isoformat(' ')}'"
        case date():
            return f"DATE'{value.isoformat()}'"
        case timedelta():
            whole = value // timedelta(microseconds=1)
            sign, digits = "-" if whole < 0 else "", f"{abs(whole):07}"
            return f"INTERVAL '{sign}{digits[:-6]}.{digits[-6:]}' SECOND"
        case Mapping():
            return f"map({', '.join(literal(one, span) for pair in value.items() for one in pair)})"
        case list() | tuple():
            return f"array({', '.join(literal(one, span) for one in value)})"
        case _:
            message = f"the value of a parameter is a {type(value).__name__}: {value!r:.100}"
            raise PanesError("parse-error", message, span, _instead(value))


def _instead(value: Any) -> str:
    """What to give instead of a value without a literal. Nothing here imports PySpark: its Column is known by name."""
    if type(value).__name__ == "Column":
        return "Give the value itself instead of lit(x), and write what is computed from it in the query."
    match value:
        case int():
            return "A BIGINT has 64 bits: give a Decimal."
        case time():
            return "Give its isoformat(), and cast that in the query to what it stands for."
        case _:
            known = "None, bool, int, float, Decimal, str, bytes, date, datetime and timedelta"
            return f"Values are {known}, and lists and dictionaries of these."
