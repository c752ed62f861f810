"""Only needed columns leave the source."""

from __future__ import annotations

import pytest
from planning import bound, logical_nodes

from panes.logical.plan import DataSource, Project
from panes.logical.rules.prune_columns import prune_columns


def read(sql: str) -> str:
    """The columns that leave the first source."""
    plan = prune_columns(bound(sql))
    return " ".join(next(node for node in logical_nodes(plan) if isinstance(node, DataSource)).columns)


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT a FROM t", "a"),
        ("SELECT A FROM t WHERE B > 0", "a b"),
        ("SELECT * FROM t", "ts k a b v ok s"),
        ("SELECT 1 FROM t", "ts"),  # no column is needed, but rows are
        ("SELECT s.x FROM t", "s"),
        ("SELECT a FROM (SELECT a, b FROM t WHERE ok)", "a ok"),
        ("SELECT 1 FROM (SELECT b, a FROM t)", "b"),
        # Order and time: what keeps state reads the time and the key besides its arguments.
        ("SELECT lag(a) FROM t", "ts k a"),
        ("SELECT lag(a) OVER (PARTITION BY b WHEN ok) FROM t", "ts k a b ok"),
        ("SELECT lag(a) FROM arrivals", "a"),
        ("SELECT count(*) FROM t GROUP BY tumblingwindow('ss', 1)", "ts k"),
        ("SELECT sum(v) FILTER (WHERE ok) FROM t GROUP BY tumblingwindow('ss', 1), a + b", "ts k a b v ok"),
        ("SELECT a FROM t GROUP BY statewindow(ok, b > 0) OVER (PARTITION BY s.x)", "ts k a b ok s"),
        ("SELECT a FROM t GROUP BY slidingwindow('ss', 1) OVER (PARTITION BY b WHEN ok)", "ts k a b ok"),
        ("SELECT count(*) FROM t GROUP BY countwindow(2) OVER (PARTITION BY b)", "ts k b"),
        ("SELECT sum(a) OVER (PARTITION BY b ORDER BY ts, v) FROM t", "ts k a b v"),
        ("SELECT count(*) FROM (SELECT lag(a) AS x, b FROM t) GROUP BY countwindow(2)", "ts k a"),
        ("SELECT x FROM (SELECT a AS x, b AS y, v AS y FROM t)", "a"),
        # A changelog is nothing without its key and sequence.
        ("SELECT a FROM changes", "k a b"),
        ("SELECT rank() OVER (ORDER BY a) FROM (SELECT a FROM changes WHERE ok)", "k a b ok"),
        ("SELECT t.a FROM t JOIN dim USING (k)", "ts k a b v ok s"),
    ],
)
def test_columns_read(sql: str, columns: str) -> None:
    assert read(sql) == columns


def projects(sql: str) -> list[list[str]]:
    plan = prune_columns(bound(sql))
    return [[field.name for field in node.fields] for node in logical_nodes(plan) if isinstance(node, Project)]


def test_hidden_columns_go_where_nobody_asks() -> None:
    grouped = "SELECT count(*) AS c FROM t GROUP BY tumblingwindow('ss', 1), k"
    assert projects(f"SELECT c FROM ({grouped})") == [["c"], ["c"]]
    (outer, inner) = projects(f"SELECT lag(c) AS l FROM ({grouped})")
    assert outer == ["l"]
    assert len(inner) == 3  # c, the window's end and the group key: time and ties


def test_outputs_are_never_dropped() -> None:
    assert projects("SELECT a AS x, b AS x, a AS y FROM t") == [["x", "x", "y"]]


def test_spark_sees_no_hidden_columns() -> None:
    sql = """WITH c AS (SELECT k, count(*) AS n FROM t GROUP BY tumblingwindow('ss', 1), k)
             SELECT * FROM c JOIN dim USING (k)"""
    assert projects(sql) == [["k", "n"]]


def test_nothing_to_prune() -> None:
    plan = bound("SELECT ts, k, a, b, v, ok, s, lag(a) FROM t")
    assert prune_columns(plan) == plan
