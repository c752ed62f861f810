"""Emit on window close: what completes and can be forgotten is accepted, the rest is refused."""

from __future__ import annotations

import pytest
from planning import catalog, operators, refused

from panes.compile import compile_query
from panes.errors import PanesError
from panes.functions import Functions
from panes.functions.over import OverFunction, Reach
from panes.functions.signature import Param, Signature

FOLLOWING = "RANGE BETWEEN CURRENT ROW AND INTERVAL 1 HOUR FOLLOWING"
WINDOWS = "(SELECT k, window_start() AS b, window_end() AS e, count(*) AS c FROM t GROUP BY {}, k)"
TUMBLING = WINDOWS.format("tumblingwindow('ss', 10)")
SESSIONS = WINDOWS.format("sessionwindow('ss', 10)")

ACCEPTED = [
    *(f"{call} OVER (PARTITION BY k ORDER BY ts)" for call in ("row_number()", "rank()", "dense_rank()")),
    *(f"{call} OVER (PARTITION BY k ORDER BY ts)" for call in ("lag(a)", "lag(a, 3, 0)", "lead(a)", "nth_value(a, 2)")),
    *(f"{call} OVER (PARTITION BY k ORDER BY ts)" for call in ("first_value(a)", "last_value(a)", "sum(a)", "avg(v)")),
    "sum(a) OVER (ORDER BY ts)",
    "sum(a) OVER (ORDER BY TS, v DESC)",
    "sum(a) OVER (PARTITION BY upper(k) ORDER BY t.ts)",
    "sum(a) OVER (PARTITION BY k ORDER BY ts ROWS 3 PRECEDING)",
    "sum(a) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING)",
    "sum(a) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW)",
    f"sum(a) OVER (PARTITION BY k ORDER BY ts {FOLLOWING})",
    "approx_count_distinct(a) OVER (PARTITION BY k ORDER BY ts)",
    "min_by(a, v) OVER (PARTITION BY k ORDER BY ts)",
    *(
        f"{call} OVER (PARTITION BY k ORDER BY ts ROWS 9 PRECEDING)"
        for call in ("count(DISTINCT a)", "collect_list(a)", "collect_set(a)", "median(v)", "percentile(v, 0.5)")
    ),
]
REFUSED = [
    "sum(a) OVER (PARTITION BY k)",
    "count(*) OVER (PARTITION BY k ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    "sum(a) OVER (PARTITION BY k ORDER BY v)",
    "sum(a) OVER (PARTITION BY k ORDER BY v, ts)",
    "sum(a) OVER (PARTITION BY k ORDER BY ts DESC)",
    "sum(a) OVER (PARTITION BY k ORDER BY ts + INTERVAL 1 SECOND)",
    "sum(a) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
    "sum(a) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    *(f"{call} OVER (PARTITION BY k ORDER BY ts)" for call in ("percent_rank()", "cume_dist()", "ntile(4)")),
    *(
        f"{call} OVER (PARTITION BY k ORDER BY ts{frame})"
        for call in ("count(DISTINCT a)", "sum(DISTINCT a)", "collect_list(a)", "collect_set(a)", "percentile(v, 0.5)")
        for frame in ("", " ROWS UNBOUNDED PRECEDING", " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING")
    ),
    "median(v) OVER (PARTITION BY k ORDER BY ts)",
    "array_agg(v) OVER (PARTITION BY k ORDER BY ts)",
]


def test_a_pick_that_no_running_value_stands_for_needs_a_bounded_frame() -> None:
    functions = Functions()
    middle = OverFunction("middle", Reach.FRAME, Signature((Param("x"),)), holds_rows=True)
    functions.over.register(middle.name, middle)
    query = "SELECT middle(a) OVER (PARTITION BY k ORDER BY ts {}) FROM {}"
    for frame, source in (("ROWS 3 PRECEDING", "t"), ("", "t EMIT CHANGES"), ("", "files")):
        compile_query(query.format(frame, source), catalog(), functions)
    with pytest.raises(PanesError, match="middle over UNBOUNDED PRECEDING keeps all rows forever") as caught:
        compile_query(query.format("", "t"), catalog(), functions)
    assert caught.value.code == "unbounded-state"


@pytest.mark.parametrize("call", ACCEPTED)
def test_accepted(call: str) -> None:
    assert [one.placement.emit.value for one in operators(f"SELECT {call} FROM t")] == ["on-window-close"]


@pytest.mark.parametrize("call", REFUSED)
def test_refused_unless_something_bounds_it(call: str) -> None:
    assert refused(f"SELECT {call} FROM t") == "unbounded-state"
    for source in ("t EMIT CHANGES", "files", "changes"):
        operators(f"SELECT {call} FROM {source}".replace("t.ts", "ts"))


@pytest.mark.parametrize("call", [*ACCEPTED, *REFUSED])
def test_one_call_that_cannot_complete_spoils_the_rest(call: str) -> None:
    sql = f"SELECT {call}, percent_rank() OVER (PARTITION BY k ORDER BY ts) FROM t"
    assert refused(sql) == "unbounded-state"


# ── Time ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(a) OVER (ORDER BY ts) FROM arrivals",
        "SELECT sum(a) OVER (ORDER BY a) FROM (SELECT a FROM t)",
        "SELECT sum(c) OVER (ORDER BY e) FROM (SELECT count(*) AS c, window_end() AS e FROM t GROUP BY countwindow(2))",
        "SELECT sum(l) OVER (ORDER BY ts) FROM (SELECT ts, lead(a) OVER (ORDER BY ts) AS l FROM t)",
        f"SELECT sum(l) OVER (ORDER BY ts) FROM (SELECT ts, sum(a) OVER (ORDER BY ts {FOLLOWING}) AS l FROM t)",
        "SELECT sum(c) OVER (PARTITION BY k ORDER BY e) FROM "
        "(SELECT k, count(*) AS c, window_end() AS e FROM arrivals GROUP BY tumblingwindow('ss', 1), k)",
        "SELECT count(*) FROM (SELECT a FROM t) GROUP BY tumblingwindow('ss', 1)",
        "SELECT count(*) FROM (SELECT a FROM t) GROUP BY slidingwindow('ss', 1)",
        "SELECT count(*) FROM (SELECT ts, lead(a) OVER (ORDER BY ts) FROM t) GROUP BY sessionwindow('ss', 1)",
        "SELECT count(*) FROM rows GROUP BY hoppingwindow('ss', 2, 1)",
        "SELECT window_end() FROM rows GROUP BY countwindow(2)",
        "SELECT window_end() FROM (SELECT a FROM t) GROUP BY statewindow(a > 0, a < 0)",
        "SELECT lag(a) FROM (SELECT a FROM t)",
        "SELECT count(*) FROM (SELECT a FROM t) GROUP BY countwindow(2)",
    ],
)
def test_time_is_required(sql: str) -> None:
    assert refused(sql) == "watermark-required"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM arrivals GROUP BY tumblingwindow('ss', 1)",
        "SELECT count(*) FROM arrivals GROUP BY slidingwindow('ss', 1)",
        "SELECT window_end() FROM arrivals GROUP BY countwindow(2)",
        "SELECT sum(a) OVER (PARTITION BY k) FROM rows",
        "SELECT sum(r) OVER (ORDER BY at) FROM (SELECT ts AS at, rank() OVER (ORDER BY ts) AS r FROM t)",
    ],
)
def test_time_is_not_required(sql: str) -> None:
    operators(sql)


# ── Derived streams ───────────────────────────────────────────────────────────────────────────────────────────────

ANYTHING = [
    "rank() OVER (PARTITION BY {} ORDER BY c DESC)",
    "percent_rank() OVER (PARTITION BY {} ORDER BY c)",
    "sum(c) OVER (PARTITION BY {})",
    "collect_list(c) OVER (PARTITION BY k, {} ORDER BY c)",
    "lead(c) OVER (PARTITION BY {} ORDER BY k)",
    "sum(c) OVER (PARTITION BY {} ORDER BY c ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
]


@pytest.mark.parametrize("call", ANYTHING)
@pytest.mark.parametrize(
    ("windows", "bound"),
    [
        (TUMBLING, "b"),
        (TUMBLING, "e"),
        (WINDOWS.format("hoppingwindow('ss', 9, 4)"), "b"),
        (SESSIONS, "e"),
        (TUMBLING.replace("FROM t", "FROM arrivals"), "e"),
    ],
)
def test_anything_goes_where_the_partition_closes_with_its_window(call: str, windows: str, bound: str) -> None:
    over = operators(f"SELECT {call.format(bound)} FROM {windows}")[0]
    assert over.closes_with_window and not over.waits_for_rows


@pytest.mark.parametrize("call", ANYTHING)
def test_the_same_in_one_select(call: str) -> None:
    sql = call.format("window_start()").replace("(c)", "(sum(a))").replace("BY c", "BY sum(a)")
    over = operators(f"SELECT {sql} FROM t GROUP BY tumblingwindow('ss', 10), k")[0]
    assert over.closes_with_window
    assert over.placement.mode.value == "event_time"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT rank() OVER (PARTITION BY b ORDER BY c) FROM {SESSIONS}",  # another key's session may go on
        f"SELECT rank() OVER (PARTITION BY k ORDER BY c) FROM {TUMBLING}",
        f"SELECT rank() OVER (PARTITION BY date(e) ORDER BY c) FROM {TUMBLING}",
        f"SELECT rank() OVER (ORDER BY b) FROM {SESSIONS}",
    ],
)
def test_other_partitions_keep_the_rules(sql: str) -> None:
    assert refused(sql) == "unbounded-state"


@pytest.mark.parametrize(("windows", "order"), [(TUMBLING, "b"), (TUMBLING, "e"), (SESSIONS, "e")])
def test_a_bound_in_time_order_is_as_good_as_the_time(windows: str, order: str) -> None:
    over = operators(f"SELECT sum(c) OVER (PARTITION BY k ORDER BY {order} ROWS 3 PRECEDING) FROM {windows}")[0]
    assert not over.closes_with_window
