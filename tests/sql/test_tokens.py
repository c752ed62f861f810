"""Tokens carry the very text they came from, and where it stood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from present import present

from panes.errors import PanesError
from panes.source import Source, Span
from panes.sql.tokens import TokenType, check_brackets, closing, name_token, parenthesised, split, tokenize, top_level


def texts(sql: str) -> list[str]:
    return [token.text for token in tokenize(Source(sql))]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("", []),
        ("lag(a)", ["lag", "(", "a", ")"]),
        ("a -- all of it\n+ b", ["a", "+", "b"]),
        ("a /* all\nof it */ + b", ["a", "+", "b"]),
        ("10L + 1.5BD", ["10L", "+", "1.5BD"]),
        ("'a b' || \"c'd\"", ["'a b'", "||", '"c\'d"']),
        (r"r'\d' x'1F'", [r"r'\d'", "x'1F'"]),
        ("`a b`.`c``d`", ["`a b`", ".", "`c``d`"]),
        ("group  by", ["group  by"]),
        ("SHOW STREAMS; DESCRIBE s", ["SHOW", "STREAMS", ";", "DESCRIBE", "s"]),
        ("SELECT 1; SHOW STREAMS", ["SELECT", "1", ";", "SHOW", "STREAMS"]),
        ("größe + 列", ["größe", "+", "列"]),
    ],
)
def test_texts(sql: str, expected: list[str]) -> None:
    assert texts(sql) == expected


@given(st.lists(st.sampled_from(["a", "'x y'", "`b c`", "10L", "(", ")", "+", "SHOW", ";", "GROUP BY", "é"])))
def test_every_token_stands_where_its_span_says(parts: list[str]) -> None:
    sql = "  ".join(parts)
    for token in tokenize(Source(sql)):
        assert sql[token.span.start : token.span.end] == token.text


@pytest.mark.parametrize(
    ("sql", "word", "name", "is_name"),
    [
        ("group\n by", "GROUP BY", "group\n by", True),
        ("Lag", "LAG", "Lag", True),
        ("`Lag`", "", "Lag", True),
        ("`a``b`", "", "a`b", True),
        ("'lag'", "", "'lag'", False),
        ("r'lag'", "", "r'lag'", False),
        ("_x", "_X", "_x", True),
        ("7", "7", "7", False),
        ("(", "(", "(", False),
    ],
)
def test_words_and_names(sql: str, word: str, name: str, is_name: bool) -> None:
    (token,) = tokenize(Source(sql))
    assert (token.word, token.name, token.is_name) == (word, name, is_name)


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("SELECT 'a FROM t", "'a FROM t"),
        ("SELECT 'it''s', `b FROM t", "`b FROM t"),
        ('SELECT "a', '"a'),
        ("SELECT a /* b", "/* b"),
        ("SHOW STREAMS; SELECT 'a", "'a"),
    ],
)
def test_what_is_not_closed_is_underlined(sql: str, place: str) -> None:
    with pytest.raises(PanesError) as caught:
        tokenize(Source(sql))
    assert (caught.value.code, present(caught.value.span).text) == ("parse-error", place)


@pytest.mark.parametrize(
    ("sql", "start"), [("(a", 0), ("a)", 1), ("(a]", 2), ("f(a[1)", 5), ("a}", 1), ("((a)", 0), ("[", 0)]
)
def test_brackets_pair_up(sql: str, start: int) -> None:
    with pytest.raises(PanesError) as caught:
        check_brackets(tokenize(Source(sql)))
    assert (caught.value.code, present(caught.value.span).start) == ("parse-error", start)


def test_closing_and_top_level() -> None:
    tokens = tokenize(Source("f(a, g[b]) + c"))
    assert closing(tokens, 1) == 8
    assert [tokens[index].text for index in top_level(tokens)] == ["f", "(", ")", "+", "c"]


@pytest.mark.parametrize(
    ("sql", "parts"),
    [("", []), ("a", ["a"]), ("a, b", ["a", "b"]), ("f(a, b), c", ["f ( a , b )", "c"]), ("a,,", ["a", "", ""])],
)
def test_split(sql: str, parts: list[str]) -> None:
    cut = split(tokenize(Source(sql)), TokenType.COMMA)
    assert [" ".join(token.text for token in part) for part in cut] == parts


def test_made_up_tokens_stand_where_they_replace() -> None:
    span = Span(Source("lag(a)"), 0, 6)
    assert name_token("col_1", span).text == "col_1"
    odd = name_token("a `b`", span)
    assert (odd.text, odd.name, odd.span.text) == ("`a ``b```", "a `b`", "lag(a)")
    assert [t.text for t in parenthesised(tokenize(Source("a + b")))] == ["(", "a", "+", "b", ")"]
    assert [t.text for t in parenthesised(tokenize(Source("a")))] == ["a"]
