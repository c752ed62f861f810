"""Keys in the place of their expressions, and only there."""

from __future__ import annotations

import pytest
from planning import COLUMNS

from panes.errors import PanesError
from panes.logical.grouping import bare, check_grouped, put_keys
from panes.logical.plan import Field
from panes.source import Source
from panes.sql.expr import Expr
from panes.sql.tokens import tokenize


def expr(text: str) -> Expr:
    return Expr(tokenize(Source(text)))


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ("upper(k)", "upper(k)", "g"),
        ("UPPER( K )", "upper(k)", "g"),
        ("f(upper(k), upper(k))", "upper(k)", "f(g, g)"),
        ("upper(kk)", "upper(k)", "upper(kk)"),
        ("a + b", "a + b", "g"),
        ("(a + b) * c", "a + b", "(g) * c"),
        ("a + b * c", "a + b", "a + b * c"),
        ("c * a + b", "a + b", "c * a + b"),
        ("a + b + c", "a + b", "g + c"),
        ("c + a + b", "a + b", "c + a + b"),
        ("c - a", "a", "c - a"),  # a column keeps its name
        ("x AND a OR b", "a OR b", "x AND a OR b"),
        ("a = b AND c", "a = b", "g AND c"),
        ("'upper(k)'", "upper(k)", "'upper(k)'"),
        ("f('X')", "f('x')", "f('X')"),
        ("s.x + 1", "s.x", "g + 1"),
        ("s.x.y", "s.x", "s.x.y"),
        ("CASE WHEN a > 1 THEN a END", "a > 1", "CASE WHEN g THEN a END"),
        ("-a * 2", "-a", "g * 2"),
        ("b -a", "-a", "b - a"),
    ],
)
def test_put_keys(text: str, key: str, expected: str) -> None:
    column = expr(key).column
    assert put_keys(expr(text), [Field(expr(key), column or "g")]).sql == expected


def test_keys_inside_keys() -> None:
    keys = [Field(expr("f(a + b)"), "g1"), Field(expr("a + b"), "g2")]
    assert put_keys(expr("f(a + b) - (a + b)"), keys).sql == "g1 - (g2)"
    assert put_keys(expr("f(a + b)"), keys[::-1]).sql == "f(g2)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("(a)", "a"), ("((a + b))", "a + b"), ("(a) + (b)", "(a) + (b)"), ("f(a)", "f(a)"), ("a", "a")],
)
def test_bare(text: str, expected: str) -> None:
    assert bare(expr(text)).sql == expected


def test_check_grouped_names_the_column() -> None:
    check_grouped(expr("K + g"), ["k", "g"])
    with pytest.raises(PanesError) as caught:
        check_grouped(expr("k + s.x"), [column.name for column in COLUMNS[:2]])
    assert caught.value.code == "column-not-grouped"
    assert caught.value.span is not None and caught.value.span.text == "s.x"
