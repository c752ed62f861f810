"""Two neighbouring filters become one."""

from __future__ import annotations

from panes.logical.plan import Filter, Plan, bottom_up


def merge_filters(plan: Plan) -> Plan:
    """`Filter(Filter(x, a), b)` is `Filter(x, a AND b)`; a predicate that stands twice is tested once."""
    return bottom_up(plan, _merge)


def _merge(plan: Plan) -> Plan:
    match plan:
        case Filter(input=Filter(input=source, predicates=inner), predicates=outer):
            return Filter(source, tuple(dict.fromkeys((*inner, *outer))))
        case _:
            return plan
