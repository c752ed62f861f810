"""The shell's text: when a statement is complete, what a backslash means, and which words may come next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from panes.catalog import Catalog
from panes.errors import PanesError
from panes.functions import Functions
from panes.functions.taken import BOUNDS, WINDOWS
from panes.source import Source
from panes.sql.tokens import TokenType, split, tokenize

HELP = r"""  SELECT …;           shows the rows of a query: of a table at once, of a stream as they come, until Ctrl-C
  CREATE …; INSERT …; and all other statements, over as many lines as you like, with ; at the end
  \d                  streams, views and sinks
  \d NAME             columns and options of one of them
  \?                  this
  \q                  leave"""
LISTS = "SHOW STREAMS; SHOW VIEWS; SHOW SINKS;"
QUERIES = ("SELECT", "INSERT", "WITH", "FROM", "VALUES", "TABLE", "(")
KEYWORDS = tuple(
    "AND AS BETWEEN BY CASE CHANGES CREATE DELETE DESC DESCRIBE DISTINCT DROP ELSE EMIT END EXISTS EXPLAIN FILTER FOR"
    " FORMAT FROM GROUP HAVING IF IMMEDIATELY IN INSERT INTERVAL INTO IS JOIN JSON KEY LIKE NOT NULL OR ORDER OVER"
    " PARTITION PRIMARY QUALIFY RANGE REPLACE ROWS SELECT SHOW SINK SINKS STREAM STREAMS THEN VIEW VIEWS WATERMARK WHEN"
    " WHERE WINDOW WITH".split()
)
WORD = re.compile(r"\w*$")


class UnknownCommandError(Exception):
    """A backslash with something behind it that means nothing."""


class LeaveError(Exception):
    """The user wants to go."""


def is_complete(text: str) -> bool:
    r"""Whether a text ends with the end of a statement, or is a command with a backslash.

    >>> is_complete("SELECT 1;"), is_complete("SELECT ';"), is_complete("SELECT 1; -- done"), is_complete(r"\d")
    (True, False, True, True)
    """
    if text.lstrip().startswith("\\"):
        return True
    try:
        tokens = tokenize(Source(text))
    except PanesError:  # a string or a comment goes on in the next line
        return False
    return bool(tokens) and tokens[-1].kind == TokenType.SEMICOLON


def statement_of(text: str) -> str | None:
    r"""The statements to run for a text; None for one that only asks for help.

    >>> statement_of(r"\d orders"), statement_of("SELECT 1;")
    ('DESCRIBE orders;', 'SELECT 1;')
    """
    words = text.strip().rstrip(";").split()
    match words:
        case ["\\d"]:
            return LISTS
        case ["\\d", name]:
            return f"DESCRIBE {name};"
        case ["\\q"]:
            raise LeaveError
        case ["\\?"]:
            return None
        case [first, *_] if first.startswith("\\"):
            raise UnknownCommandError(f"unknown command {first}; \\? lists the commands")
        case _:
            return text


def needs_spark(statement: str) -> bool:
    """Whether a statement, or one of several, is a query: only those need Spark.

    >>> needs_spark("-- totals\\nSELECT 1;"), needs_spark("SHOW STREAMS;"), needs_spark("SHOW STREAMS; SELECT 1;")
    (True, False, True)
    """
    try:
        parts = split(tokenize(Source(statement)), TokenType.SEMICOLON)
    except PanesError:
        return False
    return any(part[0].text.upper() in QUERIES for part in parts if part)


def known_words(catalog: Catalog, functions: Functions) -> list[str]:
    """All that may be completed: names of the user's first."""
    columns = (name for stream in catalog.streams for name in stream.column_names)
    names = [*catalog.relations(), *catalog.sinks.names(), *columns]
    calls = {*functions.stateful.names(), *functions.aggregates, *functions.over, *WINDOWS, *BOUNDS}
    return list(dict.fromkeys([*names, *sorted(calls), *KEYWORDS]))


def completions(before: str, words: Iterable[str]) -> Iterator[tuple[str, int]]:
    """The words that go on with what stands before the cursor, and how much of that they replace.

    >>> list(completions("SELECT tum", ["tumblingwindow", "SELECT"]))
    [('tumblingwindow', 3)]
    """
    found = WORD.search(before)
    begun = found[0] if found is not None else ""
    if begun:
        yield from ((word, len(begun)) for word in words if word.lower().startswith(begun.lower()))
