"""OverWindow nodes with equal PARTITION BY and ORDER BY become one; those that look ahead come last."""

from __future__ import annotations

from dataclasses import replace

from panes.logical.plan import OverWindow, Plan, children, with_children
from panes.logical.traits import looks_ahead


def merge_over_windows(plan: Plan) -> Plan:
    """In a chain of OverWindow nodes, those with equal partitions and order join the lowest of them.

    None of a chain reads another's column, unless the chain says so; then the node stays where it is. After a node that
    looks ahead rows have no time, so it goes to the top.
    """
    if isinstance(plan, OverWindow):
        chain, source = _chain(plan)
        return _stack(_looking_ahead_last(_merged(chain)), merge_over_windows(source))
    new = tuple(merge_over_windows(child) for child in children(plan))
    return with_children(plan, new)


def _chain(plan: OverWindow) -> tuple[list[OverWindow], Plan]:
    """The neighbouring OverWindow nodes, lowest first, and what they stand on."""
    chain: list[OverWindow] = []
    node: Plan = plan
    while isinstance(node, OverWindow):
        chain.append(node)
        node = node.input
    return chain[::-1], node


def _merged(chain: list[OverWindow]) -> list[OverWindow]:
    merged: list[OverWindow] = []
    places: dict[object, int] = {}
    made: dict[str, int] = {}  # column → the node that computes it
    for node in chain:
        specification = (node.partition_by, node.order_by)
        place = places.get(specification)
        needs = max((made.get(name, -1) for name in _reads(node)), default=-1)
        if place is not None and node.top_n is None and merged[place].top_n is None and needs < place:
            merged[place] = replace(merged[place], calls=merged[place].calls + node.calls)
        else:
            place = places[specification] = len(merged)
            merged.append(node)
        made |= {one.name: place for one in node.calls}
    return merged


def _looking_ahead_last(chain: list[OverWindow]) -> list[OverWindow]:
    made = {one.name for node in chain for one in node.calls}
    if any(node.top_n is not None or _reads(node) & made for node in chain):
        return chain
    return sorted(chain, key=lambda node: any(looks_ahead(one.call) for one in node.calls))


def _reads(node: OverWindow) -> set[str]:
    exprs = [*node.partition_by, *(key.expr for key in node.order_by)]
    for one in node.calls:
        exprs += one.call.args
        if one.call.filter is not None:
            exprs.append(one.call.filter)
    return {name for expr in exprs for name in expr.column_names}


def _stack(chain: list[OverWindow], source: Plan) -> Plan:
    for node in chain:
        source = replace(node, input=source)
    return source
