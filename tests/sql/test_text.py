"""Canonical text: one spelling for one sequence of tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.source import Source
from panes.sql.text import key_of, text_of
from panes.sql.tokens import tokenize


def text(sql: str) -> str:
    return text_of(tokenize(Source(sql)))


def key(sql: str) -> str:
    return key_of(tokenize(Source(sql)))


PIECES = [
    "a", "B1", "`c d`", "_e", "ts", "lag", "sum", "upper", "CASE", "WHEN", "THEN", "ELSE", "END", "AND", "OR", "NOT",
    "IN", "IS", "NULL", "LIKE", "BETWEEN", "AS", "CAST", "INTERVAL", "OVER", "FILTER", "WHERE", "PARTITION BY",
    "ORDER BY", "order\n  by", "DISTINCT",
    "1", "2.5", "10L", "1e3", "'x  y'", "'it''s'", '"Q"', r"r'\D'", "x'1F'", "''",
    "(", ")", "[", "]", ",", ".", "::", "+", "-", "*", "/", "%", "<", ">", "<=", "<>", "=", "||", "->", "!", "~", "&",
]  # fmt: skip
SPACES = st.sampled_from([" ", "  ", "\n", "\t", " /* a 'b' */ ", " -- c\n"])


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_text_is_a_fixpoint(pieces: list[str]) -> None:
    once = text(" ".join(pieces))
    assert text(once) == once


@given(st.lists(st.tuples(st.sampled_from(PIECES), SPACES), max_size=12))
def test_white_space_and_comments_do_not_show(pieces: list[tuple[str, str]]) -> None:
    plain = " ".join(piece for piece, _ in pieces)
    spaced = "".join(piece + space for piece, space in pieces)
    assert text(spaced) == text(plain)
    assert key(spaced) == key(plain)


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_no_token_is_lost(pieces: list[str]) -> None:
    tokens = tokenize(Source(" ".join(pieces)))
    assert [t.word or t.text for t in tokenize(Source(text_of(tokens)))] == [t.word or t.text for t in tokens]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("coalesce( a ,-1 )", "coalesce(a, -1)"),
        ("a+b*-c", "a + b * -c"),
        ("a - -1", "a - -1"),
        ("- - 1", "- -1"),
        ("f (a) [ 0 ] . b", "f(a)[0].b"),
        ("a in(1,2)", "a in (1, 2)"),
        ("NOT(a)AND(b)", "NOT (a) AND (b)"),
        ("cast( a as decimal( 10 , 2 ) )", "cast(a as decimal(10, 2))"),
        ("a :: int", "a::int"),
        ("x->x+1", "x -> x + 1"),
        ("( x , y )->x", "(x, y) -> x"),
        ("a>>1", "a >> 1"),
        ("filter( arr , x->x)", "filter(arr, x -> x)"),
        ("a >>> 1", "a >>> 1"),
        ("'it''s'", "'it''s'"),
        ("'a' 'b'", "'a' 'b'"),
        ("a + .5", "a + .5"),
        ("interval  -1  day", "interval -1 day"),
        ("sum( a )filter(where b)over(partition by c)", "sum(a) filter (where b) over (partition by c)"),
        ("count( * )", "count(*)"),
        ("over(order\n  by a)", "over (order by a)"),
    ],
)
def test_text(sql: str, expected: str) -> None:
    assert text(sql) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("LAG(A)", "lag(a)"),
        ("lag( `A` )", "lag(a)"),
        ("a IS NOT NULL", "A is not null"),
        ("`A b`", "`a B`"),
        ("PARTITION  BY a", "partition by A"),
        ("10L", "10l"),
    ],
)
def test_key_folds_the_case_of_names(one: str, other: str) -> None:
    assert key(one) == key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("'A'", "'a'"),
        ('"A"', '"a"'),
        (r"r'\D'", r"r'\d'"),
        ("'a  b'", "'a b'"),
        ("`a b`", "a"),
        ("'a'", "a"),
        ("'a'", "`a`"),
        ("a b", "ab"),
    ],
)
def test_key_keeps_literals_apart(one: str, other: str) -> None:
    assert key(one) != key(other)
