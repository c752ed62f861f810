"""What the promise covers of a query and its rows."""

from __future__ import annotations

import pytest

from panes.catalog import Catalog
from panes.compile import compile_query
from panes.functions import Functions
from panes.script import steps
from panes.testing.promise import Freedom, covered, late_rows
from panes.testing.variants import Arrival

STREAMS = """
CREATE STREAM t (k STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 SECOND);
CREATE STREAM a (k STRING, v INT);
CREATE STREAM c (k STRING, v INT, PRIMARY KEY (k)) WITH (changelog = 'true');
"""
SECOND = 1_000_000


def freedom(sql: str, *seconds: int) -> Freedom:
    catalog, functions = Catalog(), Functions()
    list(steps(STREAMS, catalog, functions))
    rows = tuple(Arrival("t", (), one * SECOND) for one in seconds)
    return covered(compile_query(sql, catalog, functions).physical, (rows,), {"t": SECOND, "a": None}).freedom


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k", Freedom.ORDER),
        ("SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k EMIT CHANGES", Freedom.ORDER),
        ("SELECT lag(v) OVER (PARTITION BY k) AS b FROM t", Freedom.ORDER),
        ("SELECT k, v FROM t WHERE v > 1", Freedom.ORDER),
        ("SELECT lag(v) OVER (PARTITION BY k) AS b FROM t EMIT IMMEDIATELY", Freedom.CUTS),
        ("SELECT lag(v) OVER (PARTITION BY k) AS b FROM a", Freedom.CUTS),
        ("SELECT count(*) AS n FROM a GROUP BY countwindow(2)", Freedom.CUTS),
        ("SELECT k, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM c", Freedom.CUTS),
        ("SELECT count(*) AS n, window_end() AS e FROM a GROUP BY countwindow(2)", Freedom.RESTARTS),
        ("SELECT k, sum(v) AS s FROM a GROUP BY tumblingwindow('ss', 10), k", Freedom.RESTARTS),
        ("SELECT count(*) AS n FROM a GROUP BY slidingwindow('ss', 10)", Freedom.RESTARTS),
    ],
)
def test_what_may_differ(sql: str, wanted: Freedom) -> None:
    assert freedom(sql, 1, 5, 4) == wanted


def test_late_rows_leave_restarts() -> None:
    sql = "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k"
    assert freedom(sql, 5, 3) == Freedom.RESTARTS
    assert freedom("SELECT k FROM t", 5, 3) == Freedom.ORDER


def test_a_row_is_late_if_it_is_older_than_the_largest_time_less_the_delay() -> None:
    rows = [Arrival("t", (), time) for time in (10, None, 5, 4, 20, 15, 14)]
    assert late_rows(rows, 5) == 2
    assert late_rows(rows, None) == 0
