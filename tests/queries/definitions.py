"""Windows and stateful functions as plain Python says them, over all rows at once, in the stream's order."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from .calls import Stateful

SECOND = 1_000_000


@dataclass(frozen=True)
class Kind:
    """A window: its name, its numbers in microseconds or rows, and the zone of its days."""

    name: str
    numbers: tuple[int | None, ...] = ()
    zone: str | None = None


@dataclass(frozen=True)
class Member:
    """A row: where it is, its time in microseconds, and the conditions that stand in the window's call."""

    at: int
    time: int
    open: bool = False
    emit: bool = False


@dataclass(frozen=True)
class Found:
    start: int
    end: int
    rows: Sequence[Member]
    trigger: int | None = None


def windows(kind: Kind, rows: Sequence[Member]) -> Iterable[Found]:
    """The windows of one partition's rows, which are in order."""
    match kind:
        case Kind("tumblingwindow", (int(size), int(offset)), zone):
            return _hops(rows, size, size, offset, zone)
        case Kind("hoppingwindow", (int(size), int(hop), int(offset)), zone):
            return _hops(rows, size, hop, offset, zone)
        case Kind("sessionwindow", (int(gap),)):
            return _sessions(rows, gap)
        case Kind("countwindow", (int(count), every)):
            return _counts(rows, count, every)
        case Kind("slidingwindow", (int(back), ahead)):
            low_high = [(one.time - back, one.time + (ahead or 0), one) for one in rows if one.open]
            return [
                Found(low, high, [row for row in rows if low <= row.time <= high], one.time)
                for low, high, one in low_high
            ]
        case Kind("statewindow"):
            return _states(rows)
        case _:
            raise NotImplementedError(kind)


def _hops(rows: Sequence[Member], size: int, hop: int, offset: int, zone: str | None) -> Iterator[Found]:
    """Windows that are regular by the clock of a zone; a row's time there says which it is in."""
    found: dict[int, list[Member]] = defaultdict(list)
    for row in rows:
        shown = row.time if zone is None else _shown(row.time, ZoneInfo(zone))
        start = (shown - offset) // hop * hop + offset
        while start > shown - size:
            found[start].append(row)
            start -= hop
    return (Found(_instant(start, zone), _instant(start + size, zone), members) for start, members in found.items())


EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


def _shown(time: int, zone: ZoneInfo) -> int:
    local = (EPOCH + time * MICROSECOND).astimezone(zone)
    return (local.replace(tzinfo=UTC) - EPOCH) // MICROSECOND


def _instant(shown: int, zone: str | None) -> int:
    """Where no clock changes: near the rows that there are, none does."""
    if zone is None:
        return shown
    return (((EPOCH + shown * MICROSECOND).replace(tzinfo=ZoneInfo(zone))) - EPOCH) // MICROSECOND


def _sessions(rows: Sequence[Member], gap: int) -> Iterator[Found]:
    session: list[Member] = []
    for row in sorted(rows, key=lambda one: one.time):
        if session and row.time - session[-1].time > gap:
            yield Found(session[0].time, session[-1].time + gap, session)
            session = []
        session = [*session, row]
    if session:
        yield Found(session[0].time, session[-1].time + gap, session)


def _counts(rows: Sequence[Member], count: int, every: int | None) -> Iterator[Found]:
    step = every or count
    found = [rows[stop - count : stop] for stop in range(step, len(rows) + 1, step) if stop >= count]
    if rows and (len(rows) % step or len(rows) < count):
        found.append(rows[len(rows) - len(rows) % count :] if every is None else rows[-count:])
    return (Found(one[0].time, one[-1].time, one) for one in found)


def _states(rows: Sequence[Member]) -> Iterator[Found]:
    active: list[Member] = []
    for row in rows:
        if active:
            active.append(row)
            if row.emit:
                yield Found(active[0].time, active[-1].time, active)
                active = []
        elif row.open:
            active = [row]
    if active:
        yield Found(active[0].time, active[-1].time, active)


# ── Stateful functions ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Memory:
    """What a call remembers of a partition."""

    values: list[Any] = field(default_factory=list)
    last: dict[int, Any] = field(default_factory=dict)
    value: Any = None
    counting: bool = False


@dataclass(frozen=True)
class Given:
    """What a call is given by a row."""

    args: Sequence[Any]
    accepted: bool = True
    default: Any = None
    begin: bool = True
    reset: bool = False


def value(call: Stateful, memory: Memory, row: Given) -> Any:
    """The value of a call for a row."""
    match call.function:
        case "lag":
            before = list(memory.values)
            if row.accepted and not (call.ignore_nulls and row.args[0] is None):
                memory.values.append(row.args[0])
            return before[-call.n] if len(before) >= call.n else row.default
        case "latest":
            if row.accepted and row.args[0] is not None:
                memory.value = row.args[0]
            return memory.value if memory.value is not None else row.default
        case "had_changed" | "changed_col":
            changed = False
            for number, arg in enumerate(row.args):
                if row.accepted and not (call.ignore_nulls and arg is None):
                    changed |= number not in memory.last or not _equal(memory.last[number], arg)
                    memory.last[number] = arg
            return changed if call.function == "had_changed" else row.args[0] if changed else None
        case "row_number":
            memory.value = (memory.value or 0) + 1 if row.accepted else memory.value
            return memory.value
        case _:
            memory.counting = memory.counting or row.begin
            if memory.counting and row.accepted and row.args[0] is not None:
                memory.values.append(row.args[0])
            result = _folded(call.function, memory.values)
            if row.reset:
                memory.values, memory.counting = [], False
            return result


def _equal(left: Any, right: Any) -> bool:
    return left == right or (left is not None and right is not None and left != left and right != right)


def _folded(function: str, values: list[Any]) -> Any:
    if function == "acc_sum":
        return sum(values)
    if function == "acc_count":
        return len(values)
    if not values:
        return None
    if function == "acc_avg":
        return sum(values) / len(values)
    pick = min if function == "acc_min" else max
    return pick(values, key=lambda one: (isinstance(one, float) and math.isnan(one), one))
