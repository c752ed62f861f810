"""What columns and rows are, written out: the same for queries that compute the same, another for those that do not."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from planning import catalog, compiled

from panes.physical import plan as physical
from panes.physical.lineage import definitions, result_of, source_of, written_out


def source(sql: str) -> dict[str, Any]:
    sink = compiled(sql).physical
    assert isinstance(sink, physical.DataSink)
    return source_of(sink)


def over_window(call: str) -> dict[str, Any]:
    """The rows that an operator above a window sees."""
    return source(f"SELECT * FROM (SELECT k, count(*) AS n FROM t GROUP BY {call}, k)")


SAME = (
    ("tumblingwindow('ss', 120)", "tumblingwindow('mi', 2)", "tumblingwindow(INTERVAL 120 SECONDS)"),
    ("tumblingwindow('dd', 1)", "tumblingwindow('hh', 24)", "tumblingwindow('dd', 1, offset => INTERVAL 0 DAYS)"),
    (
        "hoppingwindow('ss', 10, 2, offset => INTERVAL 1 SECOND)",
        "hoppingwindow('seconds', 10, 2, offset => INTERVAL -1000 MILLISECONDS)",
    ),
    (
        "tumblingwindow('dd', 1, zone => 'Europe/Berlin', offset => INTERVAL 8 HOURS)",
        "tumblingwindow(INTERVAL 24 HOURS, zone => 'Europe/Berlin', offset => INTERVAL -16 HOURS)",
    ),
    ("sessionwindow('ss', 60)", "sessionwindow('mi', 1)"),
    ("countwindow(4, 2) OVER (PARTITION BY k)", "countwindow(4, 2) OVER (PARTITION BY K)"),
    ("slidingwindow('ss', 60, 0)", "slidingwindow('mi', 1, 0)", "slidingwindow(INTERVAL 1 MINUTE, INTERVAL 0 MINUTES)"),
    ("slidingwindow('mi', 1) OVER (WHEN a>1)", "slidingwindow('ss', 60) OVER (WHEN A > 1)"),
    ("statewindow(a>1, (b > 2)) OVER (PARTITION BY k)", "statewindow(a > 1, B > 2) OVER (PARTITION BY k)"),
)  # fmt: skip
OTHERS = (
    "tumblingwindow('ss', 60)",
    "tumblingwindow('dd', 1, zone => 'Europe/Berlin')",
    "tumblingwindow('dd', 1, zone => 'Asia/Tokyo')",
    "hoppingwindow('ss', 10, 2)",
    "hoppingwindow('ss', 10, 5)",
    "hoppingwindow('ss', 20, 5)",
    "sessionwindow('ss', 61)",
    "countwindow(4) OVER (PARTITION BY k)",
    "countwindow(4)",
    "slidingwindow('ss', 60)",
    "slidingwindow('ss', 60, 1)",
    "statewindow(a > 1, b > 3) OVER (PARTITION BY k)",
)


@pytest.mark.parametrize("calls", SAME)
def test_a_window_is_known_by_what_it_holds_not_by_how_it_is_spelled(calls: tuple[str, ...]) -> None:
    assert all(over_window(one) == over_window(other) for one, other in pairwise(calls))


def test_other_windows_are_others() -> None:
    calls = (*(calls[0] for calls in SAME), *OTHERS)
    texts = [str(over_window(call)) for call in calls]
    assert len(set(texts)) == len(calls)


def test_what_where_keeps_is_in_the_source_in_any_order() -> None:
    over = "sum({}) OVER (PARTITION BY k ORDER BY ts)"
    one = source(f"SELECT {over.format('x')} FROM (SELECT a AS x, k, ts FROM t WHERE b > 1) WHERE x > 0")
    assert one == source(f"SELECT {over.format('A')} FROM T WHERE a > 0 AND b>1")
    assert one == {"stream": "t", "where": ["a > 0", "b > 1"]}


def test_a_top_n_is_in_the_source_and_another_over_is_not() -> None:
    over = "SELECT k, {} OVER (PARTITION BY k ORDER BY ts) AS n FROM t"
    assert source(f"SELECT * FROM ({over.format('sum(v)')})") == {"stream": "t"}
    top = source(f"SELECT * FROM ({over.format('row_number()')}) WHERE n <= 3")
    number = "row_number() over (partition by k order by ts asc nulls first)"
    assert (top["top"], top["of"]) == ([number, 3], {"stream": "t"})


def test_columns_are_what_they_are_computed_from() -> None:
    sink = compiled(
        """SELECT key, sum(y) AS s, window_end() AS until
           FROM (SELECT k AS key, ts, lag(x + 1) OVER (PARTITION BY k) AS y FROM (SELECT k, ts, a AS x FROM t))
           GROUP BY tumblingwindow('ss', 10), key"""
    ).physical
    assert isinstance(sink, physical.DataSink)
    found = definitions(sink.input)
    assert found["key"] == "k"
    assert found["s"] == "sum(lag(a + 1) over (partition by k))"
    assert found["until"] == "window_end()"


def test_calls_differ_by_all_that_they_say() -> None:
    calls = ("sum(v)", "sum(DISTINCT v)", "sum(v) FILTER (WHERE ok)", "first(v)", "first(v) IGNORE NULLS",
             "listagg(k) WITHIN GROUP (ORDER BY a)", "listagg(k) WITHIN GROUP (ORDER BY a DESC)")  # fmt: skip
    fields = ", ".join(f"{call} AS c{i}" for i, call in enumerate(calls))
    sink = compiled(f"SELECT {fields} FROM t GROUP BY tumblingwindow('ss', 10)").physical
    assert isinstance(sink, physical.DataSink)
    texts = [definitions(sink.input)[f"c{i}"] for i in range(len(calls))]
    assert len(set(texts)) == len(calls)
    assert texts[-1] == "listagg(k) within group (order by a desc nulls last)"


def test_frames_are_in_what_a_call_is() -> None:
    over = "sum(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN {} PRECEDING AND CURRENT ROW)"
    sink = compiled(f"SELECT {over.format(1)} AS x, {over.format(2)} AS y FROM t").physical
    assert isinstance(sink, physical.DataSink)
    found = definitions(sink.input)
    assert found["x"] != found["y"]


def test_the_result_has_names_and_what_having_keeps() -> None:
    sink = compiled("SELECT k, sum(v) AS S FROM t GROUP BY tumblingwindow('ss', 10), k HAVING sum(v) > 0").physical
    assert isinstance(sink, physical.DataSink)
    assert result_of(sink) == {"select": [["k", "k"], ["s", "sum(v)"]], "where": ["(sum(v)) > 0"]}


def test_expressions_are_written_out_in_one_spelling() -> None:
    assert written_out("X *2", {"x": "a + 1"}) == "(a + 1) * 2" == written_out("x*2 -- twice", {"x": "a + 1"})
    assert written_out("s.x", {}) == "s.x"


def test_a_view_is_what_it_says() -> None:
    known = catalog(("recent", "SELECT k, ts, a AS z FROM t WHERE b > 1"))
    sink = compiled("SELECT lag(z) OVER (PARTITION BY k) AS y FROM recent", known).physical
    assert isinstance(sink, physical.DataSink)
    assert source_of(sink) == {"stream": "t", "where": ["b > 1"]}
