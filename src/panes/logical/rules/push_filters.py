"""Filters move towards the source, where that cannot change the result."""

from __future__ import annotations

from sqlglot import exp

from panes.logical.plan import Filter, OverWindow, Plan, Project, bottom_up
from panes.sql.calls import calls_in
from panes.sql.expr import Expr

# A predicate with one of these may give another answer when it is evaluated elsewhere or more often.
NON_DETERMINISTIC = frozenset(
    """
    rand randn random randstr uniform uuid shuffle monotonically_increasing_id input_file_name spark_partition_id
    """.split()
)


def may_move(predicate: Expr) -> bool:
    """Whether a predicate means the same elsewhere; a lambda's parameter might catch the name of a column there."""
    if any(place.name in NON_DETERMINISTIC for place in calls_in(predicate.tokens)):
        return False
    return predicate.tree.find(exp.Lambda) is None


def push_filters_below_project(plan: Plan) -> Plan:
    """A filter on columns that a projection only renames moves below it: `WHERE rn <= 3` meets its window."""
    return bottom_up(plan, _below_project)


def _below_project(plan: Plan) -> Plan:
    match plan:
        case Filter(input=Project(input=source, fields=fields) as project, predicates=predicates):
            columns = {field.name.lower(): field.expr for field in fields if field.expr.column is not None}
            pushed = tuple(p for p in predicates if may_move(p) and set(p.column_names) <= columns.keys())
            if not pushed:
                return plan
            below = Filter(source, tuple(predicate.substitute(columns) for predicate in pushed))
            kept = tuple(predicate for predicate in predicates if predicate not in pushed)
            moved = Project(_below_project(below), project.fields)
            return Filter(moved, kept) if kept else moved
        case _:
            return plan


def push_filters_below_over(plan: Plan) -> Plan:
    """A filter that only touches partition keys drops whole partitions: it moves below the OverWindow."""
    return bottom_up(plan, _below_over)


def _below_over(plan: Plan) -> Plan:
    match plan:
        case Filter(input=OverWindow(partition_by=partition_by) as over, predicates=predicates):
            keys = {expr.column.lower() for expr in partition_by if expr.column is not None}
            pushed = tuple(p for p in predicates if p.column_names and may_move(p) and set(p.column_names) <= keys)
            if not pushed:
                return plan
            below = _below_over(Filter(over.input, pushed))
            moved = OverWindow(below, over.partition_by, over.order_by, over.calls, over.top_n)
            kept = tuple(predicate for predicate in predicates if predicate not in pushed)
            return Filter(moved, kept) if kept else moved
        case _:
            return plan
