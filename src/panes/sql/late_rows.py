"""`LATE ROWS INTO sink`, at the end of an INSERT."""

from __future__ import annotations

from collections.abc import Sequence

from panes.errors import PanesError
from panes.sql.statements import LateRowsClause
from panes.sql.tokens import Token, span_of, top_level

WORDS = ("LATE", "ROWS", "INTO")


def cut_late_rows(tokens: tuple[Token, ...]) -> tuple[tuple[Token, ...], LateRowsClause | None]:
    """An INSERT without the clause, and the clause."""
    at = len(tokens) - len(WORDS) - 1
    if at <= 0 or _words(tokens, at) != WORDS or not tokens[-1].is_name:
        return tokens, None
    return tokens[:at], LateRowsClause(tokens[-1].name, span_of(tokens[at:]))


def refuse_late_rows(tokens: Sequence[Token]) -> None:
    """Refuse the clause anywhere else."""
    for at in top_level(tokens):
        if _words(tokens, at) == WORDS:
            hint = "INSERT INTO sink SELECT … [EMIT …] LATE ROWS INTO another_sink"
            text = "LATE ROWS INTO stands once, at the end of an INSERT, and names a sink"
            raise PanesError("unsupported-clause", text, span_of(tokens[at : at + len(WORDS)]), hint)


def _words(tokens: Sequence[Token], at: int) -> tuple[str, ...]:
    return tuple(token.word for token in tokens[at : at + len(WORDS)])
