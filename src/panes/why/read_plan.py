"""What a query can wait for, read from its physical plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import assert_never

from panes.catalog import Stream
from panes.frames import Edge, Unit
from panes.functions.over import Reach, reach_of
from panes.physical import plan as physical
from panes.physical.chain import Stateful, operator_name
from panes.sql.window_kinds import Window as Kinds
from panes.sql.window_kinds import size_and_hop
from panes.why.plan import OperatorPlan, QueryPlan, StreamPlan, Waits


def query_plan(plan: physical.DataSink, streams: Sequence[Stream], shards: int) -> QueryPlan:
    """What is known of a query before it runs; its operators are in the order in which they are built."""
    operators = tuple(_operators(plan, count(), shards))
    above, below = _conditions(plan)
    return QueryPlan(
        tuple(StreamPlan(one.name, one.time, one.delay, one.idle_timeout, one.heartbeat) for one in streams),
        operators,
        where=below if operators else (),
        having=above if operators else (),
        spark_keeps_state=physical.spark_keeps_state(plan),
    )


def _operators(plan: physical.Plan, numbers: Iterator[int], shards: int) -> Iterator[OperatorPlan]:
    """Operators as the builder numbers them, those below first; pairs, which take numbers too, have none above them."""
    for child in physical.children(plan):
        yield from _operators(child, numbers, shards)
    if isinstance(plan, Stateful):
        yield replace(_operator(plan, next(numbers)), shards=1 if plan.placement.one_shard else shards)


def _conditions(plan: physical.Plan, passed: bool = False) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The conditions above the last operator and below it."""
    own = plan.predicates if isinstance(plan, physical.Filter) else ()
    above, below = ((), own) if passed else (own, ())
    passed = passed or isinstance(plan, Stateful)
    for child in physical.children(plan):
        others = _conditions(child, passed)
        above, below = (*above, *others[0]), (*below, *others[1])
    return above, below


def _operator(plan: Stateful, number: int) -> OperatorPlan:
    placement = plan.placement
    known = OperatorPlan(
        number,
        operator_name(plan),
        Waits.NOTHING,
        waits_for_clock=placement.waits and placement.time is not None,
        emits=placement.emit.value,
        partition_by=placement.partition_by,
        state_ttl=placement.state_ttl,
    )
    match plan:
        case physical.Window():
            return _window(plan, known)
        case physical.OverWindow():
            return _over(plan, known)
        case physical.StatefulFunction():
            waits = Waits.WATERMARK if known.waits_for_clock else Waits.NOTHING
            return replace(known, waits=waits, calls=tuple(one.text for one in plan.calls))
        case physical.Normalize():
            return replace(known, waits_for_clock=False)
        case _:
            assert_never(plan)


def _window(plan: physical.Window, known: OperatorPlan) -> OperatorPlan:
    kind = plan.kind
    at_once = plan.placement.emit is physical.EmitMode.CHANGES
    timed = Waits.NOTHING if at_once else Waits.WATERMARK
    match kind:
        case Kinds.Tumbling() | Kinds.Hopping():
            size = size_and_hop(kind)[0] if kind.zone is None else None
            return replace(known, waits=timed, size=size, waits_for_clock=False)
        case Kinds.Session(gap=gap):
            return replace(known, waits=timed, gap=kind.microseconds(gap), waits_for_clock=False)
        case Kinds.Count(count=rows, every=every):
            return replace(known, waits=Waits.COUNT, count=rows, every=every)
        case Kinds.Sliding(lookahead=ahead):
            waits = Waits.WATERMARK if ahead is not None or known.waits_for_clock else Waits.NOTHING
            return replace(known, waits=waits)
        case Kinds.State(open=opens, emit=emit):
            return replace(known, waits=Waits.CONDITION, opens=opens, condition=emit)
        case _:
            assert_never(kind)


def _over(plan: physical.OverWindow, known: OperatorPlan) -> OperatorPlan:
    if plan.strategy is physical.Strategy.INCREMENTAL:
        return replace(known, waits_for_clock=False)
    if plan.strategy is physical.Strategy.ON_COMPLETE or not plan.waits_for_rows:
        return replace(known, waits=Waits.WATERMARK)
    ahead = [one for one in plan.calls if _looks_ahead(one)]
    distances = [_distance(one) for one in ahead]
    follows = max((one for one in distances if one is not None), default=None) if None not in distances else None
    return replace(
        known,
        waits=Waits.ROWS,
        calls=tuple(_text(one) for one in ahead),
        follows=follows,
        keeps_passed=len(ahead) < len(plan.calls) or any(one.frame is not None for one in ahead),
    )


def _looks_ahead(call: physical.OverCall) -> bool:
    """Whether a call counts rows behind its own."""
    frame = call.frame
    if frame is None:
        return reach_of(call.argument.function) is Reach.AHEAD
    return frame.unit is Unit.ROWS and frame.end.edge is Edge.FOLLOWING


def _distance(call: physical.OverCall) -> int | None:
    """How many rows behind its own a call looks; with IGNORE NULLS nobody can tell."""
    if call.argument.ignore_nulls:
        return None
    if call.frame is not None:
        text = call.frame.end.offset
    else:
        text = call.argument.args[1] if len(call.argument.args) > 1 else "1"
    return int(text) if text is not None and text.strip().isdigit() else None


def _text(call: physical.OverCall) -> str:
    if call.frame is None or call.frame.end.offset is None:
        return call.argument.text
    return f"{call.argument.text} up to {call.frame.end.offset} FOLLOWING"
