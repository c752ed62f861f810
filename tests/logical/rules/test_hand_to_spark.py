"""A query without a Panes construct is Spark's: it goes there whole."""

from __future__ import annotations

import pytest
from planning import bound, catalog, compiled, logical_nodes, node_names

from panes.catalog import Catalog
from panes.logical.plan import SparkQuery
from panes.logical.rules import optimise
from panes.logical.rules.hand_to_spark import hand_to_spark
from panes.sql.template import quoted


def spark_sql(sql: str, known: Catalog | None = None) -> str:
    query = compiled(sql, known).logical.input
    assert isinstance(query, SparkQuery)
    return query.sql


@pytest.mark.parametrize(
    ("sql", "handed"),
    [
        ("SELECT a FROM t", "SELECT a FROM `t`"),
        ("SELECT A, a AS x FROM T", "SELECT A, a AS `x` FROM `t`"),
        ("SELECT q.a + 1 AS x FROM t q WHERE q.b > 0", "SELECT a + 1 AS `x` FROM `t` WHERE (b > 0)"),
        ("SELECT a FROM t WHERE a > 0 AND (b > 0 OR ok)", "SELECT a FROM `t` WHERE (a > 0) AND (b > 0 OR ok)"),
        ("SELECT a, a, a AS x, b AS x FROM t", "SELECT a, a, a AS `x`, b AS `x` FROM `t`"),
        ("SELECT a + 1 FROM t", "SELECT a + 1 AS `a + 1` FROM `t`"),
        ("SELECT s.x FROM t", "SELECT s.x AS `x` FROM `t`"),
        ("SELECT * EXCEPT (s, ok) FROM t", "SELECT ts, k, a, b, v FROM `t`"),
        ("SELECT `a b` AS `x``y` FROM odd WHERE `a b` > 0", "SELECT `a b` AS `x``y` FROM `odd` WHERE (`a b` > 0)"),
        ("SELECT * FROM odd", "SELECT `a b`, `x``y` FROM `odd`"),
        (
            "SELECT x FROM (SELECT a + 1 AS x, b FROM t WHERE ok) q WHERE q.x > 0",
            "SELECT x FROM (SELECT a + 1 AS `x` FROM `t` WHERE (ok)) WHERE (x > 0)",
        ),
        (
            "SELECT n FROM (SELECT name AS n FROM t JOIN dim USING (k)) WHERE n > ''",
            "SELECT n FROM (SELECT name AS n FROM t JOIN dim USING (k)) WHERE (n > '')",
        ),
    ],
)
def test_the_text_for_spark(sql: str, handed: str) -> None:
    assert spark_sql(sql) == handed


def test_views_and_ctes_are_written_out() -> None:
    known = catalog(("one", "SELECT k, a AS c FROM t WHERE ok"))
    handed = "SELECT c FROM (SELECT c FROM (SELECT a AS `c` FROM `t` WHERE (ok) AND (a > 0)))"
    assert spark_sql("WITH x AS (SELECT c FROM one) SELECT c FROM x WHERE c > 0", known) == handed


def test_its_inputs_are_the_streams_it_reads() -> None:
    query = compiled("SELECT name FROM (SELECT ts, name FROM t JOIN dim USING (k)) WHERE name > ''").logical.input
    assert isinstance(query, SparkQuery)
    assert [name for name, _ in query.inputs] == ["t", "dim"]
    assert [column.name for column in query.columns or ()] == ["name"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, lag(a) FROM t WHERE b > 0",
        "SELECT a FROM (SELECT a, lag(a) FROM t)",
        "SELECT lag(a) FROM (SELECT a FROM t WHERE b > 0)",  # a removed row still moves the watermark
        "SELECT k FROM changes WHERE a > 0",  # an update may become a delete
        "SELECT sum(a) OVER (PARTITION BY k) FROM files",
    ],
)
def test_not_with_a_construct_nor_over_a_changelog(sql: str) -> None:
    plan = bound(sql)
    assert hand_to_spark(plan) == plan
    assert "SparkQuery" not in node_names(logical_nodes(optimise(plan)))


def test_quoted() -> None:
    assert quoted("a`b c") == "`a``b c`"
