"""What Panes knows of a query that Spark runs: where its columns come from, and whether Spark's state is bounded."""

from __future__ import annotations

import pytest
from planning import bound, compiled, logical_nodes, refused

from panes.functions import Functions
from panes.functions.refused import REFUSED
from panes.functions.within import Within
from panes.logical.plan import SparkQuery


def passed(sql: str) -> dict[str, str]:
    """Each output that is an input's column."""
    query = next(node for node in logical_nodes(bound(sql)) if isinstance(node, SparkQuery))
    return {name: f"{origin.input}.{origin.column}" for name, origin in query.origins}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT ts, name FROM t JOIN dim USING (k)", {"ts": "t.ts", "name": "dim.name"}),
        ("SELECT x.ts AS at, x.a + 1 AS a FROM t x JOIN dim d ON x.k = d.k", {"at": "t.ts"}),
        ("SELECT d.k FROM t JOIN dim d ON t.k = d.k", {"k": "dim.k"}),
        ("SELECT * EXCEPT (a, b, v, ok, s) FROM t JOIN dim USING (k)", {"k": "t.k", "ts": "t.ts", "name": "dim.name"}),
        ("SELECT j.ts FROM (SELECT ts, k FROM t WHERE a > 0) j JOIN dim USING (k)", {"ts": "t.ts"}),
        ("SELECT ts, e FROM t LATERAL VIEW explode(array(a, b)) x AS e", {"ts": "t.ts"}),
        ("SELECT ts FROM t WHERE k IN (SELECT k FROM dim)", {"ts": "t.ts"}),
        ("SELECT ts, n FROM t JOIN (SELECT k, count(*) AS n FROM dim GROUP BY k) USING (k)", {"ts": "t.ts"}),
        ("SELECT max(ts) AS ts FROM files", {}),
        ("SELECT ts FROM files GROUP BY ts", {}),
        ("SELECT ts FROM t UNION ALL SELECT ts FROM t", {}),
        ("SELECT ts FROM t CROSS JOIN range(3)", {"ts": "t.ts"}),
        ("SELECT ts FROM range(3) CROSS JOIN t", {}),  # ts might be a column of the other
        (
            "SELECT ts, p FROM (WITH c(ts, p) AS (SELECT k, ts FROM t) SELECT * FROM c) JOIN dim",
            {"ts": "t.k", "p": "t.ts"},
        ),
        ("SELECT * FROM (SELECT ts, k, a FROM t) PIVOT (max(a) FOR k IN ('x', 'y'))", {}),
    ],
)
def test_where_columns_come_from(sql: str, expected: dict[str, str]) -> None:
    assert passed(sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT window(ts, '1 minute'), count(*) FROM t GROUP BY window(ts, '1 minute'), k",
        "SELECT window(ts, '1 minute') AS w, count(*) FROM t GROUP BY w",
        "SELECT session_window(ts, '1 minute'), k, count(*) FROM t GROUP BY 1, 2",
        "SELECT ts, k, count(*) FROM t GROUP BY ALL",
        "SELECT window(at, '1 minute'), count(*) FROM (SELECT ts AS at FROM t) GROUP BY window(at, '1 minute')",
        "SELECT x.a FROM t x JOIN t y ON x.k = y.k AND x.ts >= y.ts AND x.ts < y.ts + INTERVAL 1 HOUR",
        "SELECT x.a FROM t x JOIN t y ON x.k = y.k AND x.ts = y.ts",
    ],
)
def test_state_that_the_watermark_bounds(sql: str) -> None:
    """Spark keeps it, the plan says so, and the watermark is there."""
    text = compiled(sql).explain()
    assert "state=bounded by the watermark" in text
    assert "Watermark" in text


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT k, count(*) FROM t GROUP BY k", "unbounded-state"),
        ("SELECT count(*) FROM t", "unbounded-state"),
        ("SELECT window(a, '1 minute'), count(*) FROM arrivals GROUP BY 1", "unbounded-state"),
        ("SELECT window(now(), '1 minute'), count(*) FROM t GROUP BY 1", "unbounded-state"),
        ("SELECT x.a FROM t x JOIN t y ON x.k = y.k", "unbounded-state"),
        ("SELECT x.a FROM t x JOIN t y ON x.k = y.k AND x.ts > y.ts", "unbounded-state"),
        ("SELECT x.a FROM t x JOIN t y ON x.ts = y.ts JOIN t z ON x.k = z.k", "unbounded-state"),
        ("SELECT a FROM t UNION SELECT a FROM t", "unsupported-clause"),
        ("SELECT a FROM files WHERE a IN (SELECT a FROM t)", "unsupported-clause"),
        ("SELECT lag(n) FROM (SELECT ts, count(*) AS n FROM t GROUP BY ts)", "unsupported-clause"),
        (
            "WITH w AS (SELECT k, window_end() AS e FROM t GROUP BY tumblingwindow('ss', 1), k) "
            "SELECT e, count(*) FROM w GROUP BY e",
            "unsupported-clause",
        ),
    ],
)
def test_state_that_would_grow_forever_is_refused(sql: str, code: str) -> None:
    assert refused(sql) == code


@pytest.mark.parametrize("name", sorted({*Functions().aggregates, *REFUSED}))
def test_every_aggregate_is_known_as_one(name: str) -> None:
    """Also those that the parser takes for scalar functions: without GROUP BY, Spark would keep a group forever."""
    aggregate = Functions().aggregates.get(name)
    within = aggregate is not None and aggregate.within is Within.VALUE
    calls = [f"{name}({args})" for args in ("v", "v, v", "v, 0.5")]
    for call in (f"{name}(0.5) WITHIN GROUP (ORDER BY v)",) if within else calls:
        for item in (call, f"1 + {call} FILTER (WHERE a > 0)"):
            assert refused(f"SELECT {item} FROM t") in ("unbounded-state", "parse-error"), item
    assert within or "unbounded-state" in [refused(f"SELECT {call} FROM t") for call in calls]


@pytest.mark.parametrize("item", ["k LIKE ANY ('a', 'b')", "k LIKE SOME ('a', 'b')", "s.mean(a)", "median"])
def test_what_only_looks_like_an_aggregate(item: str) -> None:
    assert "Watermark" not in compiled(f"SELECT {item} FROM t JOIN dim USING (k)").explain()


def test_a_condition_on_one_group_makes_it() -> None:
    assert refused("SELECT 1 AS one FROM t HAVING count(*) > 3") == "unbounded-state"


def test_a_batch_may_group_as_it_likes() -> None:
    assert "bounded by" not in compiled("SELECT k, count(*) FROM files GROUP BY k").explain()


@pytest.mark.parametrize(
    ("sql", "template"),
    [
        ("SELECT a FROM t JOIN dim d USING (k)", "SELECT a FROM {in_t} AS `t` JOIN {in_dim} d USING (k)"),
        (
            "SELECT '{x}' AS a FROM rows CROSS JOIN rows u",
            "SELECT '{{x}}' AS a FROM {in_rows} AS `rows` CROSS JOIN {in_rows} u",
        ),
        (
            "SELECT `t`.a FROM `t` JOIN dim USING (k)",
            "SELECT `t`.a FROM {in_t} AS `t` JOIN {in_dim} AS `dim` USING (k)",
        ),
    ],
)
def test_tables_are_placeholders_in_the_text_for_spark(sql: str, template: str) -> None:
    found = [node.template for node in logical_nodes(bound(sql)) if isinstance(node, SparkQuery)]
    assert found == [template]
