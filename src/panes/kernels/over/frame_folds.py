"""Aggregates over frames: DuckDB folds the rows between two places, for every row at once."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

import numpy as np
import pyarrow as pa

from panes.kernels.aggregates.accumulator import ARGUMENTS
from panes.kernels.duck import query, quoted
from panes.kernels.over.calls import OverCall
from panes.kernels.over.sketched import is_open, over_open_frames
from panes.kernels.over.sorted_rows import Places, Sorted
from panes.kernels.sketches.lists import Column

PLACE, ORDER = "row_place", "row_order"


def aggregated(table: Sorted, calls: Sequence[OverCall]) -> dict[str, Column]:
    """Aggregates over their frames, evaluated."""
    found: dict[str, Column] = {call.output: over_open_frames(table, call) for call in calls if is_open(call)}
    calls = [call for call in calls if not is_open(call)]
    if not calls:
        return found
    frames = [table.bounds(call.frame) for call in calls if call.frame is not None]
    sql, parts = _fold_query(table, calls, frames, table.place)
    values = _in_order(query(f"SELECT {', '.join([PLACE, *_evaluations(calls)])} FROM ({sql})", parts=parts))
    return found | {call.output: values[call.output] for call in calls}


def folded(
    table: Sorted, calls: Sequence[OverCall], frames: Sequence[tuple[Places, Places]], order: Places
) -> pa.Table:
    """The accumulators of these calls over these frames, row by row; `order` is a row's place for those that ask."""
    sql, parts = _fold_query(table, calls, frames, order)
    return _in_order(query(sql, parts=parts))


def _fold_query(
    table: Sorted, calls: Sequence[OverCall], frames: Sequence[tuple[Places, Places]], order: Places
) -> tuple[str, pa.Table]:
    columns: dict[str, pa.Array | pa.ChunkedArray] = {PLACE: pa.array(table.place), ORDER: pa.array(order)}
    texts = []
    for number, (call, (first, stop)) in enumerate(zip(calls, frames, strict=True)):
        windows, offsets = _windows(table.place, first, stop, f"f{number}")
        columns |= {f"c{number}_{name}": table.rows[name] for name in _columns(call)} | offsets
        texts.append(f"{_fold_sql(call, f'c{number}_', windows)} AS {quoted(call.output)}")
    return f"SELECT {', '.join([PLACE, *texts])} FROM parts", pa.table(columns)


def evaluated(states: pa.Table, calls: Sequence[OverCall]) -> pa.Table:
    """The values of accumulators."""
    return _in_order(query(f"SELECT {', '.join([PLACE, *_evaluations(calls)])} FROM parts", parts=states))


def _evaluations(calls: Sequence[OverCall]) -> list[str]:
    return [
        f"{Template(call.accumulator.evaluate).substitute(s=quoted(call.output))} AS {quoted(call.output)}"
        for call in calls
        if call.accumulator is not None
    ]


def _in_order(rows: pa.Table) -> pa.Table:
    """Windows need no ORDER BY: DuckDB takes and gives rows as they come, see `duck`. Here that is made sure."""
    place = rows[PLACE].to_numpy()
    if not (place[1:] > place[:-1]).all():
        raise RuntimeError("DuckDB has not kept the order of the rows")
    return rows


def _columns(call: OverCall) -> list[str]:
    return [*dict.fromkeys([*call.args, *([call.condition] if call.condition else [])])]


def _windows(
    place: Places, first: Places, stop: Places, name: str
) -> tuple[dict[str, str], dict[str, pa.Array | pa.ChunkedArray]]:
    """The window texts that these frames need, by the condition under which each holds; and the columns they read.

    DuckDB takes no negative offsets: a frame that lies wholly before or behind its row needs another text.
    """
    empty = first >= stop
    first, last = np.where(empty, place, first), np.where(empty, place, stop) - 1
    behind, ahead = last < place, first > place
    texts = {
        f"NOT {name}_behind AND NOT {name}_ahead": f"{name}_first PRECEDING AND {name}_last FOLLOWING",
        f"{name}_behind": f"{name}_first PRECEDING AND {name}_last PRECEDING",
        f"{name}_ahead": f"{name}_first FOLLOWING AND {name}_last FOLLOWING",
    }
    needed = (not (behind | ahead).all() or not len(place), behind.any(), ahead.any())
    columns: dict[str, pa.Array | pa.ChunkedArray] = {
        f"{name}_first": pa.array(np.abs(first - place)),
        f"{name}_last": pa.array(np.abs(last - place)),
        f"{name}_behind": pa.array(behind),
        f"{name}_ahead": pa.array(ahead),
    }
    wanted = zip(texts.items(), needed, strict=True)
    return {when: f"OVER (ROWS BETWEEN {text})" for (when, text), need in wanted if need}, columns


def _fold_sql(call: OverCall, prefix: str, windows: dict[str, str]) -> str:
    assert call.accumulator is not None
    names = dict(zip(ARGUMENTS, (quoted(prefix + arg) for arg in call.args), strict=False))
    counts = call.accumulator.counts
    conditions = [Template(counts).substitute(names)] if counts else []
    conditions += [f"coalesce({quoted(prefix + call.condition)}, false)"] if call.condition else []
    where = f"FILTER (WHERE {' AND '.join(conditions)}) " if conditions else ""
    fold = Template(call.accumulator.in_window or call.accumulator.fold)
    texts = {when: fold.substitute(names, o=ORDER, w=where + window) for when, window in windows.items()}
    if len(texts) == 1:
        return next(iter(texts.values()))
    return f"CASE {' '.join(f'WHEN {when} THEN {text}' for when, text in texts.items())} END"
