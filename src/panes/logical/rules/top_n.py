"""Top-N: where only the first ranks of each partition are wanted, the OverWindow is told so."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from panes.functions.over import Reach, reach_of
from panes.logical.plan import Filter, OverWindow, Plan, TopN, bottom_up
from panes.sql.constants import MOST_ROWS, fold
from panes.sql.expr import Expr


def recognise_top_n(plan: Plan) -> Plan:
    """`QUALIFY row_number() OVER (…) <= 3`, and the same in an outer WHERE, mark the window below with its limit.

    Only where every call of the node is a rank: another function may look at rows beyond the limit.
    """
    return bottom_up(plan, _recognise)


def _recognise(plan: Plan) -> Plan:
    match plan:
        case Filter(input=OverWindow(calls=calls, top_n=None) as over, predicates=predicates):
            if any(reach_of(one.call.name) is not Reach.RANK for one in calls):
                return plan
            ranks = {one.name.lower() for one in calls}
            limits = [limit for limit in map(upper_limit, predicates) if limit is not None and limit.rank in ranks]
            if not limits:
                return plan
            return replace(plan, input=replace(over, top_n=min(limits, key=lambda limit: limit.limit)))
        case _:
            return plan


def upper_limit(predicate: Expr) -> TopN | None:
    """The column and the number in `rank <= 3`, `3 >= rank`, `rank < 4`, `rank = 1`."""
    tree = predicate.tree
    match tree:
        case exp.LTE() | exp.LT() | exp.EQ() if isinstance(tree.this, exp.Column):
            column, number = tree.this, tree.expression
        case exp.GTE() | exp.GT() | exp.EQ() if isinstance(tree.expression, exp.Column):
            column, number = tree.expression, tree.this
        case _:
            return None
    limit = fold(number)
    if len(column.parts) != 1 or not isinstance(limit, int) or limit > MOST_ROWS:
        return None
    return TopN(column.name.lower(), max(limit - isinstance(tree, exp.LT | exp.GT), 0))
