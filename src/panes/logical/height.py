"""A plan is only so high: EXPLAIN, pickling and Spark's planner walk it from top to bottom, one call inside another."""

from __future__ import annotations

from panes.errors import PanesError
from panes.logical.plan import Plan, StatefulFunction, children

HIGHEST = 150


def check_height(plan: Plan) -> None:
    """Refuse a plan with more operators on top of each other than Spark could run."""
    todo = [(plan, 0)]
    while todo:
        node, above = todo.pop()
        height = above + _operators(node)
        if height > HIGHEST:
            hint = "Use fewer different PARTITION BYs and fewer queries inside each other."
            message = f"this is more than {HIGHEST} operators on top of each other"
            raise PanesError("unsupported-clause", message, None, hint)
        todo += [(child, height) for child in children(node)]


def _operators(plan: Plan) -> int:
    """How many operators a node will be at least: stateful calls run in one for each partitioning."""
    if not isinstance(plan, StatefulFunction):
        return 1
    return len({one.call.over.partition_by if one.call.over is not None else () for one in plan.calls})
