"""The logical plan as rows for EXPLAIN."""

from __future__ import annotations

import pytest
from planning import bound, logical_nodes

from panes.explain import info_text, table
from panes.logical.explain import rows
from panes.logical.rules import optimise


def info(sql: str, node: str) -> str:
    """What EXPLAIN says about the first node of that name."""
    found = [one for one in logical_nodes(optimise(bound(sql))) if type(one).__name__ == node]
    return info_text(rows(found[0]).info)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("tumblingwindow('ss', 10)", "kind=tumbling, unit=ss, length=10"),
        ("hoppingwindow('mi', 10, 5)", "kind=hopping, unit=mi, size=10, hop=5"),
        ("sessionwindow('hh', 1)", "kind=session, unit=hh, gap=1"),
        ("countwindow(3)", "kind=count, count=3, every=none, partition_by=[]"),
        ("countwindow(3, 1) OVER (PARTITION BY k)", "kind=count, count=3, every=1, partition_by=[k]"),
        ("slidingwindow('ss', 10)", "kind=sliding, unit=ss, lookback=10, lookahead=none, partition_by=[]"),
        (
            "slidingwindow('ss', 10, 0) OVER (PARTITION BY k WHEN ok)",
            "kind=sliding, unit=ss, lookback=10, lookahead=0, when=ok, partition_by=[k]",
        ),
        ("statewindow(a > 0, ok)", "kind=state, open=a > 0, emit=ok, partition_by=[]"),
    ],
)
def test_windows(window: str, expected: str) -> None:
    assert info(f"SELECT count(*) FROM t GROUP BY {window}", "Window") == expected


@pytest.mark.parametrize(
    ("sql", "node", "expected"),
    [
        ("SELECT lag(a) FROM t", "StatefulFunction", "calls=[lag(a) -> col_1]"),
        (
            "SELECT lag(a, 2) IGNORE NULLS FILTER (WHERE ok) OVER (PARTITION BY k) FROM t",
            "StatefulFunction",
            "calls=[lag(a, 2) IGNORE NULLS FILTER (WHERE ok) PARTITION BY k -> col_1]",
        ),
        ("SELECT lag(a) FROM t", "DataSource", "stream=t, columns=[ts, k, a]"),
        ("SELECT lag(a) FROM t WHERE a > 0 AND ok", "Filter", "predicates=[a > 0, ok]"),
        ("SELECT lag(a), k AS x, k FROM t", "Project", "fields=[col_1 -> lag(a), k -> x, k]"),
        (
            "SELECT sum(lag(a)) FROM t GROUP BY tumblingwindow('ss', 1), k, upper(k)",
            "Aggregation",
            "keys=[k, upper(k) -> col_3], aggregates=[sum(col_1) -> col_2]",
        ),
        (
            "SELECT * FROM t GROUP BY tumblingwindow('ss', 1), k",
            "Window",
            "kind=tumbling, unit=ss, length=1, keys=[k]",
        ),
        (
            "SELECT window_end(), window_start() FROM t GROUP BY tumblingwindow('ss', 1)",
            "Window",
            "kind=tumbling, unit=ss, length=1, bounds=[window_end() -> col_1, window_start() -> col_2]",
        ),
        (
            "SELECT sum(a) OVER (PARTITION BY k ORDER BY v DESC, a NULLS LAST ROWS 2 PRECEDING) FROM files",
            "OverWindow",
            "partition_by=[k], order_by=[v DESC, a NULLS LAST], "
            "calls=[sum(a) ROWS BETWEEN 2 PRECEDING AND CURRENT ROW -> col_1]",
        ),
        (
            "SELECT rank() OVER (ORDER BY v) AS r FROM files QUALIFY r <= 2",
            "OverWindow",
            "partition_by=[], order_by=[v], calls=[rank() -> col_1], top_n=col_1 <= 2",
        ),
        ("SELECT a FROM t WHERE ok", "SparkQuery", "sql=SELECT a FROM `t` WHERE (ok)"),
        ("INSERT INTO out SELECT a FROM t", "DataSink", "sink=out"),
        ("SELECT rank() OVER (ORDER BY a) FROM t EMIT CHANGES", "DataSink", "sink=result, emit=changes"),
    ],
)
def test_nodes(sql: str, node: str, expected: str) -> None:
    assert info(sql, node) == expected


def test_hidden_columns_are_marked() -> None:
    sql = "SELECT lag(c) FROM (SELECT count(*) AS c FROM t GROUP BY tumblingwindow('ss', 1))"
    assert "(hidden)" in table(rows(optimise(bound(sql))))
