"""What is decided about each operator: partitions, mode, state, late rows, stages, keys."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest
from planning import catalog, compiled, node_names, operators, physical_nodes, stateful

from panes.catalog import Catalog, Column
from panes.declare import declare
from panes.options import StreamOptions
from panes.physical.plan import (
    DataSink,
    DataSource,
    Filter,
    OverWindow,
    Placement,
    Project,
    StatefulFunction,
    Watermark,
)

SECOND = 1_000_000


def decided(sql: str, known: Catalog | None = None) -> list[tuple[str, str, str]]:
    """Partitions, mode and state of each operator, last evaluated first."""
    found = [one.placement for one in operators(sql, known)]
    return [(", ".join(one.partition_by), one.mode.value, one.state.value) for one in found]


@pytest.mark.parametrize(
    ("sql", "partition_by", "state"),
    [
        ("SELECT lag(a) FROM {}", "", "per-key"),
        ("SELECT lag(a) OVER (PARTITION BY k, a + b) FROM {}", "k, a + b", "per-key"),
        ("SELECT count(*) FROM {} GROUP BY tumblingwindow('ss', 1)", "", "accumulators"),
        ("SELECT count(*) FROM {} GROUP BY tumblingwindow('ss', 1), k, upper(k)", "k, upper(k)", "accumulators"),
        ("SELECT count(*) FROM {} GROUP BY hoppingwindow('ss', 2, 1), k", "k", "accumulators"),
        ("SELECT count(*) FROM {} GROUP BY sessionwindow('ss', 1), k", "k", "accumulators"),
        ("SELECT * FROM {} GROUP BY sessionwindow('ss', 1), k", "k", "rows"),
        ("SELECT a FROM {} GROUP BY tumblingwindow('ss', 1)", "", "rows"),
        # Some accumulators are the values that came.
        ("SELECT count(*), collect_list(a) FROM {} GROUP BY tumblingwindow('ss', 1), k", "k", "rows"),
        ("SELECT collect_set(a) FROM {} GROUP BY sessionwindow('ss', 1), k", "k", "rows"),
        ("SELECT median(a) FROM {} GROUP BY hoppingwindow('ss', 2, 1), k", "k", "rows"),
        ("SELECT percentile(a, 0.9) FROM {} GROUP BY countwindow(2) OVER (PARTITION BY k)", "k", "rows"),
        ("SELECT sum(DISTINCT a) FROM {} GROUP BY statewindow(ok, ok) OVER (PARTITION BY k)", "k", "rows"),
        ("SELECT approx_count_distinct(a) FROM {} GROUP BY tumblingwindow('ss', 1), k", "k", "accumulators"),
        # Count, state and sliding windows are kept per PARTITION BY; keys are grouped inside them.
        ("SELECT count(*) FROM {} GROUP BY countwindow(2), b", "", "accumulators"),
        ("SELECT count(*) FROM {} GROUP BY countwindow(2, 1), b", "", "rows"),
        ("SELECT count(*) FROM {} GROUP BY countwindow(2) OVER (PARTITION BY k), b", "k", "accumulators"),
        ("SELECT count(*) FROM {} GROUP BY statewindow(ok, ok) OVER (PARTITION BY k)", "k", "accumulators"),
        ("SELECT a FROM {} GROUP BY statewindow(ok, ok) OVER (PARTITION BY k)", "k", "rows"),
        ("SELECT count(*) FROM {} GROUP BY slidingwindow('ss', 1) OVER (PARTITION BY k), b", "k", "rows"),
    ],
)
@pytest.mark.parametrize(("stream", "mode"), [("t", "event_time"), ("arrivals", "arrival"), ("files", "batch")])
def test_features(sql: str, partition_by: str, state: str, stream: str, mode: str) -> None:
    assert decided(sql.format(stream)) == [(partition_by, mode, state)]
    (operator,) = operators(sql.format(stream))
    assert operator.placement.one_shard == (partition_by == "")
    assert operator.placement.late == (mode == "event_time")


@pytest.mark.parametrize(
    ("call", "state"),
    [
        ("rank() OVER (PARTITION BY k ORDER BY ts)", "per-key"),
        ("sum(a) OVER (PARTITION BY k ORDER BY ts)", "per-key"),
        ("nth_value(a, 2) OVER (PARTITION BY k ORDER BY ts)", "per-key"),
        ("sum(a) OVER (PARTITION BY k ORDER BY ts ROWS 2 PRECEDING)", "per-key"),
        ("lag(a) OVER (PARTITION BY k ORDER BY ts)", "per-key"),
        ("lead(a) OVER (PARTITION BY k ORDER BY ts)", "per-key"),
        ("sum(a) OVER (PARTITION BY k ORDER BY ts RANGE INTERVAL 1 DAY PRECEDING)", "rows"),
        (
            "sum(a) OVER (PARTITION BY k ORDER BY ts ROWS 2 PRECEDING), rank() OVER (PARTITION BY k ORDER BY ts)",
            "per-key",
        ),
    ],
)
def test_over_on_window_close(call: str, state: str) -> None:
    assert decided(f"SELECT {call} FROM t") == [("k", "event_time", state)]
    assert decided(f"SELECT {call} FROM t EMIT CHANGES") == [("k", "event_time", "all-rows")]
    assert decided(f"SELECT {call} FROM changes") == [("k", "arrival", "all-rows")]


TOP = "row_number() OVER (PARTITION BY k ORDER BY v) AS r"


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        (f"SELECT {TOP} FROM t QUALIFY r <= 3 EMIT CHANGES", "rows"),
        (f"SELECT r FROM (SELECT {TOP} FROM arrivals) WHERE r <= 3 EMIT CHANGES", "rows"),
        (f"SELECT {TOP} FROM changes QUALIFY r <= 3", "all-rows"),  # a deleted row lets the next one in
        # The rows of another OVER that emits changes may be taken back too.
        (f"SELECT {TOP} FROM (SELECT k, sum(v) OVER (ORDER BY a) AS v FROM t) QUALIFY r <= 3 EMIT CHANGES", "all-rows"),
    ],
)
def test_top_n_keeps_candidates_only_where_rows_stay(sql: str, state: str) -> None:
    over = operators(sql)[0]
    assert over.top_n == (over.calls[0].argument.output, 3)
    assert over.placement.state.value == state


# ── Who drops late rows ───────────────────────────────────────────────────────────────────────────────────────────

WINDOW = "SELECT ts, k, lag(a) AS l FROM t"


@pytest.mark.parametrize(
    ("sql", "late"),
    [
        ("SELECT lag(a) OVER (PARTITION BY k), lag(a) OVER (PARTITION BY b) FROM t", [False, True]),
        ("SELECT sum(lag(a)) FROM t GROUP BY tumblingwindow('ss', 1)", [False, True]),
        (f"SELECT count(*) FROM ({WINDOW}) GROUP BY sessionwindow('ss', 1)", [False, True]),
        (f"SELECT lag(l) FROM ({WINDOW})", [False, True]),
        ("SELECT rank() OVER (ORDER BY ts), rank() OVER (PARTITION BY k ORDER BY ts) FROM t", [False, True]),
        (
            "SELECT rank() OVER (PARTITION BY window_end() ORDER BY k) FROM t GROUP BY tumblingwindow('ss', 1), k",
            [False, True],
        ),
        ("SELECT rank() OVER (ORDER BY lag(a)) FROM t EMIT CHANGES", [False, True]),
        ("SELECT rank() OVER (ORDER BY a) FROM t EMIT CHANGES", [False]),
        ("SELECT lag(a) FROM t EMIT IMMEDIATELY", [False]),
        ("SELECT lag(a) OVER (PARTITION BY k), lag(a) OVER (PARTITION BY b) FROM t EMIT IMMEDIATELY", [False, False]),
        ("SELECT rank() OVER (ORDER BY a) FROM changes", [False]),
        ("SELECT sum(lag(a)) FROM arrivals GROUP BY tumblingwindow('ss', 1)", [False, False]),
        ("SELECT sum(lag(a)) FROM files GROUP BY tumblingwindow('ss', 1)", [False, False]),
    ],
)
def test_late_rows_are_dropped_once_and_first(sql: str, late: list[bool]) -> None:
    assert [one.placement.late for one in operators(sql)] == late


# ── Stages of stateful calls ──────────────────────────────────────────────────────────────────────────────────────


def stages(items: str) -> list[tuple[str, str]]:
    """Partitions and calls of each stage, first evaluated first."""
    found = [one for one in operators(f"SELECT {items} FROM t") if isinstance(one, StatefulFunction)]
    return [(", ".join(one.placement.partition_by), ", ".join(call.text for call in one.calls)) for one in found[::-1]]


BY_K, BY_A = "OVER (PARTITION BY k)", "OVER (PARTITION BY a)"


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("lag(a), latest(b)", [("", "lag(a), latest(b)")]),
        (f"lag(a) {BY_K}, lag(b) OVER (PARTITION BY K)", [("k", "lag(a), lag(b)")]),
        (f"lag(a) {BY_K}, lag(b) {BY_A}, lag(v) {BY_K}", [("k", "lag(a), lag(v)"), ("a", "lag(b)")]),
        # A call that reads another's result comes later,
        (f"lag(lag(a) {BY_K}) {BY_K}", [("k", "lag(a)"), ("k", "lag(col_1)")]),
        # also in another partitioning,
        (f"lag(lag(a) {BY_K}) {BY_A}", [("k", "lag(a)"), ("a", "lag(col_1)")]),
        (f"lag(lag(lag(v) {BY_K}) {BY_A}) {BY_K}", [("k", "lag(v)"), ("a", "lag(col_1)"), ("k", "lag(col_2)")]),
        (f"latest(lag(b) {BY_A}) {BY_K}, lag(v) {BY_K}", [("a", "lag(b)"), ("k", "latest(col_1), lag(v)")]),
        # and also where its condition or its partition key needs the result.
        (f"lag(a) FILTER (WHERE lag(ok) {BY_A}) {BY_K}", [("a", "lag(ok)"), ("k", "lag(a) FILTER (WHERE col_1)")]),
        ("lag(a) OVER (PARTITION BY lag(b))", [("", "lag(b)"), ("col_1", "lag(a)")]),
    ],
)
def test_stages(items: str, expected: list[tuple[str, str]]) -> None:
    assert stages(items) == expected


# ── Time, key and state_ttl ───────────────────────────────────────────────────────────────────────────────────────


def placed(sql: str, known: Catalog | None = None) -> Placement:
    placement: Placement = operators(sql, known)[0].placement
    return placement


@pytest.mark.parametrize(
    ("sql", "time", "shift", "key"),
    [
        ("SELECT lag(a) FROM t", "ts", 0, ("k",)),
        ("SELECT lag(a) FROM arrivals", None, 0, ()),
        ("SELECT lag(a) FROM files", "ts", 0, ("k",)),
        ("SELECT lag(a) FROM (SELECT ts AS at, k AS user, a FROM t)", "at", 0, ("user",)),
        ("SELECT lag(c) FROM (SELECT k, window_end() AS e, count(*) AS c FROM t "
         "GROUP BY tumblingwindow('ss', 1), k)", "e", -1, ("k",)),
        ("SELECT rank() OVER (PARTITION BY window_end() ORDER BY count(*)) FROM t "
         "GROUP BY tumblingwindow('ss', 1), k, a", "col_1", -1, ("k", "a")),
    ],
)  # fmt: skip
def test_order(sql: str, time: str | None, shift: int, key: tuple[str, ...]) -> None:
    found = placed(sql)
    assert (found.time, found.time_shift, found.key) == (time, shift, key)


def test_a_changelog_is_ordered_by_its_sequence() -> None:
    """By the operator that reads it first."""
    for sql, sequences in (
        ("SELECT rank() OVER (ORDER BY a) FROM changes", ["b"]),
        ("SELECT rank() OVER (ORDER BY a) FROM (SELECT a, b AS n FROM changes)", [None, "b"]),
        ("SELECT rank() OVER (PARTITION BY v ORDER BY a) FROM changes", [None, "b"]),
        ("SELECT rank() OVER (ORDER BY ts) FROM t", [None]),
    ):
        assert [one.placement.sequence for one in stateful(sql)] == sequences


@pytest.mark.parametrize(
    ("sql", "ttl"),
    [
        ("SELECT lag(a) OVER (PARTITION BY k) FROM t", 3600 * SECOND),
        ("SELECT rank() OVER (PARTITION BY k ORDER BY ts) FROM t", 3600 * SECOND),
        ("SELECT count(*) FROM t GROUP BY countwindow(2)", 3600 * SECOND),
        ("SELECT count(*) FROM (SELECT ts, a FROM t) GROUP BY statewindow(a > 0, a < 0)", 3600 * SECOND),
        ("SELECT count(*) FROM t GROUP BY tumblingwindow('ss', 1)", None),  # its windows close by themselves
        ("SELECT lag(a) FROM arrivals", None),
        ("SELECT rank() OVER (ORDER BY a) FROM t EMIT CHANGES", 3600 * SECOND),
        ("SELECT rank() OVER (ORDER BY a) FROM (SELECT a FROM t) EMIT CHANGES", None),  # no time, nothing expires
    ],
)
def test_state_ttl(sql: str, ttl: int | None) -> None:
    assert placed(sql, catalog(state_ttl="1 hour")).state_ttl == ttl


# ── The clock ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("sql", "present"),
    [
        ("SELECT lag(a) FROM t", True),
        ("SELECT lag(a) FROM t EMIT IMMEDIATELY", True),  # it still evicts
        ("SELECT lag(a) FROM (SELECT ts, a FROM t WHERE b > 0)", True),
        ("SELECT lag(a) FROM (SELECT ts, t.a FROM t JOIN dim USING (k))", True),
        ("SELECT rank() OVER (ORDER BY a) FROM (SELECT a FROM t) EMIT CHANGES", False),  # nothing needs the time
        ("SELECT a FROM t WHERE b > 0", False),
        ("SELECT t.a FROM t JOIN dim USING (k)", False),
        ("SELECT lag(a) FROM arrivals", False),
        ("SELECT lag(a) FROM files", False),
        ("SELECT rank() OVER (ORDER BY a) FROM changes", False),
    ],
)
def test_watermark(sql: str, present: bool) -> None:
    found = [node for node in physical_nodes(compiled(sql).physical) if isinstance(node, Watermark)]
    assert [(node.time, node.delay) for node in found] == ([("ts", 10 * SECOND)] if present else [])


def test_every_row_of_the_stream_moves_the_watermark() -> None:
    """It stands right on the source, below any WHERE."""
    sql = "SELECT lag(a) FROM (SELECT ts, a FROM t WHERE b > 0) WHERE a > 0"
    assert node_names(physical_nodes(compiled(sql).physical))[-3:] == ["Filter", "Watermark", "DataSource"]


# ── Frames, waits ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("call", "waits"),
    [
        ("lead(a) OVER (ORDER BY ts)", True),
        ("sum(a) OVER (ORDER BY ts ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING)", True),
        ("sum(a) OVER (ORDER BY ts ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING)", True),
        ("sum(a) OVER (ORDER BY ts RANGE BETWEEN CURRENT ROW AND INTERVAL 1 DAY FOLLOWING)", False),
        ("sum(a) OVER (ORDER BY ts ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING)", False),
        ("lag(a) OVER (ORDER BY ts)", False),
    ],
)
def test_waits_for_rows(call: str, waits: bool) -> None:
    assert operators(f"SELECT {call} FROM t")[0].waits_for_rows is waits
    assert operators(f"SELECT {call} FROM t EMIT CHANGES")[0].waits_for_rows is False


def test_frames_are_texts_and_names() -> None:
    (call,) = operators("SELECT sum(a) OVER (ORDER BY ts RANGE INTERVAL '1' DAY PRECEDING) FROM t")[0].calls
    assert (call.frame.unit, call.frame.start.edge, call.frame.start.offset) == (
        "RANGE",
        "PRECEDING",
        "INTERVAL '1' DAY",
    )
    assert (call.frame.end.edge, call.frame.end.offset) == ("CURRENT ROW", None)


def test_order_by_is_written_out() -> None:
    (over,) = operators("SELECT rank() OVER (ORDER BY a, v DESC, b NULLS LAST) FROM files")
    assert [(one.sql, one.descending, one.nulls_first) for one in over.order_by] == [
        ("a", False, True),
        ("v", True, False),
        ("b", False, False),
    ]


# ── Changelogs ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_filters_and_projections_know_that_rows_are_changes() -> None:
    for sql in (
        "SELECT k FROM changes WHERE a > 0",
        "SELECT rank() OVER (ORDER BY v) AS r FROM t QUALIFY r < 9 EMIT CHANGES",
    ):
        plan = compiled(sql).physical
        assert plan.changelog
        assert all(node.changelog for node in physical_nodes(plan) if isinstance(node, Filter | Project))
    plan = compiled("SELECT rank() OVER (ORDER BY v) AS r FROM t WHERE a > 0 QUALIFY r < 9 EMIT CHANGES").physical
    assert [node.changelog for node in physical_nodes(plan) if isinstance(node, Filter)] == [True, False]


def changelog(**options: Any) -> Catalog:
    known = Catalog()
    columns = [Column("id", "bigint"), Column("shop", "string"), Column("v", "int"), Column("seq", "bigint")]
    known.streams.put(
        declare("c", columns, StreamOptions(changelog=True, key=["shop", "id"], **options), streaming=True)
    )
    return known


ALWAYS = {"preimages": "always"}


@pytest.mark.parametrize(
    ("sql", "options", "nodes"),
    [
        ("SELECT rank() OVER (PARTITION BY v ORDER BY id) FROM c", {}, "OverWindow Normalize"),
        ("SELECT rank() OVER (PARTITION BY shop, v ORDER BY id) FROM c", {}, "OverWindow Normalize"),
        ("SELECT rank() OVER (PARTITION BY v ORDER BY id) FROM c", ALWAYS, "OverWindow"),
        ("SELECT rank() OVER (PARTITION BY v ORDER BY id) FROM c", {**ALWAYS, "sequence": "seq"},
         "OverWindow Normalize"),
        ("SELECT rank() OVER (PARTITION BY upper(shop) ORDER BY v) FROM c", {}, "OverWindow"),
        ("SELECT rank() OVER (ORDER BY v) FROM c", {"sequence": "seq"}, "OverWindow"),
        ("SELECT rank() OVER (PARTITION BY shop ORDER BY v) FROM c WHERE v > 0", {}, "OverWindow Normalize Filter"),
        ("SELECT rank() OVER (PARTITION BY shop ORDER BY v) FROM c WHERE v > 0", ALWAYS, "OverWindow Filter"),
        ("SELECT * FROM (SELECT rank() OVER (PARTITION BY shop ORDER BY v) AS r FROM c) WHERE r > 1", {},
         "Filter OverWindow"),
        ("SELECT v FROM c", {}, "Normalize"),
        ("SELECT v FROM c WHERE v > 0", {}, "Normalize Filter"),
        ("SELECT v FROM c WHERE v > 0", ALWAYS, "Filter Pair"),
        ("SELECT v FROM (SELECT v + 1 AS v FROM c) WHERE v > 0", {}, "Filter Normalize"),
    ],
)  # fmt: skip
def test_a_changelog_is_normalized_where_old_rows_may_be_missing(sql: str, options: dict[str, str], nodes: str) -> None:
    plan = compiled(sql, changelog(**options)).physical
    own = (DataSource, DataSink, Project)
    assert [type(node).__name__ for node in physical_nodes(plan) if not isinstance(node, own)] == nodes.split()


@pytest.mark.parametrize(("sequence", "ttls"), [("seq", [None, 60 * SECOND]), (None, [None, None])])
def test_state_ttl_of_a_changelog_is_for_its_sequences(sequence: str | None, ttls: list[int | None]) -> None:
    known = changelog(sequence=sequence, state_ttl="1 minute")
    found = stateful("SELECT rank() OVER (PARTITION BY v ORDER BY id) FROM c", known)
    assert [one.placement.state_ttl for one in found] == ttls


GROUPED = "GROUP BY tumblingwindow('ss', 1), k, upper(k) EMIT CHANGES"


@pytest.mark.parametrize(
    ("sql", "key"),
    [
        ("SELECT k, a FROM changes", ("k",)),
        ("SELECT a, k AS user FROM changes WHERE a > 0", ("user",)),
        ("SELECT a FROM changes", ()),
        ("SELECT k, a AS k FROM changes", ()),
        ("SELECT rank() OVER (ORDER BY a) AS r, K FROM changes", ("K",)),
        (f"SELECT window_end() AS e, k, upper(k) AS u, count(*) FROM t {GROUPED}", ("e", "k", "u")),
        (f"SELECT k, window_start() AS b, upper(k) AS u, window_end() AS e FROM t {GROUPED}", ("k", "b", "u", "e")),
        (f"SELECT k, upper(k) AS u, window_start() AS b, count(*) FROM t {GROUPED}", ("k", "u", "b")),
        (f"SELECT k, upper(k) AS u, count(*) FROM t {GROUPED}", ()),  # which window?
        (f"SELECT window_end() AS e, k, count(*) FROM t {GROUPED}", ()),
        ("SELECT window_end() AS e, count(*) FROM t GROUP BY sessionwindow('ss', 1) EMIT CHANGES", ("e",)),
        ("SELECT window_end() AS e, k FROM t GROUP BY tumblingwindow('ss', 1) EMIT CHANGES", ()),  # many rows a window
        (
            "SELECT k, window_end() AS e, rank() OVER (PARTITION BY k ORDER BY count(*)) AS r FROM t "
            "GROUP BY tumblingwindow('ss', 1), k EMIT CHANGES",
            ("k", "e"),
        ),
        (
            "SELECT k, window_end() AS e, lead(count(*)) OVER (ORDER BY window_end()) AS n FROM t "
            "GROUP BY tumblingwindow('ss', 1), k, a EMIT CHANGES",
            (),
        ),
        (
            "SELECT who, rank() OVER (ORDER BY c) AS r, e FROM (SELECT k AS who, window_end() AS e, count(*) AS c "
            "FROM t GROUP BY tumblingwindow('ss', 1), k) EMIT CHANGES",
            ("who", "e"),
        ),
        ("SELECT rank() OVER (ORDER BY a) AS r, k FROM arrivals EMIT CHANGES", ()),
    ],
)
def test_what_identifies_a_row_of_the_result(sql: str, key: tuple[str, ...]) -> None:
    assert compiled(sql).physical.key == key


def test_an_append_result_has_no_key() -> None:
    assert compiled("SELECT k, lag(a) FROM t").physical.key == ()


# ── Specs ─────────────────────────────────────────────────────────────────────────────────────────────────────────

QUERIES = [
    "SELECT a, lag(a) OVER (PARTITION BY k) AS l FROM t WHERE lag(a) > 0",
    "SELECT k, sum(a) FILTER (WHERE ok), window_end() FROM t GROUP BY hoppingwindow('ss', 2, 1), k HAVING sum(a) > 1",
    "SELECT count(DISTINCT a) FROM arrivals GROUP BY slidingwindow('ss', 1, 2) OVER (PARTITION BY k WHEN ok)",
    "SELECT * FROM t GROUP BY statewindow(ok, a > 0)",
    "SELECT rank() OVER (PARTITION BY k ORDER BY v DESC) AS r FROM changes QUALIFY r <= 2",
    "INSERT INTO out SELECT name FROM t JOIN dim USING (k)",
]


@pytest.mark.parametrize("sql", QUERIES)
def test_specs_pickle_and_come_back_equal(sql: str) -> None:
    plan = compiled(sql).physical
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert hash(plan) == hash(compiled(sql).physical)


@pytest.mark.parametrize("sql", QUERIES)
def test_specs_are_frozen(sql: str) -> None:
    for node in physical_nodes(compiled(sql).physical):
        name = dataclasses.fields(node)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(node, name, None)


def test_the_sink_names_the_columns() -> None:
    plan = compiled("INSERT INTO out SELECT a, a, lag(a) AS l FROM t").physical
    assert (plan.sink, plan.columns) == ("out", ("a", "a", "l"))


def test_aggregates_keep_what_was_written() -> None:
    (window,) = operators(
        "SELECT count(DISTINCT a), first(b) IGNORE NULLS FILTER (WHERE ok) FROM t GROUP BY countwindow(2)"
    )
    assert [(one.function, one.args, one.distinct, one.ignore_nulls, one.condition) for one in window.aggregates] == [
        ("count", ("a",), True, False, None),
        ("first", ("b",), False, True, "ok"),
    ]


def test_of_two_windows_in_one_select_the_one_that_waits_comes_last() -> None:
    nodes = operators(
        "SELECT lead(v) OVER (PARTITION BY k ORDER BY ts), sum(v) OVER (PARTITION BY a ORDER BY ts) FROM t"
    )
    assert [type(node) for node in nodes] == [OverWindow, OverWindow]
    assert [node.waits_for_rows for node in nodes] == [True, False]


def test_nested_calls_share_the_stages_of_their_partitionings() -> None:
    """Four columns of three levels each need three operators, not nine."""
    call = "lag(lag(lag(a + {}) OVER (PARTITION BY k)) OVER (PARTITION BY b)) OVER (PARTITION BY k)"
    plan = compiled(f"SELECT {', '.join(call.format(i) for i in range(4))} FROM t").physical
    assert [len(node.calls) for node in physical_nodes(plan) if isinstance(node, StatefulFunction)] == [4, 4, 4]


def test_late_rows_of_a_stream_are_dropped_whatever_a_joined_table_is_made_of() -> None:
    sql = """
    WITH d AS (SELECT k, count(*) AS n FROM files GROUP BY tumblingwindow('ss', 10), k),
         j AS (SELECT t.ts, n FROM t JOIN d ON t.k = d.k)
    SELECT sum(n) FROM j GROUP BY tumblingwindow('ss', 10)
    """
    outer, *_ = operators(sql)
    assert outer.placement.late
