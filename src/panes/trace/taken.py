"""Which points an operator takes in, and in which step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from panes.logical.plan import DataSource, StatefulFunction
from panes.sql.statements import Emit
from panes.trace.lineage import ID, Origin, origin
from panes.trace.model import Lane, Point, Row, Value
from panes.trace.operators import Operator, is_time_window
from panes.trace.plans import Plans, column_lanes, points
from panes.trace.rows import Clock
from panes.trace.runs import Out
from panes.trace.values import plain
from panes.trace.variants import CALL, KEPT, LANE, OWN_LANE


@dataclass(frozen=True)
class Taken:
    """The points of an operator: by what they come from, those that are kept, and the rest in the same order."""

    points: tuple[Point, ...]
    numbers: Mapping[Origin, int]
    dropped: frozenset[int]  # by WHERE, of those that Panes was asked for


@dataclass(frozen=True)
class Known:
    """What is known of the rows before any operator is looked at."""

    columns: tuple[str, ...]
    rows: Mapping[int, Row]
    late: Mapping[int, int | None]
    clock: Clock


def taken(plans: Plans, number: int, known: Known, outs: Mapping[str, Out]) -> Taken:
    """What the operator of this number takes in."""
    reads = plans.readings[number]
    operator = plans.operators[number] if number < len(plans.operators) else None
    found = _asked(outs[points(number)]) if points(number) in outs else None
    if isinstance(reads.base, DataSource):
        return _rows(plans, number, known, found, operator)
    assert found is not None
    steps = {one.origin: _step(plans, operator, one, known) for one in found}
    return _numbered(found, steps, known)


@dataclass(frozen=True)
class Asked:
    """A point as it came out of its variant."""

    origin: Origin
    step: int
    lane: Lane
    kept: bool
    own: Lane = ()
    values: tuple[Value, ...] = ()


def _asked(out: Out) -> list[Asked]:
    return [
        Asked(
            origin(row[ID]),
            step,
            values_of(row, LANE),
            bool(row.get(KEPT, True)),
            values_of(row, OWN_LANE),
            values_of(row, CALL),
        )
        for step, rows in enumerate(out)
        for row in rows
    ]


def values_of(row: Mapping[str, object], prefix: str) -> tuple[Value, ...]:
    """The values of numbered columns, in their order."""
    return tuple(plain(value) for name, value in row.items() if name.startswith(prefix))


def stateful(out: Out, known: Known) -> tuple[Point, ...]:
    """What a stateful operator made of its rows, from what was asked for by the one above it."""
    return tuple(
        Point(one.origin.row or 0, one.own, _time(one.origin, known), one.step, one.origin.rows, one.values)
        for one in _asked(out)
    )


def _rows(plans: Plans, number: int, known: Known, found: Sequence[Asked] | None, operator: Operator | None) -> Taken:
    """Rows of a stream."""
    asked = {one.origin.row: one for one in found or ()}
    columns = column_lanes(plans.readings[number])
    made: list[Point] = []
    dropped: set[int] = set()
    for row in known.rows.values():
        one = asked.get(row.id)
        lane = one.lane if one is not None else _lane(row, known.columns, columns or ())
        if one is not None and not one.kept:
            dropped.add(row.id)
        out = row.id in known.late or row.id in dropped or (row.time is None and not known.clock.arrival)
        step = None if out else _row_step(plans, operator, row, known)
        made.append(Point(row.id, lane, row.time, step, (row.id,)))
    return Taken(tuple(made), {Origin(row=row): row for row in known.rows}, frozenset(dropped))


def _lane(row: Row, columns: Sequence[str], lanes: Sequence[str]) -> Lane:
    return tuple(row.values[columns.index(name)] for name in lanes)


def _row_step(plans: Plans, operator: Operator | None, row: Row, known: Known) -> int | None:
    return row.step if _takes_at_once(plans, operator) else known.clock.released(row.time, row.step)


def _takes_at_once(plans: Plans, operator: Operator | None) -> bool:
    """Whether an operator takes rows as they come, and does not wait for the watermark."""
    if operator is None or is_time_window(operator.node):
        return True
    if isinstance(operator.node, tuple):
        return plans.emits_changes(operator)
    return plans.plan.emit is not None and plans.plan.emit.emit is Emit.IMMEDIATELY


def _step(plans: Plans, operator: Operator | None, one: Asked, known: Known) -> int | None:
    """Results of an operator below: those that pass WHERE."""
    if not one.kept:
        return None
    if _takes_at_once(plans, operator) or isinstance(plans.readings[0].base, StatefulFunction):
        return one.step
    time = _time(one.origin, known)
    return known.clock.released(time, one.step) if time is not None else one.step


def _time(from_: Origin, known: Known) -> int | None:
    """The time of a row, or the end of a window."""
    if from_.row is not None:
        return known.rows[from_.row].time
    return from_.end - 1 if from_.end is not None else None


def _numbered(found: Sequence[Asked], steps: Mapping[Origin, int | None], known: Known) -> Taken:
    """Results of an operator below get numbers; rows that only passed through keep theirs."""
    by_row = all(one.origin.row is not None for one in found)
    numbers: dict[Origin, int] = {}
    made: list[Point] = []
    for one in found:
        if one.origin in numbers:
            continue
        numbers[one.origin] = one.origin.row if by_row and one.origin.row is not None else len(numbers) + 1
        step = steps[one.origin]
        time = _time(one.origin, known)
        made.append(Point(numbers[one.origin], one.lane, time, step, one.origin.rows, one.values))
    dropped = frozenset(one.origin.row for one in found if not one.kept and one.origin.row is not None)
    return Taken(tuple(made), numbers, dropped)
