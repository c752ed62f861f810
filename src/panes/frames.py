"""Frames of OVER: the same in SQL, in plans and in kernels, but for what an offset is in each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from panes.source import Span

Offset = TypeVar("Offset")
Other = TypeVar("Other")


class Unit(StrEnum):
    ROWS = "ROWS"
    RANGE = "RANGE"


class Edge(StrEnum):
    """Where a frame can begin and end, in the order in which these lie around a row."""

    UNBOUNDED_PRECEDING = "UNBOUNDED PRECEDING"
    PRECEDING = "PRECEDING"
    CURRENT_ROW = "CURRENT ROW"
    FOLLOWING = "FOLLOWING"
    UNBOUNDED_FOLLOWING = "UNBOUNDED FOLLOWING"

    @property
    def has_offset(self) -> bool:
        return self in (Edge.PRECEDING, Edge.FOLLOWING)


@dataclass(frozen=True)
class Bound(Generic[Offset]):
    """An end of a frame; PRECEDING and FOLLOWING have an offset."""

    edge: Edge
    offset: Offset | None = None

    def map(self, change: Callable[[Offset], Other]) -> Bound[Other]:
        """The same bound with another offset."""
        return Bound(self.edge, change(self.offset) if self.offset is not None else None)


@dataclass(frozen=True)
class Frame(Generic[Offset]):
    unit: Unit
    start: Bound[Offset]
    end: Bound[Offset]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def ends(self) -> tuple[Bound[Offset], Bound[Offset]]:
        return self.start, self.end

    def map(self, change: Callable[[Offset], Other]) -> Frame[Other]:
        """The same frame with other offsets."""
        return Frame(self.unit, self.start.map(change), self.end.map(change), self.span)

    @property
    def is_running(self) -> bool:
        """Whether it goes from the first row of the partition to the row itself."""
        return self.start.edge is Edge.UNBOUNDED_PRECEDING and self.end.edge is Edge.CURRENT_ROW


def frame_sql(frame: Frame[str]) -> str:
    """A frame as SQL writes it.

    >>> frame_sql(Frame(Unit.ROWS, Bound(Edge.PRECEDING, "2"), Bound(Edge.CURRENT_ROW)))
    'ROWS BETWEEN 2 PRECEDING AND CURRENT ROW'
    """
    return f"{frame.unit} BETWEEN {bound_sql(frame.start)} AND {bound_sql(frame.end)}"


def bound_sql(bound: Bound[str]) -> str:
    return bound.edge if bound.offset is None else f"{bound.offset} {bound.edge}"
