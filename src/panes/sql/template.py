"""Texts for Spark in which tables are placeholders: PySpark puts DataFrames there, under names of its own.

SELECT a FROM orders o JOIN dim USING (k)
SELECT a FROM {in_orders} o JOIN {in_dim} AS `dim` USING (k)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from panes.sql.text import text_of
from panes.sql.tokens import Token, TokenType, mark


def placeholder(name: str) -> str:
    """The placeholder of a table, another for every other name.

    >>> placeholder("Orders"), placeholder("db.dim")
    ('in_orders', 'in_db_2e_dim')
    """
    return "in_" + re.sub(r"[^a-z0-9]", lambda found: f"_{ord(found[0]):x}_", name.lower())


def table_reference(name: str, known_as: str, aliased: bool) -> str:
    """A table in a template; one without an alias keeps its name for qualified columns."""
    return f"{{{placeholder(name)}}}" + ("" if aliased else f" AS {quoted(known_as)}")


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def escaped(sql: str) -> str:
    """A text without placeholders, as a template."""
    return sql.replace("{", "{{").replace("}", "}}")


def template_of(
    tokens: Sequence[Token], tables: Mapping[tuple[int, int], str], added: Mapping[int, str] | None = None
) -> str:
    """The text of a query with these references in the places of its tables, `first..last` of token indices.

    `added` are columns that end a SELECT list: each stands before the FROM at its index.
    """
    places = {**tables, **{(at, at - 1): column for at, column in (added or {}).items()}}
    done: list[Token] = []
    position = 0
    for (first, last), text in sorted(places.items()):
        span = tokens[first].span
        comma = [mark(",", TokenType.COMMA, span)] if last < first else []
        done += [*_escaped(tokens[position:first]), *comma, mark(text, TokenType.VAR, span)]
        position = last + 1
    return text_of([*done, *_escaped(tokens[position:])])


def _escaped(tokens: Sequence[Token]) -> list[Token]:
    return [replace(token, text=escaped(token.text)) for token in tokens]
