"""OverWindow nodes with equal PARTITION BY and ORDER BY become one; those that look ahead come last."""

from __future__ import annotations

import pytest
from planning import bound, logical_nodes, selected_from

from panes.logical.plan import OverWindow, Plan
from panes.logical.rules.merge_over_windows import merge_over_windows


def chain(plan: Plan) -> list[str]:
    """The calls of each OverWindow, lowest first."""
    nodes = [node for node in logical_nodes(plan) if isinstance(node, OverWindow)]
    return [" ".join(one.call.name for one in node.calls) for node in reversed(nodes)]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("sum(a) OVER w, max(a) OVER w", ["sum max"]),
        ("sum(a) OVER w, max(a) OVER (PARTITION  BY K ORDER BY TS)", ["sum max"]),
        ("sum(a) OVER w, rank() OVER u, max(a) OVER w", ["sum max", "rank"]),
        ("sum(a) OVER (PARTITION BY k ORDER BY ts ROWS 1 PRECEDING), max(a) OVER w", ["sum max"]),
        ("sum(a) OVER w, max(a) OVER (PARTITION BY k ORDER BY ts DESC)", ["sum", "max"]),
        ("sum(a) OVER w, max(a) OVER u", ["sum", "max"]),
        ("a + b AS c, sum(a) OVER (PARTITION BY c), max(a) OVER (PARTITION BY a + b)", ["sum max"]),
        # After a node that waits for later rows there is no time, so it goes last.
        ("lead(a) OVER w, max(a) OVER u", ["max", "lead"]),
        ("sum(a) OVER w, max(a) OVER u, lead(a) OVER w", ["max", "sum lead"]),
        ("sum(a) OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING), max(a) OVER u", ["max", "sum"]),
    ],
)
def test_one_select(items: str, expected: list[str]) -> None:
    windows = "WINDOW w AS (PARTITION BY k ORDER BY ts), u AS (PARTITION BY a ORDER BY ts)"
    assert chain(merge_over_windows(bound(f"SELECT {items} FROM t {windows}"))) == expected


def test_not_across_a_projection() -> None:
    inner = "SELECT ts, k, sum(a) OVER (PARTITION BY k ORDER BY ts) AS c FROM t"
    plan = bound(f"SELECT sum(c) OVER (PARTITION BY k ORDER BY ts) FROM ({inner})")
    assert merge_over_windows(plan) == plan


def test_a_node_that_reads_another_stays_above_it() -> None:
    over = selected_from(bound("SELECT sum(a) OVER (PARTITION BY k ORDER BY ts) FROM t"))
    reader = selected_from(
        bound("SELECT max(col_1) OVER (PARTITION BY k ORDER BY ts) FROM (SELECT ts, k, a AS col_1 FROM t)")
    )
    assert isinstance(over, OverWindow) and isinstance(reader, OverWindow)
    stacked = OverWindow(over, over.partition_by, over.order_by, reader.calls)
    assert merge_over_windows(stacked) == stacked
