"""What the promise covers of a case: in which ways its rows may come without any change in the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from panes.physical.chain import Stateful
from panes.physical.plan import (
    EmitMode,
    Mode,
    Normalize,
    OverWindow,
    Pair,
    Placement,
    Plan,
    Window,
    children,
    spark_keeps_state,
)
from panes.sql.window_kinds import Window as Kinds
from panes.testing.variants import Arrival, Batches


class Freedom(Enum):
    """What may differ. Restarts, kills and shards always may."""

    ORDER = "micro-batches and the order within the delay"
    CUTS = "micro-batches"
    RESTARTS = "neither micro-batches nor order"


@dataclass(frozen=True)
class Covered:
    """What the promise lets differ, and why it is no more."""

    freedom: Freedom
    why: str = ""


def covered(plan: Plan, batches: Batches, delays: Mapping[str, int | None]) -> Covered:
    """What may differ for a query over these rows; `delays` are those of the streams, None without a watermark."""
    placements = [node.placement for node in _nodes(plan) if isinstance(node, Stateful)]
    late = sum(
        late_rows([row for batch in batches for row in batch if row.stream == name], delays[name]) for name in delays
    )
    if spark_keeps_state(plan):
        return Covered(Freedom.RESTARTS, "Spark keeps state for a part of the query")
    if any(_reads_arrival_time(node) for node in _nodes(plan)):
        return Covered(Freedom.RESTARTS, "the query reads the time of rows in arrival mode")
    if late and any(placement.waits and placement.mode is Mode.EVENT_TIME for placement in placements):
        noun = "row is" if late == 1 else "rows are"
        return Covered(Freedom.RESTARTS, f"{late} {noun} late: which of them are dropped, micro-batches decide")
    if any(_follows_arrival(node) for node in _nodes(plan)):
        return Covered(Freedom.CUTS, "the query follows the order of arrival")
    return Covered(Freedom.ORDER)


def _nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for child in children(plan):
        yield from _nodes(child)


def _reads_arrival_time(node: Plan) -> bool:
    if not isinstance(node, Stateful) or node.placement.mode is not Mode.ARRIVAL:
        return False
    if isinstance(node, Window):
        return bool(node.bounds) or not isinstance(node.kind, Kinds.Count | Kinds.State) or _expires(node.placement)
    return _expires(node.placement)


def _expires(placement: Placement) -> bool:
    return placement.state_ttl is not None


def _follows_arrival(node: Plan) -> bool:
    if isinstance(node, Normalize | Pair) or (isinstance(node, OverWindow) and node.reads_changes):
        return True
    if not isinstance(node, Stateful):
        return False
    return node.placement.mode is Mode.ARRIVAL or node.placement.emit is EmitMode.IMMEDIATELY


def late_rows(rows: Sequence[Arrival], delay: int | None) -> int:
    """How many rows of a stream are older than the largest time before them less the delay.

    >>> late_rows([Arrival("s", (), 10), Arrival("s", (), 4), Arrival("s", (), 5)], delay=5)
    1
    """
    if delay is None:
        return 0
    late, largest = 0, None
    for row in rows:
        if row.time is not None:
            late += largest is not None and row.time < largest - delay
            largest = row.time if largest is None else max(largest, row.time)
    return late
