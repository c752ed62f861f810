"""Two neighbouring filters become one."""

from __future__ import annotations

from planning import bound, logical_nodes, selected_from

from panes.logical.plan import DataSink, Filter, Plan, Project
from panes.logical.rules.merge_filters import merge_filters


def filters(plan: Plan) -> list[list[str]]:
    return [[one.sql for one in node.predicates] for node in logical_nodes(plan) if isinstance(node, Filter)]


def stacked(*conditions: str) -> DataSink:
    """`Filter(Filter(…))`, the first condition at the bottom."""
    plan = selected_from(bound("SELECT a FROM t"))
    for condition in conditions:
        filtered = selected_from(bound(f"SELECT a FROM t WHERE {condition}"))
        assert isinstance(filtered, Filter)
        plan = Filter(plan, filtered.predicates)
    return DataSink(plan)


def test_neighbours_merge_in_their_order() -> None:
    assert filters(merge_filters(stacked("a > 0", "b > 0 AND ok", "k = 'x'"))) == [["a > 0", "b > 0", "ok", "k = 'x'"]]


def test_a_predicate_that_stands_twice_is_tested_once() -> None:
    assert filters(merge_filters(stacked("a > 0", "A  >  0"))) == [["a > 0"]]


def test_filters_with_something_between_stay() -> None:
    plan = bound("SELECT x FROM (SELECT a + 1 AS x FROM t WHERE a > 0) WHERE x > 0")
    assert filters(merge_filters(plan)) == filters(plan) == [["x > 0"], ["a > 0"]]


def test_other_plans_stay() -> None:
    plan = bound("SELECT a FROM t")
    assert merge_filters(plan) is plan
    assert isinstance(plan.input, Project)
