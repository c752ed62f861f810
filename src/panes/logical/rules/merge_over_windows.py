"""OverWindow nodes with equal PARTITION BY and ORDER BY become one: sorted and kept once."""

from __future__ import annotations

from dataclasses import replace

from panes.logical.plan import OverWindow, Plan, children, with_children


def merge_over_windows(plan: Plan) -> Plan:
    """In a chain of OverWindow nodes, those with equal partitions and order join the lowest of them.

    None of a chain reads another's column, unless the chain says so; then the node stays where it is.
    """
    if isinstance(plan, OverWindow):
        chain, source = _chain(plan)
        return _stack(_merged(chain), merge_over_windows(source))
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
