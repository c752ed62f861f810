"""Where an operator stands in a chain of stateful ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, assert_never

from panes.physical.plan import (
    DataSource,
    Normalize,
    OverWindow,
    Plan,
    SparkQuery,
    StatefulFunction,
    Watermark,
    Window,
    children,
)
from panes.sql.window_kinds import Window as Kinds
from panes.sql.window_kinds import kind_info

Stateful: TypeAlias = StatefulFunction | Window | OverWindow | Normalize


def operator_name(plan: Stateful) -> str:
    """What an operator is called in an error."""
    match plan:
        case Window(kind=kind):
            return f"{kind_info(kind)['kind']}window"
        case OverWindow():
            return "OVER"
        case StatefulFunction():
            return "stateful functions"
        case Normalize():
            return "the changelog"
        case _:
            assert_never(plan)


def is_clocked(plan: Plan) -> bool:
    """Whether the clock is attached below: by another operator, or at the source where Spark runs a part above it."""
    if isinstance(plan, Stateful) or (isinstance(plan, SparkQuery) and any(watermarks(plan))):
        return True
    return any(is_clocked(child) for child in children(plan))


def reads_through_spark(plan: Plan) -> bool:
    """Whether an operator reads a part that Spark runs."""
    if isinstance(plan, Stateful) and _spark_below(plan):
        return True
    return any(reads_through_spark(child) for child in children(plan))


def _spark_below(plan: Plan) -> bool:
    return isinstance(plan, SparkQuery) or any(_spark_below(child) for child in children(plan))


def watermarks(plan: Plan) -> Iterator[Watermark]:
    """The watermarks of a plan."""
    if isinstance(plan, Watermark):
        yield plan
    for child in children(plan):
        yield from watermarks(child)


def streams_before_operators(plan: Plan) -> Iterator[str]:
    """The streams that are read without a stateful operator between: one below has heard their heartbeats already."""
    if isinstance(plan, DataSource):
        yield plan.stream
    if not isinstance(plan, Stateful):
        for child in children(plan):
            yield from streams_before_operators(child)


def operators_below(plan: Plan) -> int:
    """How many stateful operators there are; above the first the clock is there already."""
    return isinstance(plan, Stateful) + sum(operators_below(child) for child in children(plan))


def sessions_below(plan: Plan) -> int:
    """How many session windows there are below.

    A session that ends at the watermark is still open (`end < W`) where another window that ends there is closed
    (`end <= W`): what stands above a session looks at the clock a microsecond later, so that it misses none.
    """
    own = isinstance(plan, Window) and isinstance(plan.kind, Kinds.Session)
    return own + sum(sessions_below(child) for child in children(plan))
