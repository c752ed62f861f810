"""What an operator can wait for, as far as the identity of its state tells: of checkpoints that have nothing else.

Identities say what must not change. A delay may, and so may what OVER computes: these are not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from panes.physical.identity import Identity
from panes.sql.duration import microseconds
from panes.why.plan import OperatorPlan, QueryPlan, Waits

AT_ONCE = ("changes", "immediately")


def plan_of_identities(identities: list[Identity]) -> QueryPlan:
    operators = [operator_of(number, one.depends_on) for number, one in enumerate(identities)]
    return QueryPlan((), tuple(one for one in operators if one is not None), knows_streams=False)


def operator_of(number: int, known: Mapping[str, Any]) -> OperatorPlan | None:
    """An operator by what its state depends on; None if it is a part that Spark runs."""
    if "operator" not in known:
        return None
    emits = known.get("emit")
    size = known.get("size") if known.get("zone") is None else None
    return OperatorPlan(
        number,
        known["operator"],
        Waits.NOTHING if emits in AT_ONCE or known["operator"] == "the changelog" else _waits(known),
        waits_for_clock=bool(known.get("waits")) and known.get("mode") == "event_time",
        emits=emits,
        size=_length(size),
        gap=_length(known.get("gap")),
        count=known.get("count"),
        every=known.get("every"),
        opens=known.get("open"),
        condition=known.get("emit on"),
        partition_by=tuple(known.get("partition by", ())),
        state_ttl=_length(known.get("state_ttl")),
    )


def _waits(known: Mapping[str, Any]) -> Waits:
    if "size" in known or "gap" in known or "lookback" in known:
        return Waits.WATERMARK
    if "emit on" in known:
        return Waits.CONDITION
    if "count" in known:
        return Waits.COUNT
    return Waits.UNKNOWN if "order by" in known else Waits.WATERMARK


def _length(text: str | None) -> int | None:
    """A length as identities have it, `0.0015 s`."""
    if text is None:
        return None
    whole, _, rest = text.removesuffix(" s").partition(".")
    return microseconds(f"{whole} seconds") + int(f"{rest:0<6}")
