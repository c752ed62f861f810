"""What is a Boolean, what is none, and what only Spark can tell."""

from __future__ import annotations

import pytest

from panes.errors import PanesError
from panes.logical.booleans import check_boolean, is_boolean
from panes.source import Source
from panes.sql.expr import Expr
from panes.sql.tokens import tokenize

TYPES = {"ok": "boolean", "a": "int", "k": "string"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, True) for text in ("a = 1", "a <> 1", "a <=> 1", "a < 1 AND ok", "NOT ok", "ok OR ok")),
        *((text, True) for text in ("a IS NULL", "a IN (1, 2)", "a BETWEEN 1 AND 2", "k LIKE 'x%'", "k RLIKE 'x'")),
        *((text, True) for text in ("TRUE", "NULL", "ok", "(ok)", "((a > 1))", "CAST(a AS BOOLEAN)")),
        *((text, False) for text in ("a", "k", "1", "'true'", "a + 1", "-a", "k || 'x'", "CAST(ok AS INT)", "(a)")),
        *((text, None) for text in ("f(a)", "unknown", "s.x", "CASE WHEN ok THEN 1 END", "coalesce(ok, TRUE)")),
    ],
)
def test_is_boolean(text: str, expected: bool | None) -> None:
    assert is_boolean(Expr(tokenize(Source(text))).tree, TYPES.get) is expected


def test_only_what_is_surely_none_is_refused() -> None:
    check_boolean(Expr(tokenize(Source("f(a)"))), "WHERE", TYPES.get)
    with pytest.raises(PanesError) as caught:
        check_boolean(Expr(tokenize(Source("a + 1"))), "WHERE", TYPES.get, "window-arguments")
    assert caught.value.code == "window-arguments"
