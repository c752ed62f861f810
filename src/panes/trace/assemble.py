"""What came out of the variants → a Trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from panes.catalog import CHANGE_TYPE, Stream
from panes.kernels.late_rows import CLOCK, LATE, ROW
from panes.logical.plan import DataSource, StatefulFunction
from panes.testing.replay import Stream as Scripted
from panes.trace import plans as names
from panes.trace.levels import level_of
from panes.trace.lineage import ID
from panes.trace.model import Fate, Level, Row, StreamTrace, Trace
from panes.trace.outcome import results_of
from panes.trace.plans import RESULTS, Plans
from panes.trace.rows import Clock, rows_of, watermarks
from panes.trace.runs import Out, Runs
from panes.trace.taken import Known, Taken, taken
from panes.trace.values import micros_of

SPARK = "Spark runs a part of this query: which rows made a result, and which were late, is not known."


def assemble(
    sql: str,
    declared: Mapping[str, Stream],
    numbered: Mapping[str, Scripted],
    plans: Plans,
    runs: Runs,
    flush: bool,
    times: Sequence[str | datetime],
) -> Trace:
    """Run the variants, and make a trace of what came out."""
    outs = runs.run(plans.first(flush))
    late = _late(outs[RESULTS])
    outs |= runs.run(plans.then(frozenset(late)))
    steps = len(outs[RESULTS])
    streams = {name: _stream(declared[name], numbered[name], times, steps, flush) for name in numbered}
    if not plans.is_carried or plans.stream is None:
        columns, results = results_of(plans, outs[RESULTS], (), (), {})
        return Trace(sql, tuple(map(_unknown, streams.values())), steps, flush, (), columns, results, (SPARK,))

    read = next(one for name, one in streams.items() if name.lower() == plans.stream.lower())
    clock = Clock(read.watermarks, flush, arrival=read.time is None or read.changelog)
    known = Known(read.columns, {row.id: row for row in read.rows}, late, clock)
    taken_in = tuple(taken(plans, number, known, outs) for number in range(len(plans.operators)))
    levels = tuple(level_of(plans, number, taken_in[number], known, outs, steps) for number in range(len(taken_in)))
    columns, results = results_of(plans, outs[RESULTS], levels, taken_in, known.rows)
    judged = _judged(read, _fates(plans, levels, taken_in, known, outs))
    others = [one for one in streams.values() if one is not read]
    return Trace(sql, (judged, *others), steps, flush, levels, columns, results)


def _late(out: Out) -> dict[int, int | None]:
    """The late rows, and the watermark that each missed."""
    late = [row[LATE] for rows in out for row in rows if row.get(LATE) is not None]
    return {one[ROW][ID]: micros_of(one[CLOCK]) for one in late}


def _stream(
    stream: Stream, numbered: Scripted, times: Sequence[str | datetime], steps: int, flush: bool
) -> StreamTrace:
    rows = rows_of(stream, numbered, times)
    columns = ((CHANGE_TYPE,) if stream.changelog else ()) + stream.column_names
    clock = watermarks(stream, rows, steps, flush)
    return StreamTrace(stream.name, columns, rows, stream.time, stream.delay, stream.changelog, clock)


def _unknown(stream: StreamTrace) -> StreamTrace:
    return _judged(stream, {row.id: replace(row, fate=Fate.UNKNOWN) for row in stream.rows})


def _judged(stream: StreamTrace, rows: Mapping[int, Row]) -> StreamTrace:
    return replace(stream, rows=tuple(rows.get(row.id, row) for row in stream.rows))


def _fates(
    plans: Plans, levels: Sequence[Level], taken_in: Sequence[Taken], known: Known, outs: Mapping[str, Out]
) -> dict[int, Row]:
    """What became of each row: in the first operator, and of those that pass a stateful one in the next."""
    dropped = _dropped(plans, taken_in, known, outs)
    first = levels[0] if levels else None
    last = levels[1] if first is not None and first.kind == "stateful" and len(levels) > 1 else first
    windows = last.windows if last is not None else ()
    inside = {point for window in windows for one in window.growths for point in one.points}
    steps = {point.id: point.step for point in (last.points if last is not None else ())}
    fates: dict[int, Row] = {}
    for row in known.rows.values():
        fate = Fate.COUNTED
        if row.id in dropped:
            fate = Fate.FILTERED
        elif levels and row.time is None and not known.clock.arrival:
            fate = Fate.NULL_TIME
        elif row.id in known.late:
            fate = Fate.LATE
        elif last is not None and steps.get(row.id) is None:
            fate = Fate.WAITING
        elif last is not None and last.kind not in ("stateful", "over") and row.id not in inside:
            fate = Fate.NO_WINDOW
        fates[row.id] = replace(row, fate=fate, missed=known.late.get(row.id))
    return fates


def _dropped(plans: Plans, taken_in: Sequence[Taken], known: Known, outs: Mapping[str, Out]) -> frozenset[int]:
    """The rows that WHERE removes before the first operator that folds rows, or before the output."""
    found: set[int] = set()
    for number, reads in enumerate(plans.readings):
        if isinstance(reads.base, DataSource | StatefulFunction):
            if number < len(taken_in):
                found |= taken_in[number].dropped
            elif names.points(number) in outs:
                found |= taken(plans, number, known, outs).dropped
    return frozenset(found)
