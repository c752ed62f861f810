"""Binding: what names mean, and which clause becomes which node."""

from __future__ import annotations

from typing import TypeVar

import pytest
from planning import bound, catalog, compiled, fields, logical_nodes, node_names, refused

from panes.catalog import Catalog
from panes.errors import PanesError
from panes.logical.plan import Aggregation, DataSource, Filter, OverWindow, Project, Window
from panes.sql.window_kinds import Window as Kind

TUMBLING = "tumblingwindow('ss', 10)"


Node = TypeVar("Node")


def plan_of(sql: str, kind: type[Node], known: Catalog | None = None) -> Node:
    return next(node for node in logical_nodes(bound(sql, known)) if isinstance(node, kind))


# ── Names ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("item", "source", "expected"),
    [
        ("a", "t", "a -> a"),
        ("A", "t", "A -> A"),
        ("t.a", "t", "a -> a"),
        ("T.a", "t", "a -> a"),
        ("q.a", "t q", "a -> a"),
        ("q.a", "t AS q", "a -> a"),
        ("q.a + q.b AS c", "t q", "a + b -> c"),
        ("s.x", "t", "s.x -> x"),
        ("t.s.x", "t", "s.x -> x"),
        ("s.x", "t AS s", "s.x -> x"),  # no column x, so s is the struct and not the alias
        ("s.a", "t AS s", "a -> a"),  # a column a, so s is the alias
        ("s.s.x", "t AS s", "s.x -> x"),
        ("q.c", "(SELECT a AS c FROM t) q", "c -> c"),
        ("transform(array(a), x -> x + b) AS l", "t", "transform(array(a), x -> x + b) -> l"),
        ("`a b` + odd.`x``y` AS c", "odd", "`a b` + `x``y` -> c"),
    ],
)
def test_names_are_resolved(item: str, source: str, expected: str) -> None:
    assert fields(bound(f"SELECT {item} FROM {source}")) == [expected]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT zz FROM t", "unknown-column"),
        ("SELECT t.zz FROM t", "unknown-column"),
        ("SELECT t.a FROM t q", "unknown-column"),
        ("SELECT q.a FROM (SELECT a FROM t)", "unknown-column"),
        ("SELECT a FROM nowhere", "unknown-stream"),
        ("SELECT u.* FROM t", "unknown-stream"),
        ("SELECT * EXCEPT (zz) FROM t", "unknown-column"),
        ("SELECT x FROM (SELECT a AS x, b AS x FROM t)", "ambiguous-column"),
        ("SELECT q.x FROM (SELECT a AS x, b AS x FROM t) q", "ambiguous-column"),
        ("SELECT * FROM (SELECT a AS x, b AS x FROM t)", "ambiguous-column"),
        ("SELECT a FROM t WHERE c > 0", "unknown-column"),
        ("SELECT a AS c FROM t WHERE c > 0", "unknown-column"),  # WHERE comes before the SELECT list
        ("SELECT sum(c) FROM (SELECT a AS x FROM t) GROUP BY countwindow(2)", "unknown-column"),
        ("INSERT INTO nowhere SELECT a FROM t", "unknown-sink"),
    ],
)
def test_names_that_mean_nothing(sql: str, code: str) -> None:
    assert refused(sql) == code


def test_a_mistyped_name_gets_a_hint() -> None:
    with pytest.raises(PanesError) as caught:
        compiled("SELECT alpha FROM (SELECT a AS alpah FROM t)")
    assert caught.value.hint == "Did you mean alpah?"


def test_placeholders_are_not_names() -> None:
    assert refused("SELECT lag(a) FROM t WHERE col_1 > 0") == "unknown-column"


def test_names_of_a_query_that_only_spark_knows_are_taken_as_they_are() -> None:
    joined = "(SELECT * FROM t CROSS JOIN range(3)) j"
    assert fields(bound(f"SELECT j.name, anything, lag(j.a) FROM {joined}"))[:2] == [
        "name -> name",
        "anything -> anything",
    ]
    assert refused(f"SELECT *, lag(a) FROM {joined}") == "unsupported-clause"
    assert refused(f"SELECT *, count(*) FROM {joined} GROUP BY countwindow(2)") == "unsupported-clause"


# ── Stars ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("items", "source", "names"),
    [
        ("*", "t", "ts k a b v ok s"),
        ("t.*", "t", "ts k a b v ok s"),
        ("q.*", "t q", "ts k a b v ok s"),
        ("* EXCEPT (ts, V)", "t", "k a b ok s"),
        ("k, *", "t", "k ts k a b v ok s"),
        ("*, lag(a) AS l", "t", "ts k a b v ok s l"),
        ("*", "(SELECT a, lag(a) AS l FROM t)", "a l"),
        ("*", f"(SELECT count(*) AS c FROM t GROUP BY {TUMBLING}, k)", "c"),  # its time and key stay hidden
        ("*, window_end() AS e", f"t GROUP BY {TUMBLING}", "ts k a b v ok s e"),
        ("*, row_number() OVER (ORDER BY ts) AS r", "t", "ts k a b v ok s r"),
        ("*, count(*) AS c", f"(SELECT ts, k FROM t) GROUP BY {TUMBLING}, ts, k", "ts k c"),
    ],
)
def test_stars(items: str, source: str, names: str) -> None:
    assert [one.rsplit(" -> ", 1)[1] for one in fields(bound(f"SELECT {items} FROM {source}"))] == names.split()


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT * EXCEPT (a) FROM (SELECT a FROM t)", "unsupported-clause"),
        ("SELECT 1 FROM (SELECT * EXCEPT (a) FROM (SELECT a FROM t)) GROUP BY countwindow(2)", "unsupported-clause"),
        (f"SELECT *, count(*) FROM t GROUP BY {TUMBLING}, k", "column-not-grouped"),
    ],
)
def test_stars_that_cannot_be(sql: str, code: str) -> None:
    assert refused(sql) == code


def test_output_names_may_repeat() -> None:
    assert fields(bound("SELECT lag(a), lag(a), a AS x, b AS x FROM t")) == [
        "col_1 -> lag(a)",
        "col_1 -> lag(a)",
        "a -> x",
        "b -> x",
    ]


# ── Aliases ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("a AS x, x + 1 AS y", ["a -> x", "a + 1 -> y"]),
        ("a + b AS x, x * 2 AS y", ["a + b -> x", "(a + b) * 2 -> y"]),
        ("a AS x, x + 1 AS y, y + 1 AS z", ["a -> x", "a + 1 -> y", "(a + 1) + 1 -> z"]),
        ("q.a AS x, x + 1 AS y", ["a -> x", "a + 1 -> y"]),
        ("q.s AS x, x.y AS z", ["s -> x", "s.y -> z"]),
        ("b AS a, a + 1 AS y", ["b -> a", "a + 1 -> y"]),  # a column comes before an alias
        ("lag(a) AS x, x + 1 AS y", ["col_1 -> x", "col_1 + 1 -> y"]),
    ],
)
def test_an_item_may_use_the_aliases_before_it(items: str, expected: list[str]) -> None:
    assert fields(bound(f"SELECT {items} FROM t q")) == expected


@pytest.mark.parametrize("items", ["y + 1 AS z, a AS y", "x + 1 AS x", "p + 1 AS q, q + 1 AS p"])
def test_an_alias_is_not_known_before_it_is_given(items: str) -> None:
    assert refused(f"SELECT {items}, lag(a) FROM t") == "unknown-column"


def test_having_may_use_aliases() -> None:
    having = plan_of(f"SELECT k AS key, sum(a) AS s FROM t GROUP BY {TUMBLING}, k HAVING s > 1 AND key <> ''", Filter)
    assert [one.sql for one in having.predicates] == ["col_1 > 1", "k <> ''"]


def test_in_having_an_alias_comes_before_a_column() -> None:
    sql = f"SELECT k, sum(a) AS a FROM t GROUP BY {TUMBLING}, k HAVING a > 1"
    assert [one.sql for one in plan_of(sql, Filter).predicates] == ["col_1 > 1"]


def test_qualify_may_use_aliases() -> None:
    sql = "SELECT a + b AS c, row_number() OVER (PARTITION BY k ORDER BY ts) AS r FROM t QUALIFY r <= 2 AND c > 0"
    assert [one.sql for one in plan_of(sql, Filter).predicates] == ["col_1 <= 2", "(a + b) > 0"]


def test_qualify_on_groups() -> None:
    sql = f"""SELECT k, rank() OVER (PARTITION BY window_end() ORDER BY sum(a) DESC) AS r FROM t
              GROUP BY {TUMBLING}, k HAVING sum(a) > 0 QUALIFY r <= 3 AND sum(a) < 100"""
    names = node_names(logical_nodes(bound(sql)))
    assert names == ["DataSink", "Project", "Filter", "OverWindow", "Filter", "Aggregation", "Window", "DataSource"]
    over = plan_of(sql, OverWindow)
    assert ([one.sql for one in over.partition_by], [one.sql for one in over.order_by]) == (["col_1"], ["col_2 DESC"])


# ── GROUP BY ──────────────────────────────────────────────────────────────────────────────────────────────────────


def keys(sql: str) -> list[str]:
    return [key.expr.sql for key in plan_of(sql, Aggregation).keys]


@pytest.mark.parametrize(
    ("items", "group_by", "expected"),
    [
        ("k", "k", ["k"]),
        ("t.k", "k", ["k"]),
        ("k", "t.k", ["k"]),
        ("k", "K, k, t.k", ["K"]),
        ("upper(k) AS u", "u", ["upper(k)"]),
        ("upper(k) AS u", "1", ["upper(k)"]),
        ("upper(k)", "(upper(k))", ["upper(k)"]),
        ("UPPER( k )", "upper(k)", ["upper(k)"]),
        ("k AS key, upper(k) AS u", "2, 1", ["upper(k)", "k"]),
        ("s.x", "s.x", ["s.x"]),
        ("s.x", "s", ["s"]),
        ("lag(a)", "lag(a)", ["col_1"]),
    ],
)
def test_group_keys(items: str, group_by: str, expected: list[str]) -> None:
    assert keys(f"SELECT {items}, count(*) FROM t GROUP BY {TUMBLING}, {group_by}") == expected


@pytest.mark.parametrize(
    ("item", "group_by", "expected"),
    [
        ("upper(k)", "upper(k)", "col_2"),
        ("upper(k) || 'x'", "upper(k)", "col_2 || 'x'"),
        ("concat(upper(k), upper(k))", "upper(k)", "concat(col_2, col_2)"),
        ("CASE WHEN upper(k) = 'A' THEN 1 END", "upper(k)", "CASE WHEN col_2 = 'A' THEN 1 END"),
        ("(a + b) * 2", "a + b", "(col_2) * 2"),
        ("2 * (a + b)", "a + b", "2 * (col_2)"),
        ("a + b > 3", "a + b", "col_2 > 3"),
        ("a + b", "a, b", "a + b"),
        ("CAST(a AS STRING)", "a", "CAST(a AS STRING)"),
        ("upper(k) AS u, u || 'x' AS w", "u", "(col_2) || 'x'"),
    ],
)
def test_key_expressions_inside_larger_ones(item: str, group_by: str, expected: str) -> None:
    plan = bound(f"SELECT count(*), {item} FROM t GROUP BY {TUMBLING}, {group_by}")
    assert fields(plan)[-1].rsplit(" -> ", 1)[0] == expected


@pytest.mark.parametrize(
    ("item", "group_by"),
    [
        ("a + b * v", "a + b"),
        ("v * a + b", "a + b"),
        ("v - a + b", "a + b"),
        ("a", "a + b"),
        ("a", "k"),
        ("k", "upper(k)"),
        ("lower(k)", "upper(k)"),
        ("k AS a", "a"),  # the column a is grouped, not the alias
    ],
)
def test_columns_that_are_not_grouped(item: str, group_by: str) -> None:
    assert refused(f"SELECT {item}, count(*) FROM t GROUP BY {TUMBLING}, {group_by}") == "column-not-grouped"


@pytest.mark.parametrize(
    ("items", "group_by", "code"),
    [
        ("count(*)", "1", "aggregate-in-group-by"),
        ("count(*) AS c", "c", "aggregate-in-group-by"),
        ("window_end() AS e, count(*)", "e", "window-not-in-group-by"),
        ("count(*), k", "3", "parse-error"),
        ("count(*), k", "0", "parse-error"),
        ("*, count(*)", "1", "parse-error"),
    ],
)
def test_group_keys_that_cannot_be(items: str, group_by: str, code: str) -> None:
    assert refused(f"SELECT {items} FROM t GROUP BY {TUMBLING}, {group_by}") == code


@pytest.mark.parametrize(
    ("items", "group_by", "raw"),
    [
        ("k, a", TUMBLING, True),
        ("window_end()", TUMBLING, True),
        ("*", f"{TUMBLING}, k", True),
        ("a", "statewindow(a > 0, b > 0) OVER (PARTITION BY k)", True),
        ("k", f"{TUMBLING}, k", False),
        ("k, window_end()", f"{TUMBLING}, k", False),
        ("count(*)", TUMBLING, False),
    ],
)
def test_when_the_rows_of_a_window_come_out(items: str, group_by: str, raw: bool) -> None:
    names = node_names(logical_nodes(bound(f"SELECT {items} FROM t GROUP BY {group_by}")))
    assert ("Aggregation" not in names) == raw


def test_partition_keys_of_a_window_are_group_keys() -> None:
    sql = "SELECT k, upper(k), count(*) FROM t GROUP BY countwindow(3) OVER (PARTITION BY k, upper(k)), b"
    assert keys(sql) == ["b", "k", "upper(k)"]


def test_having_needs_groups() -> None:
    assert refused(f"SELECT a FROM t GROUP BY {TUMBLING} HAVING a > 0") == "unsupported-clause"


def test_a_bound_inside_an_aggregate_is_refused() -> None:
    assert refused(f"SELECT max(window_end()) FROM t GROUP BY {TUMBLING}") == "window-not-in-group-by"


# ── Conditions ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT a FROM t WHERE a", "not-boolean"),
        ("SELECT a FROM t WHERE t.a + 1", "not-boolean"),
        (f"SELECT count(*) FROM t GROUP BY {TUMBLING}, k HAVING k", "not-boolean"),
        ("SELECT row_number() OVER (ORDER BY ts) AS r FROM t QUALIFY r + 1", "not-boolean"),
        ("SELECT lag(a) FILTER (WHERE b) FROM t", "not-boolean"),
        ("SELECT lag(a) OVER (PARTITION BY k WHEN b) FROM t", "not-boolean"),
        (f"SELECT sum(a) FILTER (WHERE b) FROM t GROUP BY {TUMBLING}", "not-boolean"),
        (f"SELECT bool_and(a) FROM t GROUP BY {TUMBLING}", "function-arguments"),
        ("SELECT acc_sum(a, b, ok) FROM t", "function-arguments"),
        ("SELECT a FROM t GROUP BY statewindow(a, ok)", "window-arguments"),
        ("SELECT a FROM t GROUP BY statewindow(ok, a)", "window-arguments"),
        ("SELECT a FROM t GROUP BY slidingwindow('ss', 1) OVER (WHEN a)", "not-boolean"),
    ],
)
def test_conditions_are_booleans(sql: str, code: str) -> None:
    assert refused(sql) == code


@pytest.mark.parametrize("condition", ["ok", "t.ok", "a > 0", "NULL", "some_udf(a)", "s.x", "NOT ok AND (a IS NULL)"])
def test_what_may_be_a_boolean_passes(condition: str) -> None:
    bound(f"SELECT lag(a) FILTER (WHERE {condition}) FROM t WHERE {condition}")


# ── Relations ─────────────────────────────────────────────────────────────────────────────────────────────────────


def stream_of(sql: str, known: Catalog | None = None) -> str:
    return plan_of(sql, DataSource, known).stream.name


def test_views_are_written_out() -> None:
    known = catalog(("sums", f"SELECT k, sum(a) AS s FROM t GROUP BY {TUMBLING}, k"))
    plan = bound("SELECT v.k, v.s FROM sums AS v WHERE v.s > 1", known)
    names = ["DataSink", "Project", "Filter", "Project", "Aggregation", "Window", "DataSource"]
    assert node_names(logical_nodes(plan)) == names


def test_views_may_read_views() -> None:
    known = catalog(("one", "SELECT ts, k, a FROM t"), ("two", "SELECT k, a AS c FROM one"))
    assert fields(bound("SELECT two.c FROM two", known)) == ["c -> c"]
    assert refused("SELECT a FROM two", known) == "unknown-column"


def test_a_view_used_twice_has_its_own_columns_each_time() -> None:
    known = catalog(("lags", "SELECT k, lag(a) AS l FROM t"))
    plan = bound(
        "WITH x AS (SELECT k, l FROM lags), y AS (SELECT k, l FROM lags) SELECT l FROM x UNION ALL SELECT l FROM y",
        known,
    )
    calls = [call.name for node in logical_nodes(plan) for call in getattr(node, "calls", ())]
    assert len(calls) == len(set(calls)) == 2


@pytest.mark.parametrize(
    "views",
    [
        [("one", "SELECT a FROM one")],
        [("one", "SELECT a FROM two"), ("two", "SELECT a FROM (SELECT a FROM ONE)")],
        [("one", "WITH c AS (SELECT a FROM one) SELECT a FROM c")],
    ],
)
def test_a_view_must_not_read_itself(views: list[tuple[str, str]]) -> None:
    assert refused("SELECT a FROM one", catalog(*views)) == "stream-options"


@pytest.mark.parametrize(
    ("sql", "stream"),
    [
        ("WITH c AS (SELECT a FROM arrivals) SELECT a FROM c", "arrivals"),
        ("WITH C AS (SELECT a FROM arrivals) SELECT c.a FROM c", "arrivals"),
        ("WITH t AS (SELECT a FROM arrivals) SELECT a FROM t", "arrivals"),  # a CTE hides a stream
        ("WITH t AS (SELECT a FROM t) SELECT a FROM t", "t"),  # but not from itself
        ("WITH x AS (SELECT a FROM arrivals), y AS (SELECT a FROM x) SELECT a FROM y", "arrivals"),
        ("WITH x AS (SELECT a FROM t) SELECT a FROM (WITH x AS (SELECT a FROM arrivals) SELECT a FROM x)", "arrivals"),
        ("WITH x AS (SELECT a FROM (WITH t AS (SELECT a FROM files) SELECT a FROM t)) SELECT a FROM x", "files"),
        ("WITH x AS (SELECT a FROM t), t AS (SELECT a FROM arrivals) SELECT a FROM x", "t"),
    ],
)
def test_ctes_are_seen_after_and_inside(sql: str, stream: str) -> None:
    assert stream_of(sql) == stream


def test_a_cte_does_not_see_those_after_it() -> None:
    assert refused("WITH y AS (SELECT a FROM x), x AS (SELECT a FROM t) SELECT a FROM y") == "unknown-stream"


def test_a_view_does_not_see_the_ctes_around_it() -> None:
    known = catalog(("v", "SELECT a FROM t"))
    assert stream_of("WITH t AS (SELECT a FROM arrivals) SELECT a FROM v", known) == "t"


def test_a_static_table_is_a_batch_input() -> None:
    assert stream_of("SELECT name FROM dim") == "dim"
    assert refused("SELECT count(*) FROM dim GROUP BY tumblingwindow('ss', 1)") == "watermark-required"


def test_insert_names_its_sink() -> None:
    assert bound("INSERT INTO out SELECT a FROM t").sink == "out"


# ── What is not allowed over what ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        (f"SELECT count(*) FROM changes GROUP BY {TUMBLING}", "changelog-not-supported"),
        ("SELECT lag(a) FROM changes", "changelog-not-supported"),
        ("SELECT lag(a) FROM (SELECT a FROM changes WHERE a > 0)", "changelog-not-supported"),
        ("SELECT k FROM changes JOIN dim USING (k)", "changelog-not-supported"),
        ("SELECT a FROM t ORDER BY a", "unsupported-clause"),
        ("SELECT lag(a) FROM (SELECT t.a FROM t JOIN arrivals USING (k))", "unbounded-state"),
        ("SELECT lag(a) FROM (SELECT a FROM t UNION ALL SELECT a FROM arrivals)", "unsupported-clause"),
    ],
)
def test_refused_inputs(sql: str, code: str) -> None:
    assert refused(sql) == code


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, a FROM changes WHERE a > 0",
        "SELECT rank() OVER (ORDER BY a) FROM changes",
        "SELECT a FROM files ORDER BY a",
        "SELECT a.a FROM t a JOIN t b ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL 1 DAY",  # Spark's own
        "SELECT lag(a) FROM (SELECT ts, t.a FROM t JOIN dim USING (k))",
    ],
)
def test_accepted_inputs(sql: str) -> None:
    compiled(sql)


def test_where_sees_stateful_calls_and_windows_see_what_it_keeps() -> None:
    sql = f"SELECT sum(lag(a)) FROM t WHERE lag(a) > 0 GROUP BY {TUMBLING}"
    names = node_names(logical_nodes(bound(sql)))
    assert names == ["DataSink", "Project", "Aggregation", "Window", "Filter", "StatefulFunction", "DataSource"]


def test_every_query_ends_in_a_project() -> None:
    for sql in ("SELECT a FROM t", f"SELECT * FROM t GROUP BY {TUMBLING}", "SELECT lag(a) FROM t"):
        assert isinstance(bound(sql).input, Project)


def test_the_window_keeps_its_kind_with_names_resolved() -> None:
    sql = "SELECT q.a FROM t q GROUP BY statewindow(q.a > 0, q.ok) OVER (PARTITION BY q.k)"
    kind = plan_of(sql, Window).kind
    assert isinstance(kind, Kind.State)
    assert (kind.open.sql, kind.emit.sql, [one.sql for one in kind.partition_by]) == ("a > 0", "ok", ["k"])
