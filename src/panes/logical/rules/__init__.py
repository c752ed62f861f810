"""The optimiser: one rule a file, applied in this order."""

from __future__ import annotations

from collections.abc import Callable

from panes.logical.height import check_height
from panes.logical.plan import Plan
from panes.logical.rules.hand_to_spark import hand_to_spark
from panes.logical.rules.merge_filters import merge_filters
from panes.logical.rules.merge_over_windows import merge_over_windows
from panes.logical.rules.prune_columns import prune_columns
from panes.logical.rules.push_filters import push_filters_below_over, push_filters_below_project
from panes.logical.rules.top_n import recognise_top_n

RULES: tuple[Callable[[Plan], Plan], ...] = (
    push_filters_below_project,
    merge_over_windows,
    push_filters_below_over,
    merge_filters,
    recognise_top_n,
    prune_columns,
    hand_to_spark,
)


def optimise(plan: Plan) -> Plan:
    """The plan after all rules."""
    for rule in RULES:
        plan = rule(plan)
    check_height(plan)
    return plan
