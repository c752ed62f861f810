"""Derived streams: which results keep a time, a key and bounds, and under which names."""

from __future__ import annotations

import pytest
from planning import bound, catalog, selected_from

from panes.catalog import Catalog
from panes.logical.plan import Filter, Window
from panes.logical.traits import Clock, Traits, traits

TUMBLING = "tumblingwindow('ss', 10)"


def inner(query: str, known: Catalog | None = None) -> Traits:
    """The traits of a sub-query, as the query around it sees them."""
    plan = bound(f"SELECT 1 FROM ({query}) q GROUP BY countwindow(1)", known)
    window = selected_from(plan)
    assert isinstance(window, Window)
    return traits(window.input)


def shown(name: str | None, found: Traits) -> str | None:
    """A column's name, or `hidden` for one that only the plan knows."""
    return "hidden" if name is not None and name in found.hidden else name


# ── Time ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "time"),
    [
        ("SELECT ts, a FROM t", "ts"),
        ("SELECT a FROM t", None),
        ("SELECT ts AS at, a FROM t", "at"),
        ("SELECT TS FROM t", "ts"),
        ("SELECT q.ts FROM t q", "ts"),
        ("SELECT ts + INTERVAL 1 SECOND AS ts FROM t", None),
        ("SELECT ts AS x, a AS x FROM t", "hidden"),  # selected, but nobody can name it
        ("SELECT ts, ts AS copy FROM t", "ts"),
        ("SELECT at FROM (SELECT ts AS at FROM t) WHERE at IS NOT NULL", "at"),
        ("SELECT ts, lag(a) AS l FROM t", "ts"),
        ("SELECT ts, sum(a) OVER (PARTITION BY k ORDER BY ts) AS s FROM t", "ts"),
        ("SELECT ts, sum(a) OVER (PARTITION BY k ORDER BY ts ROWS 3 PRECEDING) AS s FROM t", "ts"),
        ("SELECT ts, lead(a) OVER (PARTITION BY k ORDER BY ts) AS s FROM t", None),
        ("SELECT ts, sum(a) OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM t", None),
        # Its rows come out long after the watermark has passed them: no later window could wait for them.
        (
            "SELECT ts, sum(a) OVER (ORDER BY ts RANGE BETWEEN CURRENT ROW AND INTERVAL 1 DAY FOLLOWING) AS s FROM t",
            None,
        ),
        ("SELECT count(*) AS c, window_end() AS e FROM t GROUP BY countwindow(3)", None),
        ("SELECT count(*) AS c, window_end() AS e FROM t GROUP BY slidingwindow('ss', 3)", None),
        ("SELECT ts FROM t GROUP BY statewindow(ok, ok)", None),
        ("SELECT ts, a FROM arrivals", None),
        ("SELECT ts, a FROM files", "ts"),
        ("SELECT ts, a FROM rows", None),
    ],
)
def test_which_results_keep_their_time(query: str, time: str | None) -> None:
    found = inner(query)
    assert shown(found.time, found) == time
    assert found.time_shift == 0


@pytest.mark.parametrize("window", [TUMBLING, "hoppingwindow('ss', 10, 5)", "sessionwindow('ss', 5)"])
@pytest.mark.parametrize(
    ("items", "time"),
    [
        ("k, window_end() AS e, count(*) AS c", "e"),
        ("k, window_start() AS b, count(*) AS c", "hidden"),
        ("k, count(*) AS c", "hidden"),
        ("k", "hidden"),
    ],
)
@pytest.mark.parametrize("stream", ["t", "arrivals", "files"])
def test_a_time_window_gives_its_results_a_time(window: str, items: str, time: str, stream: str) -> None:
    found = inner(f"SELECT {items} FROM {stream} GROUP BY {window}, k")
    assert shown(found.time, found) == time
    assert found.time_shift == -1


def test_rows_of_a_time_window_have_its_time_and_not_their_own() -> None:
    found = inner(f"SELECT ts, a FROM t GROUP BY {TUMBLING}")
    assert shown(found.time, found) == "hidden"
    assert "ts" not in found.in_time_order


def test_functions_that_look_ahead_keep_the_time_of_the_window_that_closes_them() -> None:
    found = inner(f"SELECT window_end() AS e, lead(k) OVER (PARTITION BY window_end() ORDER BY k) AS n FROM t "
                  f"GROUP BY {TUMBLING}, k")  # fmt: skip
    assert found.time == "e"


@pytest.mark.parametrize(
    ("query", "clock"),
    [
        ("SELECT ts FROM t", Clock.EVENT_TIME),
        ("SELECT a FROM t", Clock.NONE),
        ("SELECT a FROM arrivals", Clock.ARRIVAL),
        (f"SELECT count(*) AS c FROM t GROUP BY {TUMBLING}", Clock.EVENT_TIME),
        (f"SELECT count(*) AS c FROM arrivals GROUP BY {TUMBLING}", Clock.ARRIVAL),
        ("SELECT count(*) AS c FROM t GROUP BY countwindow(2)", Clock.NONE),
        ("SELECT lead(a) OVER (ORDER BY ts) AS l, ts FROM t", Clock.NONE),
    ],
)
def test_clock(query: str, clock: Clock) -> None:
    assert inner(query).clock == clock


# ── Order, bounds and key ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "ordered", "bounds"),
    [
        ("SELECT ts, ts AS u, a FROM t", {"ts", "u"}, set()),
        ("SELECT a FROM t", set(), set()),
        (f"SELECT window_start() AS b, window_end() AS e FROM t GROUP BY {TUMBLING}, k", {"b", "e"}, {"b", "e"}),
        # Sessions close in the order of their ends; one that starts early may end late.
        ("SELECT window_start() AS b, window_end() AS e FROM t GROUP BY sessionwindow('ss', 1), k", {"e"}, {"b", "e"}),
        ("SELECT window_start() AS b, window_end() AS e FROM t GROUP BY countwindow(1)", set(), set()),
        (f"SELECT c FROM (SELECT window_end() AS c FROM t GROUP BY {TUMBLING}, k)", {"c"}, {"c"}),
        (f"SELECT date(e) AS d FROM (SELECT window_end() AS e FROM t GROUP BY {TUMBLING}, k)", set(), set()),
    ],
)
def test_order_and_bounds(query: str, ordered: set[str], bounds: set[str]) -> None:
    found = inner(query)
    assert found.in_time_order - found.hidden == ordered
    assert found.bounds - found.hidden == bounds


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("SELECT ts, k FROM t", ("k",)),
        ("SELECT ts, k AS user FROM t", ("user",)),
        ("SELECT ts FROM t", ("hidden",)),
        ("SELECT k AS x, a AS x FROM t", ("hidden",)),
        ("SELECT ts FROM arrivals", ()),
        ("SELECT k, rank() OVER (ORDER BY a) AS r FROM changes", ("k",)),
        ("SELECT rank() OVER (ORDER BY a) AS r FROM changes", ("hidden",)),
        # Groups of one window are told apart by their keys, its rows by their own time and key.
        (f"SELECT k, a, count(*) AS c FROM t GROUP BY {TUMBLING}, k, a", ("k", "a")),
        (f"SELECT count(*) AS c FROM t GROUP BY {TUMBLING}, upper(k)", ("hidden",)),
        (f"SELECT count(*) AS c FROM t GROUP BY {TUMBLING}", ()),
        (f"SELECT ts, k FROM t GROUP BY {TUMBLING}", ("ts", "k")),
        ("SELECT k, count(*) AS c FROM t GROUP BY countwindow(2) OVER (PARTITION BY k)", ()),
    ],
)
def test_key(query: str, key: tuple[str, ...]) -> None:
    found = inner(query) if "changes" not in query else traits(selected_from(bound(f"SELECT 1 FROM ({query})")))
    assert tuple(shown(name, found) for name in found.key) == key


def test_the_sequence_of_a_changelog_is_carried_along() -> None:
    found = traits(selected_from(bound("SELECT 1 FROM (SELECT a FROM changes)")))
    assert (shown(found.sequence, found), found.changelog) == ("hidden", True)
    assert traits(selected_from(bound("SELECT 1 FROM (SELECT b AS n FROM changes)"))).sequence == "n"


def test_hidden_columns_are_not_seen() -> None:
    found = inner(f"SELECT count(*) AS c FROM t GROUP BY {TUMBLING}, k")
    assert found.visible == ("c",)
    assert {column.name for column in found.columns or ()} == {"c"} | found.hidden


# ── Types, streaming, changelog ───────────────────────────────────────────────────────────────────────────────────


def test_types_pass_where_columns_do() -> None:
    found = inner("SELECT k, a AS n, a + 1 AS m, lag(a) AS l FROM t")
    assert [found.type_of(name) for name in ("k", "N", "m", "l", "nothing")] == ["string", "int", None, None, None]


def test_bounds_have_the_type_of_the_time() -> None:
    assert inner(f"SELECT window_end() AS e FROM t GROUP BY {TUMBLING}, k").type_of("e") == "timestamp"
    assert inner("SELECT window_end() AS e FROM arrivals GROUP BY countwindow(2)").type_of("e") == "timestamp"


@pytest.mark.parametrize(
    ("query", "streaming", "changelog"),
    [
        ("SELECT a FROM t", True, False),
        ("SELECT a FROM files", False, False),
        ("SELECT a FROM changes", True, True),
        ("SELECT t.a FROM t JOIN dim USING (k)", True, False),
        ("SELECT files.a FROM files JOIN dim USING (k)", False, False),
    ],
)
def test_streaming_and_changelog(query: str, streaming: bool, changelog: bool) -> None:
    found = traits(bound(query))
    assert (found.streaming, found.changelog) == (streaming, changelog)


def test_a_filter_changes_nothing() -> None:
    plan = selected_from(bound("SELECT ts FROM t WHERE a > 0"))
    assert isinstance(plan, Filter)
    assert traits(plan) == traits(plan.input)


# ── Queries that Spark runs ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "time", "clock"),
    [
        ("SELECT t.ts, name FROM t JOIN dim USING (k)", "ts", Clock.EVENT_TIME),
        ("SELECT name FROM t JOIN dim USING (k)", None, Clock.NONE),
        ("SELECT ts AS at FROM t JOIN dim USING (k)", "at", Clock.EVENT_TIME),
        ("SELECT ts + INTERVAL 1 DAY AS ts FROM t JOIN dim USING (k)", None, Clock.NONE),
        ("SELECT name FROM arrivals JOIN dim USING (k)", None, Clock.ARRIVAL),
        ("SELECT * FROM t JOIN dim USING (k)", "ts", Clock.EVENT_TIME),
        ("SELECT * FROM t CROSS JOIN range(3)", None, Clock.NONE),  # which columns that are, only Spark knows
    ],
)
def test_time_of_a_spark_query(query: str, time: str | None, clock: Clock) -> None:
    found = inner(query)
    assert (found.time, found.clock) == (time, clock)


def test_a_spark_query_keeps_what_it_selects_of_a_window() -> None:
    known = catalog(("w", f"SELECT k, window_end() AS e, count(*) AS c FROM t GROUP BY {TUMBLING}, k"))
    found = inner("SELECT k, e, c, name FROM w JOIN dim USING (k)", known)
    assert (found.time, found.time_shift, found.key) == ("e", -1, ("k",))
    assert found.bounds == {"e"}
    found = inner("SELECT k, c, name FROM w JOIN dim USING (k)", known)
    assert (found.time, found.clock) == (None, Clock.NONE)
