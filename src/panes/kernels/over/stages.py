"""Which stage computes which OVER call, and how a frame from UNBOUNDED PRECEDING becomes a running value and a pick.

sum(v) OVER (… ROWS UNBOUNDED PRECEDING .. 2 PRECEDING)
→  running:  sum(v) up to each row
   tail:     that of the row two before
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from panes.kernels.aggregates.accumulators import Accumulator
from panes.kernels.over.evaluate import Edge, OverCall
from panes.kernels.over.running import DENSE, NUMBER, RANK

RANKS = {"row_number": NUMBER, "rank": RANK, "dense_rank": DENSE}


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
        if call.function in RANKS:
            named[call.output] = RANKS[call.function]
            continue
        if call.function in ("lag", "lead"):
            tail.append(replace(call, frame=None))
            continue
        assert call.frame is not None
        sums = _running(call) if call.frame.start.edge is Edge.UNBOUNDED_PRECEDING else []
        running += sums
        pick = OverCall("last_value", (sums[-1].output,), call.output, call.frame) if sums else call
        if call.frame.unit == "RANGE":
            recent.append(pick)
        elif sums and call.frame.end.edge is Edge.CURRENT_ROW:
            named[call.output] = sums[-1].output
        else:
            tail.append(pick)
    return Stages(tuple(running), tuple(recent), tuple(tail), named)


def _running(call: OverCall) -> list[OverCall]:
    """The running aggregates that a call needs, its own the last one. What ends a frame needs none."""
    own = replace(call, output=f"running {call.output}", function="aggregate")
    x = "$x IS NOT NULL" if call.ignore_nulls else None
    match call.function:
        case "aggregate":
            return [own]
        case "first_value":
            return [replace(own, accumulator=_one("min", x))]
        case "last_value" if call.ignore_nulls:
            return [replace(own, accumulator=_one("max", x))]
        case "nth_value" if call.ignore_nulls:
            seen = replace(own, output=f"seen {call.output}", accumulator=SEEN_VALUES)
            nth = _one("min", f"{x} AND $y = {call.offset}")
            return [seen, replace(own, args=(*call.args, seen.output), accumulator=nth)]
        case "nth_value":
            return [replace(own, args=(*call.args, NUMBER), accumulator=_one("min", f"$y = {call.offset}"))]
    return []


SEEN_VALUES = Accumulator("count($x) $w", "sum($s)::BIGINT", "$s", "bigint", "$v")


def _one(pick: str, counts: str | None) -> Accumulator:
    """The first or the last value of those that count."""
    return Accumulator(f"{pick}({{'o': $o, 'v': $x}}) $w", f"{pick}($s)", "$s.v", "", "$v", counts, ordered=True)
