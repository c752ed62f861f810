"""OVER windows over changelogs: what a micro-batch changes in the table is turned into what it changes in the result.

    table    1  2  _  4  5         3 comes in
    sum of   ROWS 1 PRECEDING      is computed again for 3 and 4, from 2, 3, 4: the rest is neither read nor written

Rows stand in sorted blocks beside their results. Ranks and running aggregates go on from what the row before the first
changed one has, so that the work does not grow with the rows in front of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import Template
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.errors import PanesError
from panes.kernels.blocks import HOME, Cutter, Directory, Keys, Sorting
from panes.kernels.changes import BEFORE, CHANGE, DELETE, INSERT, difference
from panes.kernels.duck import query, quoted, same
from panes.kernels.frames import Mask, Places, Ranges, covered, extents, holding, rows_frames, rows_reach, runs
from panes.kernels.kernel import Chunk, Clock, State, Step
from panes.kernels.key_index import KeyIndex
from panes.kernels.over_values import (
    PLACE,
    Bound,
    Edge,
    Frame,
    OrderKey,
    OverCall,
    Sorted,
    bounded,
    evaluated,
    folded,
    over_values,
)
from panes.kernels.partitions import codes

Column: TypeAlias = "pa.Array | pa.ChunkedArray"

POSITION = "row_position"
RANKS = ("row_number", "rank", "dense_rank")
WHOLE = Frame("ROWS", Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.UNBOUNDED_FOLLOWING))
RUNNING = Frame("ROWS", Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.CURRENT_ROW))


def sees(call: OverCall) -> Frame:
    """The frame of rows on which the value of a call depends, also of calls that have none in SQL."""
    match call.function:
        case "row_number" | "rank" | "dense_rank":
            return RUNNING
        case "percent_rank" | "cume_dist" | "ntile":
            return WHOLE
        case "lag":
            back = Bound(Edge.UNBOUNDED_PRECEDING) if call.ignore_nulls else Bound(Edge.PRECEDING, call.offset)
            return Frame("ROWS", back, Bound(Edge.CURRENT_ROW))
        case "lead":
            ahead = Bound(Edge.UNBOUNDED_FOLLOWING) if call.ignore_nulls else Bound(Edge.FOLLOWING, call.offset)
            return Frame("ROWS", Bound(Edge.CURRENT_ROW), ahead)
    assert call.frame is not None
    return call.frame


def offsets(frame: Frame) -> tuple[int | None, int | None]:
    """The ends of a ROWS frame as distances from the row; None is the partition's edge.

    >>> offsets(Frame("ROWS", Bound(Edge.PRECEDING, 2), Bound(Edge.CURRENT_ROW)))
    (-2, 0)
    """
    return _offset(frame.start), _offset(frame.end)


def _offset(bound: Bound) -> int | None:
    match bound.edge:
        case Edge.PRECEDING:
            return -bound.offset
        case Edge.FOLLOWING:
            return bound.offset
        case Edge.CURRENT_ROW:
            return 0
    return None


def is_carried(call: OverCall) -> bool:
    """Whether a row's value follows from the row before it: ranks, and frames from the first row to this one.

    Accumulators that hold all their values are not kept for each row.
    """
    if call.function in RANKS:
        return True
    frame = call.frame
    if frame is None or frame.start.edge is not Edge.UNBOUNDED_PRECEDING or frame.end.edge is not Edge.CURRENT_ROW:
        return False
    if call.accumulator is not None:
        return "list(" not in call.accumulator.fold
    return call.function in ("first_value", "last_value")


def state_of(call: OverCall) -> str:
    return f"{call.output} accumulator"


@dataclass(frozen=True)
class Net:
    """What a micro-batch does to the table: rows that go, by their sort columns, and rows that come."""

    removed: pa.Table
    inserted: pa.Table
    index: tuple[Chunk, ...]
    inconsistent: int = 0


@dataclass(frozen=True)
class Touched:
    """The rows that go and those that come in one order; `order` are their places, those that go counted first."""

    keys: Keys
    order: Places

    def homes(self, directory: Directory) -> Places:
        """The block into which each belongs."""
        return directory.homes_of(self.keys.row, self.order)

    @cached_property
    def moves(self) -> Mask:
        """Which of them do not meet their like: a row that goes while one of the same key and order comes, stays."""
        same = pc.equal(self.keys.row.slice(1), self.keys.row.slice(0, len(self.order) - 1)).to_numpy(
            zero_copy_only=False
        )
        moves: Mask = ~(np.append(same, False) | np.append(False, same))
        return moves


@dataclass(frozen=True)
class Merged:
    """Loaded rows and the batch's in one order: those that go, those that come, and those that stay.

    Rows that are left have places; a row that goes is at the place of the next one that is left.
    """

    rows: pa.Table
    gone: Mask
    fresh: Mask
    moves: Mask  # rows that come, go or move, not those that only get other values at their place in the order
    sorted: Sorted  # over all of them; its partitions are broken where blocks between were not loaded

    @cached_property
    def left(self) -> pa.Table:
        return self.rows.filter(pa.array(~self.gone))

    @cached_property
    def size(self) -> int:
        return int(self.before[-1])

    @cached_property
    def before(self) -> Places:
        """How many rows that are left are before each row, and before the end."""
        return np.concatenate([[0], np.cumsum(~self.gone)]).astype(np.int64)

    @cached_property
    def extents(self) -> Ranges:
        """The places of each row's partition."""
        return extents(self.sorted.part, ~self.gone)

    def reached(self, call: OverCall) -> tuple[Mask, Ranges]:
        """The rows that are left whose value of this call may have changed; and the rows each of these needs."""
        frame = sees(call)
        changed = self.moves if call.frame is None and not call.args else self.gone | self.fresh
        if frame.unit == "ROWS":
            return self._reached_by_rows(*offsets(frame), changed)
        first, stop = self.sorted.bounds(frame)
        mask = (holding(Ranges(first, stop), changed) | self.fresh)[~self.gone]
        places = np.flatnonzero(mask)
        first, stop = (self.before[ends[~self.gone][places]] for ends in (first, stop))
        return mask, Ranges(np.minimum(first, places), np.maximum(stop, places + 1))

    def _reached_by_rows(self, first: int | None, last: int | None, changed: Mask) -> tuple[Mask, Ranges]:
        at = np.flatnonzero(changed)
        inside = Ranges(self.extents.start[at], self.extents.stop[at])
        reach = rows_reach(self.before[at], self.gone[at], inside, first, last)
        mask = covered(reach, self.size) | self.fresh[~self.gone]
        places = np.flatnonzero(mask)
        inside = Ranges(self.extents.start[~self.gone][places], self.extents.stop[~self.gone][places])
        wide = (end if end is None else fit(end, 0) for end, fit in ((first, min), (last, max)))
        return mask, rows_frames(places, inside, *wide)


@dataclass(frozen=True)
class Recomputed:
    """The rows that are left with their new results: which were computed again, and which have others than before."""

    rows: pa.Table
    again: Mask
    changed: Mask


@dataclass(frozen=True)
class OverChanges:
    """The kernel of OVER windows whose input or output is a changelog.

    `key` identifies a row; `tie_break` makes the order total. `arrival` are the columns that order the changes of a
    micro-batch, after `sequence`. Without `change_type` all rows are inserts of keys that are new. `top_n` is a rank's
    output and how far it counts. `size` is that of a block, in rows.
    """

    partition: tuple[str, ...]
    order_by: tuple[OrderKey, ...]
    key: tuple[str, ...]
    tie_break: tuple[str, ...]
    calls: tuple[OverCall, ...]
    values: tuple[str, ...]
    change_type: str | None
    arrival: tuple[str, ...]
    sequence: str | None = None
    on_inconsistency: Literal["fail", "skip"] = "fail"
    top_n: tuple[str, int] | None = None
    size: int = 4096

    def pack(self, rows: pa.Table) -> pa.Table:
        """Rows keep their places: order matters."""
        return rows

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Apply the changes of a micro-batch, and give out what they change in the result."""
        directory = Directory.read(state.chunks)
        if batch is None or not batch.num_rows:
            return Step(state, None, self._counters(directory))
        net = self._net(state, bounded(batch, self.calls, self.order_by))
        touched = self._touched(net)
        if touched is None:
            counters = self._counters(directory, inconsistent_rows=net.inconsistent)
            return Step(state, None, counters)
        loaded = sorted(self._blocks(directory, touched.keys) | self._framed(directory, net, touched))
        merged = self._merged(directory, loaded, net, touched)
        done = self._recomputed(merged)
        out = self._difference(merged, done)
        after = self._written(directory, loaded, merged, done)
        counters = self._counters(
            after,
            inconsistent_rows=net.inconsistent,
            rows_out=out.num_rows,
            rows_recomputed=int(done.again.sum()),
            unchanged_rows=int((done.again & ~done.changed).sum()),
            blocks_read=len(loaded),
        )
        return Step(State((*after.write(), *net.index), state.facts), out if out.num_rows else None, counters)

    def _counters(self, directory: Directory, **more: int) -> dict[str, int]:
        names = ("rows_out", "rows_recomputed", "unchanged_rows", "blocks_read", "inconsistent_rows", "late_rows")
        return dict.fromkeys(names, 0) | {"groups": directory.rows} | more

    # ---- the table's change

    @cached_property
    def _sorting(self) -> Sorting:
        order = tuple(
            (key.column, f"{'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}")
            for key in self.order_by
        )
        return Sorting(self.partition, order, self.tie_break)

    @cached_property
    def _all_calls(self) -> tuple[OverCall, ...]:
        """With a row's number in its partition, where a rank or an order goes on from it."""
        carried = [call for call in self.calls if is_carried(call)]
        ordered = any(call.accumulator is not None and call.accumulator.ordered for call in carried)
        needed = ordered or any(call.function == "rank" for call in carried)
        return (*self.calls, OverCall("row_number", (), POSITION)) if needed else self.calls

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        """The columns of a row that are kept, besides its results."""
        names = [*self._sorting.columns, *self.key, *self.values]
        for call in self.calls:
            ends = (call.frame.start.column, call.frame.end.column) if call.frame else ()
            names += [*call.args, *(name for name in (call.condition, call.default, *ends) if name is not None)]
        return tuple(dict.fromkeys(names))

    @cached_property
    def _results(self) -> tuple[str, ...]:
        """The columns that are kept beside a row: results, and accumulators that the next row goes on from."""
        states = [state_of(call) for call in self.calls if call.accumulator is not None and is_carried(call)]
        return (*(call.output for call in self._all_calls), *states)

    @cached_property
    def _index(self) -> KeyIndex:
        return KeyIndex(self.key, tuple(dict.fromkeys((*self.key, *self._sorting.columns))), self.size)

    def _net(self, state: State, batch: pa.Table) -> Net:
        if self.change_type is None:
            return Net(batch.select(self._sorting.columns).slice(0, 0), batch.select(self._columns), ())
        names = self._index.columns
        known = self._index.find(state.chunks, batch.select(names))
        judged = self._judged(batch, known)
        bad = judged.filter(judged["is_bad"])
        if bad.num_rows and self.on_inconsistency == "fail":
            raise self._inconsistent(bad)
        last = self._last(judged)
        come, go = last.filter(pc.invert(last["deletes"])), last.filter(last["deletes"])
        index = self._index.put(
            state.chunks,
            query(f"SELECT {_list(names)} FROM come EXCEPT SELECT {_list(names)} FROM known", come=come, known=known),
            go.filter(go["was_there"]).select(self.key),
        )
        removed = query(
            f"SELECT k.* FROM known k SEMI JOIN last l ON {same(self.key, 'k', 'l')}", known=known, last=last
        )
        return Net(removed, come.select(self._columns), index, bad.num_rows)

    def _order(self, sequence: str, deletes: str, arrival: str) -> str:
        parts = [f"{quoted(self.sequence)} {sequence}", f"deletes {deletes}"] if self.sequence is not None else []
        return ", ".join([*parts, *(f"{quoted(name)} {arrival}" for name in self.arrival)])

    def _judged(self, batch: pa.Table, known: pa.Table) -> pa.Table:
        """Each change with whether its key was there before the batch, and whether it does not fit.

        Whether a key is there follows from the change before: after a delete it is not, else it is.
        """
        change = quoted(self.change_type or "")
        keys = _list(self.key)
        return query(
            f"""
            WITH told AS (
                SELECT b.*, {change} IN ('{DELETE}', '{BEFORE}') AS deletes, k.is_known IS NOT NULL AS was_there
                FROM batch b LEFT JOIN (SELECT {keys}, true AS is_known FROM known) k ON {same(self.key, "b", "k")}
            ), followed AS (
                SELECT *, NOT coalesce(lag(deletes) OVER (
                    PARTITION BY {keys} ORDER BY {self._order("ASC NULLS FIRST", "DESC", "ASC")}
                ), NOT was_there) AS is_there FROM told
            )
            SELECT *, CASE WHEN deletes THEN NOT is_there ELSE is_there AND {change} = '{INSERT}' END AS is_bad
            FROM followed
            """,
            batch=batch,
            known=known,
        )

    def _last(self, judged: pa.Table) -> pa.Table:
        """The change of each key that holds in the end."""
        order = self._order("DESC NULLS LAST", "ASC", "DESC")
        return query(
            f"SELECT * FROM judged WHERE NOT is_bad "
            f"QUALIFY row_number() OVER (PARTITION BY {_list(self.key)} ORDER BY {order}) = 1",
            judged=judged,
        )

    def _inconsistent(self, bad: pa.Table) -> PanesError:
        row = bad.sort_by([(name, "ascending") for name in self.arrival]).slice(0, 1).to_pylist()[0]
        key = ", ".join(f"{name} = {row[name]!r}" for name in self.key)
        text = "is not there" if row["deletes"] else "is there already"
        return PanesError(
            "inconsistent-change",
            f"{row[self.change_type or '']} of a row whose key {text}: {key}",
            hint="Set on_inconsistency = 'skip' to leave such changes out and count them.",
        )

    # ---- what is read

    def _touched(self, net: Net) -> Touched | None:
        parts = [part.select(self._sorting.columns) for part in (net.removed, net.inserted)]
        rows = pa.concat_tables(parts, promote_options="permissive")
        if not rows.num_rows:
            return None
        order = self._sorting.permutation(rows)
        return Touched(self._sorting.keys(rows.take(pa.array(order))), order)

    def _blocks(self, directory: Directory, touched: Keys) -> set[int]:
        """The blocks in which results may change, and those that their frames reach."""
        homes = directory.with_any(touched)
        reached = set(homes)
        for call in self._all_calls:
            reached |= self._reached_blocks(directory, homes, touched, sees(call))
        needed = reached | directory.small(homes, self.size // 4)
        for call in self._all_calls:
            if is_carried(call):
                needed |= directory.around(reached, 1, 0, touched)
            else:
                needed |= self._needed_blocks(directory, reached, touched, sees(call))
        return needed

    def _framed(self, directory: Directory, net: Net, touched: Touched) -> set[int]:
        """The blocks that the RANGE frames of the rows reach that come, found together for those of one home."""
        if not self._bounds or not directory.fences or not net.inserted.num_rows:
            return set()
        homes = touched.homes(directory)[net.removed.num_rows :]
        own = self.order_by[0].column
        return directory.between(self._sorting.reach(net.inserted, (own, *self._bounds), homes))

    def _reached_blocks(self, directory: Directory, homes: set[int], touched: Keys, frame: Frame) -> set[int]:
        first, last = offsets(frame)
        if frame.end.edge is Edge.UNBOUNDED_FOLLOWING:
            return directory.of_partitions(touched)
        if frame.unit == "RANGE" and frame.start.edge is not Edge.UNBOUNDED_PRECEDING:
            return directory.framing(touched)
        if frame.unit == "RANGE":
            by_value = frame.end.column is not None
            return directory.of_partitions(touched) if by_value else directory.after_peers(touched)
        before = directory.around(homes, max(last or 0, 0), 0, touched)
        if first is None:
            return before | directory.after_rows(touched)
        return before | directory.around(homes, 0, max(-first, 0), touched)

    def _needed_blocks(self, directory: Directory, reached: set[int], touched: Keys, frame: Frame) -> set[int]:
        if Edge.UNBOUNDED_PRECEDING is frame.start.edge or Edge.UNBOUNDED_FOLLOWING is frame.end.edge:
            return directory.of_partitions(touched)
        if frame.unit == "RANGE":
            return directory.framed(reached)
        first, last = offsets(frame)
        return directory.around(reached, max(-(first or 0), 0), max(last or 0, 0), touched)

    # ---- what is computed

    @cached_property
    def _bounds(self) -> tuple[str, ...]:
        """The columns with the bounds of RANGE frames."""
        columns = [end.column for call in self.calls if call.frame for end in (call.frame.start, call.frame.end)]
        return tuple(dict.fromkeys(column for column in columns if column is not None))

    def _merged(self, directory: Directory, loaded: Sequence[int], net: Net, touched: Touched) -> Merged:
        tables = directory.load(loaded)
        known = sum(table.num_rows for table in tables)
        homes = touched.homes(directory)[net.removed.num_rows :]
        gone = np.zeros(known + len(homes), np.bool_)
        if net.removed.num_rows:
            gone[self._places(pa.concat_tables([one.select(self.key) for one in tables]), net.removed)] = True
        assert gone.sum() == net.removed.num_rows, "the index and the blocks disagree"
        tables.append(net.inserted.append_column(HOME, pa.array(homes)))
        rows = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
        order = self._sorting.permutation(rows)
        rows = rows.take(pa.array(order))
        breaks = np.diff(rows[HOME].to_numpy()) > 1
        part = _numbered((np.diff(codes(rows, self.partition)) != 0) | breaks)
        moves = np.zeros(len(gone), np.bool_)
        changed = gone[order] | (order >= known)
        moves[changed] = touched.moves
        return Merged(rows, gone[order], order >= known, moves, Sorted(rows, part, self.order_by))

    def _places(self, rows: pa.Table, removed: pa.Table) -> Places:
        """Where the rows with these keys are."""
        numbered = rows.append_column("place", pa.array(np.arange(rows.num_rows)))
        sql = f"SELECT place FROM numbered n SEMI JOIN removed r ON {same(self.key, 'n', 'r')}"
        found: Places = query(sql, numbered=numbered, removed=removed)["place"].to_numpy()
        return found

    def _recomputed(self, merged: Merged) -> Recomputed:
        """New results wherever a change reaches, of each call on its own."""
        rows = merged.left
        masks: dict[str, Mask] = {}
        context = np.zeros(merged.size, np.bool_)
        for call in self._all_calls:
            masks[call.output], needs = merged.reached(call)
            if not is_carried(call):
                context |= covered(needs, merged.size)
        again = np.logical_or.reduce(list(masks.values())) if masks else merged.fresh[~merged.gone]
        masks |= {state_of(call): masks[call.output] for call in self.calls}
        values = self._values_in_context(merged, context | again, again) | self._values_carried(merged, again)
        old = rows
        for name in self._results:
            rows = _with_column(rows, name, _spliced(rows, name, masks[name], values[name], again))
        changed = merged.fresh[~merged.gone].copy()
        changed[self._other(old, rows, again & ~changed)] = True
        return Recomputed(rows, again, changed)

    def _values_in_context(self, merged: Merged, context: Mask, wanted: Mask) -> dict[str, Column]:
        """Values of calls that look at the rows around, for the rows that are wanted."""
        calls = [call for call in self._all_calls if not is_carried(call)]
        if not calls:
            return {}
        table = self._sorted(merged, context)
        pick = pa.array(wanted[context])
        return {name: column.filter(pick) for name, column in over_values(table, calls).items()}

    def _sorted(self, merged: Merged, mask: Mask) -> Sorted:
        """Some of the rows that are left; where some are missing between, a partition is broken in two."""
        part = runs(mask, merged.sorted.part[~merged.gone])
        return Sorted(merged.left.filter(pa.array(mask)), part, self.order_by)

    def _values_carried(self, merged: Merged, wanted: Mask) -> dict[str, Column]:
        calls = [call for call in self._all_calls if is_carried(call)]
        if not calls or not wanted.any():
            return {name: pa.nulls(0) for name in self._results if calls}
        return Going.on(self._sorted(merged, wanted), merged, wanted, self._results).values(calls)

    def _other(self, old: pa.Table, new: pa.Table, mask: Mask) -> Places:
        """The places among these where a result is not what it was."""
        places = np.flatnonzero(mask)
        if not len(places):
            return places
        columns = {"place": pa.array(places)}
        for number, name in enumerate(self._results):
            columns |= {f"o{number}": old[name].filter(mask), f"n{number}": new[name].filter(mask)}
        differs = " OR ".join(f"o{number} IS DISTINCT FROM n{number}" for number, _ in enumerate(self._results))
        found: Places = query(f"SELECT place FROM parts WHERE {differs}", parts=pa.table(columns))["place"].to_numpy()
        return found

    # ---- what comes out and what is kept

    def _difference(self, merged: Merged, done: Recomputed) -> pa.Table:
        """The net change of the result, what is deleted first: a row may leave one partition for another."""
        outputs = [call.output for call in self.calls]
        names = list(dict.fromkeys((*self.partition, *self.key, *self.values, *outputs)))
        new = done.rows.filter(pa.array(done.changed))
        was = merged.gone.copy()
        was[~merged.gone] = done.changed & ~merged.fresh[~merged.gone]
        sides = [merged.rows.filter(pa.array(was)), new]
        if not set(outputs) <= set(sides[0].column_names):
            sides[0] = new.slice(0, 0)
        if self.top_n is not None:
            rank, most = self.top_n
            sides = [side.filter(pc.less_equal(side[rank], most)) for side in sides]
        old, new = (side.select(names) for side in sides)
        changes = difference(old, new, tuple(dict.fromkeys((*self.partition, *self.key))))
        deletes = pc.equal(changes[CHANGE], DELETE)
        return pa.concat_tables([changes.filter(deletes), changes.filter(pc.invert(deletes))])

    def _kept(self, rows: pa.Table) -> Mask:
        """Rows that can still matter: on inserts only, one that is not among the first n never will be again."""
        ranks_only = all(call.function in RANKS for call in self.calls)
        if self.top_n is None or self.change_type is not None or not ranks_only:
            return np.ones(rows.num_rows, np.bool_)
        kept: Mask = pc.less_equal(rows[self.top_n[0]], self.top_n[1]).to_numpy()
        return kept

    def _written(self, directory: Directory, loaded: Sequence[int], merged: Merged, done: Recomputed) -> Directory:
        """The directory with new blocks in place of those whose rows or results have changed."""
        rows, dirty = done.rows, done.changed
        kept = self._kept(rows)
        dirty = (dirty | ~kept) & (kept | ~merged.fresh[~merged.gone])
        touched = np.concatenate([rows[HOME].to_numpy()[dirty], merged.rows[HOME].to_numpy()[merged.gone]])
        blocks = set(np.unique(touched).tolist())
        cutter = Cutter(self.size, self._sorting, self._bounds)
        names = [*self._columns, *self._results]
        return cutter.rewritten(directory, rows.filter(pa.array(kept)), blocks, set(loaded), names)


@dataclass(frozen=True)
class Going:
    """Rows that are computed again, in runs that go on from the row before each: `last`, NULL where there is none.

    rank  1  2  2 | .  .  .        the row before is the third, of rank 2:
                    4  5  5        the run goes on from there
    """

    table: Sorted
    last: pa.Table
    has_last: Mask
    tied: Mask  # whether the first row of a run is a peer of the one before

    @staticmethod
    def on(table: Sorted, merged: Merged, mask: Mask, names: Iterable[str]) -> Going:
        left = ~merged.gone
        part, peer = merged.sorted.part[left], merged.sorted.peer[left]
        first = np.flatnonzero(mask)[np.unique(table.first)]
        before = np.maximum(first - 1, 0)
        has_last = (first > 0) & (part[before] == part[first])
        known = merged.left.select([name for name in names if name in merged.left.column_names])
        return Going(
            table, known.take(pa.array(before, mask=~has_last)), has_last, has_last & (peer[before] == peer[first])
        )

    def values(self, calls: Sequence[OverCall]) -> dict[str, Column]:
        """Results, and the accumulators with which the next run goes on."""
        found: dict[str, Column] = {}
        for call in calls:
            if call.function in RANKS:
                found[call.output] = pa.array(self._rank(call))
            elif call.accumulator is None:
                found[call.output] = self._picked(call)
        aggregates = [call for call in calls if call.accumulator is not None]
        return found | (self._aggregated(aggregates) if aggregates else {})

    def _number(self, name: str) -> Places:
        """A number of the row before each row's run; 0 where there is none."""
        if name not in self.last.column_names:
            return np.zeros(len(self.table.part), np.int64)
        numbers: Places = self.last[name].fill_null(0).to_numpy()
        return numbers[self.table.part]

    def _rank(self, call: OverCall) -> Places:
        table = self.table
        tied = self.tied[table.part]
        match call.function:
            case "row_number":
                return self._number(call.output) + table.place - table.first + 1
            case "dense_rank":
                return self._number(call.output) + table.peer - table.peer[table.first] + 1 - tied
        inherits = tied & (table.peer == table.peer[table.first])
        ranks = self._number(POSITION) + table.peers_first - table.first + 1
        return np.where(inherits, self._number(call.output), ranks)

    def _picked(self, call: OverCall) -> Column:
        """first_value is that of the row before; last_value too, where all NULLs since are ignored."""
        own = over_values(self.table, [call])[call.output]
        if call.output not in self.last.column_names or (call.function == "last_value" and not call.ignore_nulls):
            return own
        before = self.last[call.output].take(pa.array(self.table.part))
        if call.function == "last_value":
            return pc.coalesce(own, before)
        return pc.coalesce(before, own) if call.ignore_nulls else self._chosen(before, own)

    def _chosen(self, before: Column, own: Column) -> Column:
        size = len(self.table.part)
        both = pa.chunked_array([*_chunks(before), *_chunks(own)])
        return both.take(pa.array(np.arange(size) + np.where(self.has_last[self.table.part], 0, size)))

    def _aggregated(self, calls: Sequence[OverCall]) -> dict[str, Column]:
        table = self.table
        frames = [(table.first, table.place + 1)] * len(calls)
        order = self._number(POSITION) + table.place - table.first
        states = self._joined(folded(table, calls, frames, order), calls)
        shown = {PLACE: states[PLACE]}
        for call in calls:
            assert call.frame is not None
            whole = call.frame.unit == "RANGE"
            shown[call.output] = (
                states[call.output].take(pa.array(table.peers_stop - 1)) if whole else states[call.output]
            )
        values = evaluated(pa.table(shown), calls)
        found: dict[str, Column] = {call.output: values[call.output] for call in calls}
        return found | {state_of(call): states[call.output] for call in calls}

    def _joined(self, states: pa.Table, calls: Sequence[OverCall]) -> pa.Table:
        """The accumulators of each row joined to those of the row before its run."""
        some = self.has_last[self.table.part]
        if not some.any():
            return states
        part = pa.array(self.table.part[some])
        before = {call.output: self.last[state_of(call)].take(part) for call in calls}
        parts = [
            f"{Template(call.accumulator.merge).substitute(s=quoted(call.output))} AS {quoted(call.output)}"
            for call in calls
            if call.accumulator is not None
        ]
        return query(
            f"SELECT {', '.join([PLACE, *parts])} FROM (FROM before UNION ALL BY NAME FROM states) "
            f"GROUP BY {PLACE} ORDER BY {PLACE}",
            before=pa.table({PLACE: pa.array(self.table.place[some]), **before}),
            states=states,
        )


def _list(names: Iterable[str]) -> str:
    return ", ".join(quoted(name) for name in names)


def _numbered(differs: Mask) -> Places:
    return np.concatenate([[0], np.cumsum(differs)]).astype(np.int64)


def _chunks(column: Column) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _spliced(rows: pa.Table, name: str, mask: Mask, values: Column, again: Mask) -> Column:
    """A column with new values where the mask says; `values` are those of all rows that were computed again."""
    values = values.filter(pa.array(mask[again]))
    if name not in rows.column_names:
        return values
    old = rows[name]
    index = np.arange(len(old))
    index[mask] = len(old) + np.arange(len(values))
    return pa.chunked_array([*old.chunks, *(one.cast(old.type) for one in _chunks(values))], old.type).take(
        pa.array(index)
    )


def _with_column(rows: pa.Table, name: str, column: Column) -> pa.Table:
    if name in rows.column_names:
        return rows.set_column(rows.column_names.index(name), name, column)
    return rows.append_column(name, column)
