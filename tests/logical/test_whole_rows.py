"""The column of whole rows in a query that Spark runs: in every SELECT list that the stream's rows pass, once."""

from __future__ import annotations

import pytest
from planning import catalog, compiled, physical_nodes

from panes.catalog import Catalog, Sink
from panes.errors import PanesError
from panes.physical.lineage import source_of
from panes.physical.plan import DataSource, SparkQuery, Window

T, DIM = "{in_t} AS `t`", "{in_dim} AS `dim`"


def known() -> Catalog:
    found = catalog(("v", "SELECT ts, k AS key FROM t WHERE a > 0"))
    found.sinks.put(Sink("late", {"connector": "console"}))
    return found


def counted(part: str, ending: str = "LATE ROWS INTO late") -> str:
    return f"INSERT INTO out SELECT count(*) FROM ({part}) GROUP BY tumblingwindow('ss', 10) {ending}"


def spark_parts(sql: str) -> list[SparkQuery]:
    return [node for node in physical_nodes(compiled(sql, known()).physical) if isinstance(node, SparkQuery)]


@pytest.mark.parametrize(
    ("part", "template"),
    [
        ("SELECT ts, k FROM t JOIN dim USING (k)", f"SELECT ts, k, panes_row FROM {T} JOIN {DIM} USING (k)"),
        ("SELECT * FROM t JOIN dim USING (k)", f"SELECT * FROM {T} JOIN {DIM} USING (k)"),
        (
            "SELECT x.* EXCEPT (v) FROM dim d JOIN t x ON x.k = d.k",
            "SELECT x.* EXCEPT (v) FROM {in_dim} d JOIN {in_t} x ON x.k = d.k",
        ),
        (
            "SELECT d.*, x.ts FROM t x JOIN dim d ON x.k = d.k",
            "SELECT d.*, x.ts, panes_row FROM {in_t} x JOIN {in_dim} d ON x.k = d.k",
        ),
        (
            "SELECT a IS DISTINCT FROM b AS n, extract(day FROM ts), ts FROM t, dim",
            f"SELECT a IS DISTINCT FROM b AS n, extract(day FROM ts), ts, panes_row FROM {T}, {DIM}",
        ),
        (
            "SELECT /*+ BROADCAST(dim) */ ts, '{x}' FROM t CROSS JOIN dim",
            f"SELECT /*+ BROADCAST(dim) */ ts, '{{{{x}}}}', panes_row FROM {T} CROSS JOIN {DIM}",
        ),
        (
            "SELECT ts, e FROM t LATERAL VIEW explode(array(a, b)) x AS e",
            f"SELECT ts, e, panes_row FROM {T} LATERAL VIEW explode(array(a, b)) x AS e",
        ),
        (
            "SELECT (SELECT max(name) FROM dim) AS m, ts FROM t WHERE k IN (SELECT k FROM dim)",
            f"SELECT (SELECT max(name) FROM {DIM}) AS m, ts, panes_row FROM {T} WHERE k IN (SELECT k FROM {DIM})",
        ),
        (
            "SELECT j.ts FROM (SELECT ts, k FROM (SELECT * FROM t) i) j JOIN (SELECT k FROM dim) USING (k)",
            f"SELECT j.ts, panes_row FROM (SELECT ts, k, panes_row FROM (SELECT * FROM {T}) i) j "
            f"JOIN (SELECT k FROM {DIM}) USING (k)",
        ),
        (
            "SELECT ts FROM dim JOIN (WITH c AS (SELECT ts, k FROM t), e AS (SELECT k FROM dim) SELECT ts, k FROM c) "
            "USING (k)",
            f"SELECT ts, panes_row FROM {DIM} JOIN (WITH c AS (SELECT ts, k, panes_row FROM {T}), "
            f"e AS (SELECT k FROM {DIM}) SELECT ts, k, panes_row FROM c) USING (k)",
        ),
        ("SELECT ts FROM v JOIN dim ON key = k", f"SELECT ts, panes_row FROM {{in_v}} AS `v` JOIN {DIM} ON key = k"),
    ],
)
def test_every_list_hands_the_row_on(part: str, template: str) -> None:
    (query,) = spark_parts(counted(part))
    assert query.template == template
    (plain,) = spark_parts(counted(part, ""))
    assert plain.template == template.replace(", panes_row", "")


def test_parts_on_parts() -> None:
    """Each hands the row on; a part that has no stream does not."""
    found = spark_parts(
        """INSERT INTO out
            WITH d AS (SELECT k, count(*) AS n FROM dim GROUP BY k), j AS (SELECT ts, k FROM t JOIN d USING (k))
            SELECT count(*) FROM (SELECT ts FROM j JOIN dim USING (k)) GROUP BY tumblingwindow('ss', 10)
            LATE ROWS INTO late"""
    )
    assert [one.template.count("panes_row") for one in found] == [1, 1, 0]


def test_state_is_the_same_and_only_the_stream_is_whole() -> None:
    part = "SELECT ts, k FROM t JOIN dim USING (k)"
    asking, plain = (
        physical_nodes(compiled(counted(part, end), known()).physical) for end in ("LATE ROWS INTO late", "")
    )
    sources = {node.stream: node.whole for node in asking if isinstance(node, DataSource)}
    assert sources == {"t": True, "dim": False}
    one, other = (next(node for node in nodes if isinstance(node, Window)) for nodes in (asking, plain))
    assert source_of(one) == source_of(other)


@pytest.mark.parametrize(
    ("part", "place"),
    [
        ("SELECT ts FROM t AS x(ts, k, a, b, v, ok, s) JOIN dim USING (k)", "x(ts, k, a, b, v, ok, s"),
        ("SELECT ts FROM (SELECT ts, k FROM t) AS x(ts, k) JOIN dim USING (k)", "x(ts, k"),
        ("SELECT c.ts FROM (WITH c(ts, k) AS (SELECT ts, k FROM t) SELECT * FROM c) c JOIN dim USING (k)", "c(ts, k"),
        ("SELECT ts, hash(t.*) FROM t JOIN dim USING (k)", "t"),
        ("SELECT ts FROM t JOIN dim USING (k) WHERE hash(*) > 0", ""),
        ("SELECT j.ts FROM (FROM t SELECT ts, k) j JOIN dim USING (k)", "t SELECT ts, k"),
        ("SELECT ts FROM (FROM t SELECT *) j JOIN dim USING (k)", ""),
        ("SELECT *, t.* FROM t JOIN dim USING (k)", "t.* FROM t JOIN dim USING (k"),
        ("SELECT ts FROM (t JOIN dim USING (k))", "t JOIN dim USING (k"),
    ],
)
def test_texts_that_would_mean_something_else_are_refused(part: str, place: str) -> None:
    with pytest.raises(PanesError) as caught:
        compiled(counted(part), known())
    assert caught.value.code == "unsupported-clause"
    assert caught.value.span is not None
    assert "cannot follow rows through" in str(caught.value)
    assert place in caught.value.span.text
    compiled(counted(part, ""), known())  # without LATE ROWS it is a query like others


def test_pivot_passes_no_time_on_with_late_rows_or_without() -> None:
    for late in ([], [""]):
        with pytest.raises(PanesError) as caught:
            compiled(counted("SELECT ts FROM t PIVOT (sum(v) FOR k IN ('a')) JOIN dim", *late), known())
        assert caught.value.code == "watermark-required"
