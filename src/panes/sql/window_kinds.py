"""The six kinds of window: the same in SQL and in plans, but for what an expression is in each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar, assert_never

from panes.explain import Info
from panes.sql.duration import TimeUnit, spelled

E = TypeVar("E")
Other = TypeVar("Other")


@dataclass(frozen=True)
class InTime:
    """A window whose lengths count in `time_unit`."""

    time_unit: TimeUnit

    def microseconds(self, length: int) -> int:
        return length * self.time_unit.microseconds


@dataclass(frozen=True, kw_only=True)
class Aligned(InTime):
    """Windows that start at multiples of a length, `offset` microseconds later, by the clock of `zone`, else UTC."""

    offset: int = 0
    zone: str | None = None

    @property
    def is_moved(self) -> bool:
        return self.offset != 0 or self.zone is not None


class Window:
    """The kinds of window. Those without a partition of their own are kept for each key of GROUP BY."""

    @dataclass(frozen=True)
    class Tumbling(Aligned):
        length: int

    @dataclass(frozen=True)
    class Hopping(Aligned):
        size: int
        hop: int

    @dataclass(frozen=True)
    class Session(InTime):
        gap: int

    @dataclass(frozen=True)
    class Count(Generic[E]):
        count: int
        every: int | None = None
        partition_by: tuple[E, ...] = ()

    @dataclass(frozen=True)
    class Sliding(InTime, Generic[E]):
        lookback: int
        lookahead: int | None = None
        partition_by: tuple[E, ...] = ()
        when: E | None = None

    @dataclass(frozen=True)
    class State(Generic[E]):
        open: E
        emit: E
        partition_by: tuple[E, ...] = ()


TimeWindow: TypeAlias = Window.Tumbling | Window.Hopping | Window.Session
PartitionedWindow: TypeAlias = Window.Count[E] | Window.Sliding[E] | Window.State[E]
WindowKind: TypeAlias = TimeWindow | PartitionedWindow[E]


def partition_of(kind: WindowKind[E]) -> tuple[E, ...] | None:
    """What a window is partitioned by itself; None for one that is kept for each key of GROUP BY."""
    match kind:
        case Window.Tumbling() | Window.Hopping() | Window.Session():
            return None
        case Window.Count() | Window.Sliding() | Window.State():
            return kind.partition_by
        case _:
            assert_never(kind)


def size_and_hop(kind: Window.Tumbling | Window.Hopping) -> tuple[int, int]:
    """In microseconds."""
    size, hop = (kind.length, kind.length) if isinstance(kind, Window.Tumbling) else (kind.size, kind.hop)
    return kind.microseconds(size), kind.microseconds(hop)


def mapped(kind: WindowKind[E], change: Callable[[E], Other]) -> WindowKind[Other]:
    """The same window with other expressions."""
    match kind:
        case Window.Tumbling() | Window.Hopping() | Window.Session():
            return kind
        case Window.Count(count=count, every=every, partition_by=keys):
            return Window.Count(count, every, tuple(map(change, keys)))
        case Window.Sliding(lookback=lookback, lookahead=lookahead, partition_by=keys, when=when):
            condition = change(when) if when is not None else None
            return Window.Sliding(kind.time_unit, lookback, lookahead, tuple(map(change, keys)), condition)
        case Window.State(open=opened, emit=emit, partition_by=keys):
            return Window.State(change(opened), change(emit), tuple(map(change, keys)))
        case _:
            assert_never(kind)


def kind_info(kind: WindowKind[str]) -> Info:
    """A window as `kind=sliding, unit=ss, lookback=10, lookahead=none`."""
    match kind:
        case Window.Tumbling(time_unit=unit, length=length):
            return {"kind": "tumbling", "unit": unit.value, "length": length, **_alignment(kind)}
        case Window.Hopping(time_unit=unit, size=size, hop=hop):
            return {"kind": "hopping", "unit": unit.value, "size": size, "hop": hop, **_alignment(kind)}
        case Window.Session(time_unit=unit, gap=gap):
            return {"kind": "session", "unit": unit.value, "gap": gap}
        case Window.Count(count=count, every=every):
            return {"kind": "count", "count": count, "every": every}
        case Window.Sliding(time_unit=unit, lookback=lookback, lookahead=lookahead, when=when):
            info: Info = {"kind": "sliding", "unit": unit.value, "lookback": lookback, "lookahead": lookahead}
            return info | ({"when": when} if when is not None else {})
        case Window.State(open=opened, emit=emit):
            return {"kind": "state", "open": opened, "emit": emit}
        case _:
            assert_never(kind)


def _alignment(kind: Aligned) -> Info:
    """The options that are given."""
    offset: Info = {"offset": spelled(kind.offset)} if kind.offset else {}
    return offset | ({"zone": kind.zone} if kind.zone is not None else {})
