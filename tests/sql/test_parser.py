"""Scripts, statements and queries."""

from typing import Any

import pytest
from present import present

from panes.errors import PanesError
from panes.sql import Window, parse
from panes.sql.duration import TimeUnit
from panes.sql.statements import (
    CreateStream,
    Emit,
    Explain,
    ExplainFormat,
    InsertInto,
    NamedRelation,
    SelectStmt,
    Show,
    SparkStmt,
    Star,
    SubQuery,
)


def read(sql: str) -> Any:
    (statement,) = parse(sql)
    return statement


def test_a_script() -> None:
    kinds = [type(one) for one in parse("CREATE STREAM s (a INT); -- one; two\n;; SHOW STREAMS; SELECT lag(a) FROM s;")]
    assert kinds == [CreateStream, Show, SelectStmt]
    assert parse(" -- nothing\n /* at all */ ;") == []


def test_comments_and_white_space_do_not_matter() -> None:
    plain = read("SELECT lag(a) AS p FROM t WHERE b > 0 GROUP BY tumblingwindow('ss', 10), k")
    spaced = read("/* a */select\n lag ( a )as p--x\nfrom t where b>0\tgroup\n by TumblingWindow('ss',10) , k")
    assert plain == spaced


def test_the_seeds_names() -> None:
    statement = read(
        "SELECT lag(a), sum(b) AS s FROM t WHERE c > 0 GROUP BY slidingwindow('ss', 10, 15), k, upper(r) HAVING s > 1"
    )
    assert statement.window == Window.Sliding(TimeUnit.SECONDS, 10, 15)
    assert [key.sql for key in statement.group_by_exprs] == ["k", "upper(r)"]
    assert [field.name for field in statement.select_fields] == ["lag(a)", "s"]
    assert (statement.where_condition.sql, statement.having.sql) == ("c > 0", "s > 1")
    assert list(statement.stateful_mappings) == ["col_1"] and list(statement.aggregate_mappings) == ["col_2"]


@pytest.mark.parametrize("form", ["slidingwindow('ss', 10), b", "b, slidingwindow('ss', 10)"])
def test_the_window_is_taken_out_of_group_by(form: str) -> None:
    statement = read(f"SELECT b, count(*) FROM t GROUP BY {form}")
    assert statement.window == Window.Sliding(TimeUnit.SECONDS, 10)
    assert [key.sql for key in statement.group_by_exprs] == ["b"]


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("a", "a"),
        ("`a b`", "a b"),
        ("t.a", "a"),
        ("s.x.y", "y"),
        ("a AS b", "b"),
        ("a b", "b"),
        ("a AS `b c`", "b c"),
        ("a + 1", "a + 1"),
        ("lag( a )", "lag(a)"),
        ("Lag(A) + 1", "Lag(A) + 1"),
        ("CAST( a AS INT )", "CAST(a AS INT)"),
    ],
)
def test_names_of_outputs(item: str, name: str) -> None:
    field, _ = read(f"SELECT {item}, lag(z) FROM t").select_fields
    assert field.name == name


@pytest.mark.parametrize(
    ("item", "qualifier", "excluded"),
    [("*", None, []), ("t.*", "t", []), ("* EXCEPT (a, b)", None, ["a", "b"]), ("t.* EXCEPT (a)", "t", ["a"])],
)
def test_stars(item: str, qualifier: str | None, excluded: list[str]) -> None:
    star, _ = read(f"SELECT {item}, lag(z) FROM t").select_fields
    assert isinstance(star, Star)
    assert (star.qualifier, [one.sql for one in star.excluded]) == (qualifier, excluded)


@pytest.mark.parametrize(
    ("clause", "emit"),
    [
        ("", None),
        ("EMIT CHANGES", Emit.CHANGES),
        ("emit on  window close", Emit.ON_WINDOW_CLOSE),
        ("EMIT IMMEDIATELY", Emit.IMMEDIATELY),
    ],
)
def test_emit(clause: str, emit: Emit | None) -> None:
    statement = read(f"SELECT count(*) FROM t GROUP BY tumblingwindow('ss', 10) {clause}")
    assert (statement.emit.emit if statement.emit else None) == emit


@pytest.mark.parametrize(
    ("source", "name", "alias"),
    [("t", "t", None), ("t x", "t", "x"), ("t AS x", "t", "x"), ("`my t` AS `x y`", "my t", "x y")],
)
def test_from_a_name(source: str, name: str, alias: str | None) -> None:
    relation = read(f"SELECT lag(a) FROM {source}").source
    assert isinstance(relation, NamedRelation)
    assert (relation.name, relation.alias) == (name, alias)


def test_from_a_sub_query() -> None:
    statement = read("SELECT count(*) FROM (SELECT lag(a) AS p FROM t WHERE b) AS x GROUP BY countwindow(2)")
    assert isinstance(statement.source, SubQuery) and statement.source.alias == "x"
    inner = statement.source.query
    assert isinstance(inner, SelectStmt) and len(inner.stateful_mappings) == 1
    assert set(inner.stateful_mappings).isdisjoint(statement.aggregate_mappings)


def test_with() -> None:
    statement = read("WITH x AS (SELECT lag(a) AS p FROM t), y AS (SELECT p FROM x) SELECT latest(p) FROM y")
    assert [cte.name for cte in statement.ctes] == ["x", "y"]
    names = [name for query in (statement, *(cte.query for cte in statement.ctes)) for name in query.stateful_mappings]
    assert sorted(names) == ["col_1", "col_2"]


def test_parentheses_around_a_query() -> None:
    assert read("((SELECT lag(a) FROM t))") == read("SELECT lag(a) FROM t")


@pytest.mark.parametrize(
    ("prefix", "format_"),
    [
        ("EXPLAIN", ExplainFormat.TEXT),
        ("explain format json", ExplainFormat.JSON),
        ("EXPLAIN FORMAT TEXT", ExplainFormat.TEXT),
    ],
)
@pytest.mark.parametrize("sql", ["SELECT lag(a) FROM t", "INSERT INTO o SELECT a FROM t", "SELECT a FROM t ORDER BY a"])
def test_explain(prefix: str, format_: ExplainFormat, sql: str) -> None:
    statement = read(f"{prefix} {sql}")
    assert isinstance(statement, Explain)
    assert (statement.format, statement.statement) == (format_, read(sql))


def test_late_rows_into() -> None:
    select = "SELECT lag(a) FROM t"
    statement = read(f"INSERT INTO out {select} LATE ROWS INTO `late one`")
    assert isinstance(statement, InsertInto)
    assert statement.late is not None and statement.late.sink == "late one"
    without = read(f"INSERT INTO out {select}")
    assert isinstance(without, InsertInto)
    assert (without.late, without.query) == (None, statement.query)


def test_insert() -> None:
    statement = read("INSERT INTO `out` WITH x AS (SELECT a FROM t) SELECT lag(a) FROM x EMIT IMMEDIATELY")
    assert isinstance(statement, InsertInto) and isinstance(statement.query, SelectStmt)
    assert (statement.sink, present(statement.query.emit).emit) == ("out", Emit.IMMEDIATELY)


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT a FROM t JOIN u USING (k)", ["t", "u"]),
        ("SELECT a FROM t, u", ["t", "u"]),
        ("SELECT k, count(*) FROM t GROUP BY k", ["t"]),
        ("SELECT max(a) FROM t", ["t"]),
        ("SELECT a FROM t UNION ALL SELECT a FROM u", ["t", "u"]),
        ("SELECT a FROM t ORDER BY a LIMIT 5", ["t"]),
        ("SELECT a FROM t WHERE a IN (SELECT b FROM u)", ["t", "u"]),
        ("SELECT a FROM db.t JOIN u ON db.t.k = u.k", ["db.t", "u"]),
        ("SELECT * FROM range(10)", []),
        ("SELECT struct(*) FROM t", ["t"]),
        ("VALUES (1, 2)", []),
        ("FROM t SELECT a", ["t"]),
        ("SELECT 1", []),
        ("SELECT window, count(*) FROM t GROUP BY window(ts, '10 seconds')", ["t"]),
    ],
)
def test_plain_queries_are_spark_s(sql: str, tables: list[str]) -> None:
    statement = read(sql)
    assert isinstance(statement, SparkStmt)
    assert (statement.sql, [table.name for table in statement.tables]) == (sql, tables)


def test_a_plain_select_has_no_construct() -> None:
    statement = read("SELECT a, b + 1 AS c FROM t WHERE d > 0")
    assert isinstance(statement, SelectStmt) and not statement.has_panes_construct


def test_with_in_front_of_a_spark_query() -> None:
    statement = read("WITH x AS (SELECT lag(a) AS p, k FROM t) SELECT p FROM x JOIN u USING (k)")
    assert isinstance(statement, SparkStmt)
    assert [cte.name for cte in statement.ctes] == ["x"]
    assert isinstance(statement.ctes[0].query, SelectStmt)


@pytest.mark.parametrize("depth", [10, 60])
def test_nested_deeply(depth: int) -> None:
    read(f"SELECT lag({'(' * depth}a{')' * depth}) FROM t")


@pytest.mark.parametrize(
    ("sql", "code", "place"),
    [
        ("MERGE INTO t", "parse-error", "MERGE"),
        ("SELECT", "parse-error", "SELECT"),
        ("()", "parse-error", "()"),
        ("SELECT a FROM t x y", "parse-error", "x y"),
        ("SELECT (a FROM t", "parse-error", "("),
        ("SELECT lag(a), FROM t", "parse-error", "SELECT"),
        ("SELECT lag(a) lag(b) FROM t", "parse-error", "lag(b)"),
        ("SELECT a AS lag(b) FROM t", "parse-error", "lag(b)"),
        ("SELECT * x, lag(a) FROM t", "parse-error", "* x"),
        ("SELECT * EXCEPT (), lag(a) FROM t", "parse-error", "* EXCEPT ()"),
        ("SELECT a FROM t JOIN", "parse-error", "JOIN"),
        ("EXPLAIN", "parse-error", "EXPLAIN"),
        ("EXPLAIN FORMAT YAML SELECT 1", "parse-error", "YAML"),
        ("EXPLAIN SHOW STREAMS", "unsupported-clause", "SHOW"),
        ("INSERT INTO o", "parse-error", "INSERT INTO o"),
        ("INSERT o SELECT a FROM t", "parse-error", "INSERT o SELECT a FROM t"),
        ("WITH x AS (SELECT a FROM t)", "parse-error", "WITH x AS (SELECT a FROM t)"),
        ("WITH x AS () SELECT a FROM x", "parse-error", "x"),
        ("WITH x (a) AS (SELECT a FROM t) SELECT a FROM x", "parse-error", "("),
        ("WITH x AS (SELECT 1), X AS (SELECT 2) SELECT * FROM x", "duplicate-name", "X"),
        ("SELECT lag(a)", "unsupported-clause", "lag(a)"),
        ("SELECT lag(a) FROM range(10)", "unsupported-clause", "range(10)"),
        ("SELECT lag(a) FROM db.t", "unsupported-clause", "db.t"),
        ("SELECT lag(a) FROM t, u", "unsupported-clause", "u"),
        ("SELECT lag(a) FROM t LEFT JOIN u USING (k)", "unsupported-clause", "LEFT"),
        ("SELECT lag(a) FROM t UNION SELECT a FROM t", "unsupported-clause", "UNION"),
        ("SELECT a FROM t UNION SELECT lag(a) FROM t", "unsupported-clause", "lag(a)"),
        ("SELECT a FROM t UNION SELECT a FROM t EMIT CHANGES", "unsupported-clause", "UNION"),
        ("SELECT a FROM t WHERE a IN (SELECT lag(a) FROM u)", "unsupported-clause", "SELECT"),
        ("SELECT lag(a) AS (x, y) FROM t", "unsupported-clause", "lag(a) AS (x, y)"),
        ("SELECT lag(a), struct(*) FROM t", "unsupported-clause", "*"),
        ("SELECT sum(a), lag(a) FROM t", "unsupported-clause", "sum(a)"),
        ("SELECT a FROM t QUALIFY a > 1", "unsupported-clause", "QUALIFY"),
    ],
)
def test_refused(sql: str, code: str, place: str) -> None:
    with pytest.raises(PanesError) as caught:
        parse(sql)
    assert (caught.value.code, present(caught.value.span).text) == (code, place)


def test_what_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(PanesError) as caught:
        parse("SELECT lag(" + "(" * 5000 + "a" + ")" * 5000 + ") AS x FROM t")
    assert caught.value.code == "parse-error"
