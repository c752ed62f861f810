"""Two neighbouring filters become one."""

from __future__ import annotations

from planning import bound, logical_nodes

from panes.logical.plan import DataSink, Filter, Project
from panes.logical.rules.merge_filters import merge_filters


def filters(plan) -> list[list[str]]:
    return [[one.sql for one in node.predicates] for node in logical_nodes(plan) if isinstance(node, Filter)]


def stacked(*conditions: str) -> DataSink:
    """`Filter(Filter(…))`, the first condition at the bottom."""
    plan = bound("SELECT a FROM t").input.input
    for condition in conditions:
        plan = Filter(plan, bound(f"SELECT a FROM t WHERE {condition}").input.input.predicates)
    return DataSink(plan)


def test_neighbours_merge_in_their_order():
    assert filters(merge_filters(stacked("a > 0", "b > 0 AND ok", "k = 'x'"))) == [["a > 0", "b > 0", "ok", "k = 'x'"]]


def test_a_predicate_that_stands_twice_is_tested_once():
    assert filters(merge_filters(stacked("a > 0", "A  >  0"))) == [["a > 0"]]


def test_filters_with_something_between_stay():
    plan = bound("SELECT x FROM (SELECT a + 1 AS x FROM t WHERE a > 0) WHERE x > 0")
    assert filters(merge_filters(plan)) == filters(plan) == [["x > 0"], ["a > 0"]]


def test_other_plans_stay():
    plan = bound("SELECT a FROM t")
    assert merge_filters(plan) is plan
    assert isinstance(plan.input, Project)
