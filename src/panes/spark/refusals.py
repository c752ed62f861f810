"""What Spark refuses while a query is built, as an error of Panes: its words, and the place in the user's SQL.

    Spark    [UNRESOLVED_ROUTINE] Cannot resolve routine `nosuch` …          about   nosuch(v)
    Panes    unknown-function: cannot resolve routine `nosuch` …             SELECT k, sum(nosuch( v )) FROM t …
                                                                                           ^^^^^^^^^^^

Spark sees texts that Panes has put together. What it complains of is found again in the user's by its tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger

from panes.errors import PanesError
from panes.source import Source, Span
from panes.sql.text import key_of
from panes.sql.tokens import Token, span_of, tokenize

CODES = {
    "UNRESOLVED_ROUTINE": "unknown-function",
    "UNRESOLVED_COLUMN": "unknown-column",
    "FIELD_NOT_FOUND": "unknown-column",
    "AMBIGUOUS_REFERENCE": "ambiguous-column",
    "TABLE_OR_VIEW_NOT_FOUND": "unknown-stream",
    "WRONG_NUM_ARGS": "function-arguments",
    "DATATYPE_MISMATCH": "type-mismatch",
    "INVALID_EXTRACT_BASE_FIELD_TYPE": "type-mismatch",
}
MESSAGE = re.compile(r"\[(?P<condition>[A-Z0-9_]+)(?:\.[A-Z0-9_]+)?\] (?P<text>.*?)(?: SQLSTATE: \w+)?\s*(?:;|\n|$)")
UNDERLINED = re.compile(r"^== SQL.*==\n(?P<line>.*)\n(?P<blanks> *)(?P<carets>\^+)", re.MULTILINE)


@contextmanager
def underlined_in(texts: Sequence[Span]) -> Iterator[None]:
    """Run what asks Spark to analyse expressions; `texts` are the user's that they come from."""
    with quiet_errors():
        try:
            yield
        except AnalysisException as error:
            raise panes_error(error, texts) from None


def panes_error(error: AnalysisException, texts: Sequence[Span]) -> PanesError:
    text = str(error)
    found = MESSAGE.search(text)
    message = found["text"] if found is not None else text.strip().partition("\n")[0]
    code = CODES.get(found["condition"], "parse-error") if found is not None else "parse-error"
    return PanesError(code, f"Spark says: {message}", nearest_place(_fragment(error, text), texts))


def _fragment(error: AnalysisException, text: str) -> str:
    """The part of the text that Spark complains of."""
    contexts = error.getQueryContext() or []
    fragment = next((context.fragment() for context in contexts if context.fragment()), "")
    underlined = UNDERLINED.search(text)
    if fragment or underlined is None:
        return fragment
    start = len(underlined["blanks"])
    return underlined["line"][start : start + len(underlined["carets"])]


def place(fragment: str, texts: Sequence[Span]) -> Span | None:
    """Where a fragment stands in one of the texts, whatever white space and case.

    >>> span = place("upper(K)", [whole("SELECT Upper( k ) FROM t")])
    >>> span.text if span else None
    'Upper( k )'
    """
    return _find(_folded(_tokens(whole(fragment))), [_tokens(text) for text in texts])


def nearest_place(fragment: str, texts: Sequence[Span]) -> Span | None:
    """Where a fragment stands, or else the most of it that does: Panes may have put something around it."""
    wanted = _folded(_tokens(whole(fragment)))
    tokens = [_tokens(text) for text in texts]
    for length in range(len(wanted), 0, -1):
        for start in range(len(wanted) - length + 1):
            part = wanted[start : start + length]
            span = _find(part, tokens) if length > 1 or part[0][:1].isalnum() else None
            if span is not None:
                return span
    return None


def whole(text: str, name: str = "") -> Span:
    """All of a text."""
    return Span(Source(text, name), 0, len(text))


def _tokens(text: Span) -> list[Token]:
    try:
        tokens = tokenize(text.source)
    except PanesError:  # Spark's fragments may be cut anywhere
        return []
    return [token for token in tokens if token.span.start >= text.start and token.span.end <= text.end]


def _folded(tokens: Sequence[Token]) -> list[str]:
    return [key_of([token]) for token in tokens]


def _find(part: Sequence[str], texts: Sequence[Sequence[Token]]) -> Span | None:
    for tokens in texts if part else ():
        folded = _folded(tokens)
        for at in range(len(folded) - len(part) + 1):
            if folded[at : at + len(part)] == part:
                return span_of(tokens[at : at + len(part)])
    return None


@contextmanager
def quiet_errors() -> Iterator[None]:
    """PySpark logs every error of its own with all of its stack; here each is raised again, in other words."""
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before
