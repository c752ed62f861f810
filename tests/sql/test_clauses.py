"""A SELECT cut into its clauses."""

import pytest
from present import present

from panes.errors import PanesError
from panes.source import Source
from panes.sql.clauses import Clauses, cut_select, query_clauses
from panes.sql.text import text_of
from panes.sql.tokens import tokenize


def cut(sql: str) -> Clauses:
    return cut_select(tokenize(Source(sql)))


def test_every_clause() -> None:
    clauses = cut(
        "SELECT a, f(b, c) AS d FROM t x WHERE a > 0 GROUP BY tumblingwindow('ss', 10), k HAVING n > 1 "
        "WINDOW w AS (ORDER BY ts) QUALIFY r = 1 EMIT CHANGES"
    )
    assert [text_of(item) for item in clauses.items] == ["a", "f(b, c) AS d"]
    assert text_of(clauses.source) == "t x"
    assert text_of(clauses.where) == "a > 0"
    assert [text_of(item) for item in clauses.group_by] == ["tumblingwindow('ss', 10)", "k"]
    assert text_of(clauses.having) == "n > 1"
    assert text_of(clauses.windows) == "w AS (ORDER BY ts)"
    assert text_of(clauses.qualify) == "r = 1"
    assert text_of(clauses.emit) == "EMIT CHANGES"
    assert clauses.foreign == ()


@pytest.mark.parametrize(
    ("sql", "source", "where"),
    [
        ("SELECT a FROM (SELECT b FROM u WHERE c) WHERE d", "(SELECT b FROM u WHERE c)", "d"),
        ("SELECT extract(hour FROM ts) FROM t", "t", ""),
        ("SELECT a IS DISTINCT FROM b FROM t", "t", ""),
        ("SELECT a IS NOT DISTINCT FROM b FROM t WHERE c IS DISTINCT FROM d", "t", "c IS DISTINCT FROM d"),
        ("SELECT a FROM t AS emit WHERE b", "t AS emit", "b"),
        ("SELECT window FROM t WHERE window.start > ts", "t", "window.start > ts"),
        ("SELECT left(a, 1) FROM t WHERE right(a, 1) = 'x'", "t", "right(a, 1) = 'x'"),
        ("SELECT * EXCEPT (a) FROM t", "t", ""),
        ("SELECT 'FROM x' FROM t WHERE `WHERE` = 1", "t", "`WHERE` = 1"),
    ],
)
def test_words_that_start_no_clause(sql: str, source: str, where: str) -> None:
    clauses = cut(sql)
    assert (text_of(clauses.source), text_of(clauses.where), clauses.foreign) == (source, where, ())


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT a FROM t ORDER BY a", ["ORDER BY"]),
        ("SELECT a FROM t LIMIT 5 OFFSET 2", ["LIMIT", "OFFSET"]),
        ("SELECT DISTINCT a FROM t", ["DISTINCT"]),
        ("SELECT ALL a FROM t", []),
        ("SELECT a FROM t JOIN u USING (k)", ["JOIN"]),
        ("SELECT a FROM t LEFT JOIN u ON t.k = u.k", ["LEFT", "JOIN"]),
        ("SELECT a FROM t UNION ALL SELECT b FROM u WHERE c", ["UNION"]),
        ("SELECT a FROM t WHERE b GROUP BY c EXCEPT SELECT b FROM u WHERE c", ["EXCEPT"]),
        ("SELECT a FROM t SORT BY a", ["SORT BY"]),
        ("SELECT a FROM t TABLESAMPLE (10 ROWS)", ["TABLESAMPLE"]),
        ("SELECT limit FROM t", []),
    ],
)
def test_foreign_clauses(sql: str, words: list[str]) -> None:
    assert [word for word, _ in cut(sql).foreign] == words


def test_emit_of_a_set_operation_is_seen() -> None:
    assert text_of(cut("SELECT a FROM t UNION SELECT a FROM t EMIT CHANGES").emit) == "EMIT CHANGES"


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("SELECT FROM t", "SELECT"),
        ("SELECT a FROM", "FROM"),
        ("SELECT a FROM t WHERE", "WHERE"),
        ("SELECT a FROM t GROUP BY HAVING b", "GROUP BY"),
        ("SELECT a FROM t WHERE b WHERE c", "WHERE"),
        ("SELECT a FROM t HAVING b WHERE c", "WHERE"),
        ("SELECT a,, b FROM t", "SELECT"),
        ("SELECT a FROM t GROUP BY a,", "GROUP BY"),
    ],
)
def test_refused(sql: str, place: str) -> None:
    with pytest.raises(PanesError) as caught:
        cut(sql)
    assert (caught.value.code, present(caught.value.span).text) == ("parse-error", place)


@pytest.mark.parametrize("rest", ["EMIT CHANGES WHERE c", "EMIT CHANGES EMIT CHANGES", "EMIT WHERE c"])
def test_emit_is_the_last_clause(rest: str) -> None:
    with pytest.raises(PanesError) as caught:
        cut(f"SELECT a FROM t {rest}")
    assert (caught.value.code, present(caught.value.span).text) == ("unsupported-clause", "EMIT")


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT a FROM t JOIN u USING (k) ORDER BY a LIMIT 5", ["ORDER BY", "LIMIT"]),
        ("SELECT DISTINCT a FROM t", ["DISTINCT"]),
        ("SELECT count(DISTINCT a) FROM t GROUP BY b", []),
        ("SELECT rank() OVER (ORDER BY a) FROM t", []),
        ("SELECT a FROM (SELECT b FROM t LIMIT 3) x", ["LIMIT"]),
        ("(SELECT a FROM t) UNION (SELECT DISTINCT b FROM u ORDER BY b)", ["DISTINCT", "ORDER BY"]),
    ],
)
def test_query_clauses(sql: str, words: list[str]) -> None:
    assert [word for word, _ in query_clauses(tokenize(Source(sql)))] == words
