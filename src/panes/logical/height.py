"""A plan is only so high: EXPLAIN, pickling and Spark's planner walk it from top to bottom, one call inside another."""

from __future__ import annotations

from panes.errors import PanesError
from panes.logical.plan import Plan, children

HIGHEST = 150


def check_height(plan: Plan) -> None:
    """Refuse a plan with more operators on top of each other than Spark could run."""
    height, level = 0, [plan]
    while level:
        height += 1
        if height > HIGHEST:
            hint = "Use fewer different OVER windows and fewer queries inside each other."
            raise PanesError(
                "unsupported-clause", f"this is more than {HIGHEST} operators on top of each other", None, hint
            )
        level = [child for one in level for child in children(one)]
