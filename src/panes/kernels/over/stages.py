"""Which stage computes which OVER call, and how a frame from UNBOUNDED PRECEDING becomes a running value and a pick.

sum(v) OVER (… ROWS UNBOUNDED PRECEDING .. 2 PRECEDING)
→  running:  sum(v) up to each row
   tail:     that of the row two before
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from panes.frames import Edge, Unit
from panes.functions.aggregates import Pick
from panes.functions.over import Reach
from panes.kernels.aggregates.accumulator import AS_IS, Accumulator
from panes.kernels.aggregates.accumulators import one_value
from panes.kernels.over.calls import AGGREGATE, OverCall
from panes.kernels.over.running import NUMBER, RANKS


@dataclass(frozen=True)
class Stages:
    """The calls of each stage. `named` are outputs that are columns of the first stage under another name."""

    running: tuple[OverCall, ...]
    recent: tuple[OverCall, ...]
    tail: tuple[OverCall, ...]
    named: dict[str, str]


def staged(calls: Sequence[OverCall]) -> Stages:
    running: list[OverCall] = []
    recent: list[OverCall] = []
    tail: list[OverCall] = []
    named: dict[str, str] = {}
    for call in calls:
        match call.reach:
            case Reach.RANK:
                named[call.output] = RANKS[call.function]
            case Reach.BACK | Reach.AHEAD:
                tail.append(replace(call, frame=None))
            case Reach.PARTITION:
                raise AssertionError(f"{call.function} is never final")
            case Reach.FRAME:
                assert call.frame is not None
                sums = _running(call) if call.frame.start.edge is Edge.UNBOUNDED_PRECEDING else []
                running += sums
                pick = OverCall(Pick.LAST.value, (sums[-1].output,), call.output, call.frame) if sums else call
                if call.frame.unit is Unit.RANGE:
                    recent.append(pick)
                elif sums and call.frame.end.edge is Edge.CURRENT_ROW:
                    named[call.output] = sums[-1].output
                else:
                    tail.append(pick)
            case _:
                assert_never(call.reach)
    return Stages(tuple(running), tuple(recent), tuple(tail), named)


def _running(call: OverCall) -> list[OverCall]:
    """The running aggregates that a call needs, its own the last one. What ends a frame needs none."""
    own = replace(call, output=f"running {call.output}", function=AGGREGATE)
    return [own] if call.accumulator is not None else RUNNING_PICKS[call.function](call, own)


def _running_first(call: OverCall, own: OverCall) -> list[OverCall]:
    return [replace(own, accumulator=one_value("min", "", _seen(call)))]


def _running_last(call: OverCall, own: OverCall) -> list[OverCall]:
    return [replace(own, accumulator=one_value("max", "", _seen(call)))] if call.ignore_nulls else []


def _running_nth(call: OverCall, own: OverCall) -> list[OverCall]:
    if not call.ignore_nulls:
        return [replace(own, args=(*call.args, NUMBER), accumulator=one_value("min", "", f"$y = {call.offset}"))]
    seen = replace(own, output=f"seen {call.output}", accumulator=SEEN_VALUES)
    nth = one_value("min", "", f"{_seen(call)} AND $y = {call.offset}")
    return [seen, replace(own, args=(*call.args, seen.output), accumulator=nth)]


def _seen(call: OverCall) -> str | None:
    return "$x IS NOT NULL" if call.ignore_nulls else None


RUNNING_PICKS: dict[str, Callable[[OverCall, OverCall], list[OverCall]]] = {
    "first_value": _running_first,
    "last_value": _running_last,
    "nth_value": _running_nth,
}
SEEN_VALUES = Accumulator("count($x) $w", "sum($s)::BIGINT", "$s", "bigint", AS_IS)
