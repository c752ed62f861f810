"""The queries that are run for a trace: the user's own with the origin of each row beside it, and parts of it.

| variant | what comes out of it |
|---|---|
| results | the results, each with its origin; and the late rows |
| points | what an operator reads: origin, lane, whether WHERE keeps it, the values of stateful calls |
| windows | the windows of an operator, each with its origin and lane; of a time window after each micro-batch |
| frames | for each row of an OVER operator the origins of the rows in its frame, one list for each call |

None of them says what a window is: each is compiled and run by Panes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from panes.frames import Unit
from panes.functions import Functions
from panes.functions.over import Reach, reach_of
from panes.logical.plan import (
    Aggregation,
    Computed,
    DataSink,
    Field,
    OverWindow,
    Plan,
    Project,
    StatefulFunction,
)
from panes.physical import plan as physical
from panes.physical.chain import Stateful
from panes.physical.lower import lower
from panes.source import Source, Span
from panes.sql.calls import Call
from panes.sql.expr import Expr
from panes.sql.over import UNBOUNDED_FOLLOWING, UNBOUNDED_PRECEDING, Frame, Over
from panes.sql.statements import Emit, EmitClause, LateRowsClause
from panes.trace.lineage import ID, Carried, carry, expr, grouped
from panes.trace.operators import Operator, Reading, is_time_window, window_of

KEPT = "panes_kept"
OUTPUT, LANE, OWN_LANE, CALL, FRAME = "panes_out_", "panes_lane_", "panes_own_", "panes_call_", "panes_frame_"
NOWHERE = Span(Source(""), 0, 0)
CHANGES = EmitClause(Emit.CHANGES, NOWHERE)
LATE_ROWS = LateRowsClause("late", NOWHERE)
_ALL = Frame(Unit.ROWS, UNBOUNDED_PRECEDING, UNBOUNDED_FOLLOWING)


def results(plan: DataSink, functions: Functions) -> DataSink:
    """The user's query; its outputs are numbered, for two may have one name."""
    top = plan.input
    if not isinstance(top, Project):
        return plan
    carried = carry(top.input)
    below = carried.plan if carried is not None else top.input
    ids = [Field(carried.id, ID)] if carried is not None else []
    numbered = replace(plan, input=Project(below, (*_named(OUTPUT, [one.expr for one in top.fields]), *ids)))
    return replace(numbered, late=LATE_ROWS) if _can_be_late(lower(plan, functions)) else numbered


def _can_be_late(plan: physical.Plan) -> bool:
    nodes = list(_nodes(plan))
    late = any(isinstance(node, Stateful) and node.placement.late for node in nodes)
    return late and not any(isinstance(node, physical.SparkQuery) for node in nodes)


def _nodes(plan: physical.Plan) -> Iterator[physical.Plan]:
    yield plan
    for child in physical.children(plan):
        yield from _nodes(child)


def points(reads: Reading, emit: EmitClause | None) -> DataSink | None:
    """What an operator reads. Of a stateful operator below it come the values, and the lanes of its own."""
    carried = carry(reads.base)
    if carried is None:
        return None
    kept = [Field(reads.kept, KEPT)] if reads.kept is not None else []
    own: list[Field] = []
    if isinstance(reads.base, StatefulFunction):
        over = reads.base.calls[0].call.over
        own += _named(OWN_LANE, over.partition_by if over is not None else ())
        own += _named(CALL, [expr(one.name) for one in reads.base.calls])
    return DataSink(carried.projected(*_named(LANE, reads.lanes), *kept, *own), emit=_immediately(emit))


def windows(operator: Operator, emit: EmitClause | None) -> DataSink | None:
    """The windows of an operator, without what stands above them."""
    below, window = carry(operator.input), window_of(operator.node)
    assert window is not None
    if below is None:
        return None
    keys = tuple(_named(LANE, operator.keys))
    whole = grouped(below.plan, replace(window, keys=()), Aggregation(window, keys, ()))
    lanes = [Field(expr(one.name), one.name) for one in keys]
    return DataSink(whole.projected(*lanes), emit=CHANGES if is_time_window(operator.node) else _immediately(emit))


def _immediately(emit: EmitClause | None) -> EmitClause | None:
    """What EMIT says below the last operator, too."""
    return emit if emit is not None and emit.emit is Emit.IMMEDIATELY else None


def frames(overs: Sequence[OverWindow]) -> DataSink | None:
    """The frames of an OVER operator; as changes, so that any frame can be asked for."""
    below, first = carry(overs[0].input), overs[0]
    if below is None:
        return None
    calls = [one.call for over in overs for one in over.calls]
    computed = tuple(Computed(f"{FRAME}{number}", frame_call(call, below.id)) for number, call in enumerate(calls))
    plan: Plan = OverWindow(below.plan, first.partition_by, first.order_by, computed)
    fields = _named(FRAME, [expr(one.name) for one in computed])
    return DataSink(Carried(plan, below.id).projected(*fields), emit=CHANGES)


def frame_call(call: Call, ids: Expr) -> Call:
    """A call whose value is the rows on which the value of another call depends.

    `sum(a) OVER (… ROWS 2 PRECEDING)` becomes `collect_list(id) OVER (… ROWS 2 PRECEDING)`, `lag(a, 2)` `lag(id, 2)`.
    """
    over, reach = call.over or Over(), reach_of(call.name)
    match reach:
        case Reach.FRAME:
            return Call("collect_list", (ids,), filter=call.filter, over=over)
        case Reach.RANK:
            return Call("collect_list", (ids,), over=replace(over, frame=None))
        case Reach.PARTITION:
            return Call("collect_list", (ids,), over=replace(over, frame=_ALL))
        case Reach.BACK | Reach.AHEAD:
            return replace(call, args=(ids, *call.args[1:2]), ignore_nulls=None)
        case _:
            assert_never(reach)


def _named(prefix: str, exprs: Sequence[Expr]) -> list[Field]:
    return [Field(one, f"{prefix}{number}") for number, one in enumerate(exprs)]
