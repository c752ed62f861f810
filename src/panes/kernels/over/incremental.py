"""OVER windows over changelogs: what a micro-batch changes in the table is turned into what it changes in the result.

    table    1  2  _  4  5         3 comes in
    sum of   ROWS 1 PRECEDING      is computed again for 3 and 4, from 2, 3, 4: the rest is neither read nor written

Rows stand in sorted blocks beside their results. Ranks and running aggregates go on from what the row before the first
changed one has, so that the work does not grow with the rows in front of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.functions.over import Reach
from panes.kernels.changelog.changes import CHANGE, DELETE, difference
from panes.kernels.changelog.table import ChangelogTable, Net
from panes.kernels.duck import joined, places, query, same
from panes.kernels.kernel import Clock, Counters, State, Step, seconds
from panes.kernels.over.calls import OrderKey, OverCall, bounded, frame_of, looks_ahead_for_values, ordered, values_of
from panes.kernels.over.generations import NEW as NEW_GENERATION
from panes.kernels.over.generations import Generations
from panes.kernels.over.merged import Merged, Touched
from panes.kernels.over.needed_blocks import NeededBlocks
from panes.kernels.over.results import Recomputed, Results, with_column
from panes.kernels.over.resume import is_carried, is_shifted
from panes.kernels.over.sorted_rows import Sorted, numbered
from panes.kernels.partitions import codes
from panes.kernels.sorted_blocks.blocks import HOME, Directory
from panes.kernels.sorted_blocks.cutting import Cutter
from panes.kernels.sorted_blocks.ranges import Mask
from panes.kernels.sorted_blocks.sort_keys import Sorting
from panes.kernels.state.expiry import GENERATION

RESUMES = "keeps_so_far"  # a fact, where calls resume from more than in the first checkpoints: what all rows have


@dataclass(frozen=True)
class OverIncremental:
    """The kernel of OVER windows whose input or output is a changelog.

    `key` identifies a row; `tie_break` makes the order total. `arrival` are the columns that order the changes of a
    micro-batch; for `sequence`, `time`, `state_ttl`, `is_net` and `key_names` see ChangelogTable. Without `change_type`
    all rows are inserts of keys that are new, and `state_ttl` says when partitions expire. `top_n` is a rank's output
    and how far it counts. `size` is that of a block, in rows.
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
    time: str | None = None
    state_ttl: int | None = None
    on_inconsistency: Literal["fail", "skip"] = "fail"
    is_net: bool = False
    key_names: tuple[str, ...] = ()
    top_n: tuple[str, int] | None = None
    size: int = 128

    def depends_on(self) -> dict[str, Any]:
        columns = {"partition by": list(self._partition), "order by": ordered(self.order_by), "key": list(self.key)}
        ties = {"ties": list(self.tie_break), "top": list(self.top_n or ()), "sequence": self.sequence}
        return {"state": "over incremental 1", **columns, **ties, "state_ttl": seconds(self.state_ttl)}

    def pack(self, rows: pa.Table) -> pa.Table:
        """Rows keep their places: order matters."""
        return rows

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Apply the changes of a micro-batch, and give out what they change in the result."""
        state = self._without_expired(state, clock)
        directory = self._cutter.read(state.chunks)
        if batch is None or not batch.num_rows:
            return Step(state, None, self._counters(directory))
        net = self._net(state, bounded(batch, self.calls, self.order_by))
        touched = self._touched(net)
        if touched is None:
            return Step(State((*directory.write(), *net.index), net.facts), None, self._counters(directory, net))
        anew = self._results.resumed_since and len(directory) > 0 and state.facts.get(RESUMES) != self._resumes
        directory, homes, loaded, merged = self._loaded(directory, net, touched, anew)
        more = loaded & ~homes
        if more.any():
            merged = self._with_more(merged, directory.load(more))
        done = self._results.recomputed(merged, anew)
        out = self._difference(merged, done)
        after = self._written(directory, loaded, merged, done)
        counters = self._counters(after, net) | Counters(
            rows_out=out.num_rows,
            rows_recomputed=int(done.again.sum()),
            unchanged_rows=int((done.again & ~done.changed).sum()),
            blocks_read=int(loaded.sum()),
        )
        facts = {**net.facts, RESUMES: self._resumes} if self._results.resumed_since else net.facts
        return Step(State((*after.write(), *net.index), facts), out if out.num_rows else None, counters)

    @cached_property
    def _resumes(self) -> list[str]:
        return sorted(self._results.columns)

    def _counters(self, directory: Directory, net: Net | None = None) -> Counters:
        inconsistent, stale = (net.inconsistent, net.stale) if net is not None else (0, 0)
        return Counters(groups=int(directory.sizes.sum()), inconsistent_rows=inconsistent, stale_rows=stale)

    # ---- the table's change

    @cached_property
    def _sorting(self) -> Sorting:
        order = tuple(
            (key.column, f"{'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}")
            for key in self.order_by
        )
        return Sorting(self._partition, order, self.tie_break)

    @cached_property
    def _partition(self) -> tuple[str, ...]:
        """What is computed on its own: each generation of a partition."""
        return self.partition if self._generations is None else (*self.partition, GENERATION)

    @cached_property
    def _generations(self) -> Generations | None:
        if self.change_type is not None or self.state_ttl is None:
            return None
        assert self.time is not None
        return Generations(self.partition, self.time, self.state_ttl)

    @cached_property
    def _results(self) -> Results:
        return Results(self.calls, self.order_by)

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        """The columns of a row that are kept, besides its results."""
        names = [*self._sorting.columns, *self.key, *self.values]
        for call in self.calls:
            names += [*call.args, *(name for name in (call.condition, call.default) if name is not None)]
        return tuple(dict.fromkeys((*names, *self._bounds)))

    def _net(self, state: State, batch: pa.Table) -> Net:
        if self.change_type is None:
            return self._inserted(state, batch)
        table = ChangelogTable(
            self.key,
            self._sorting.columns,
            self._columns,
            self.change_type,
            self.arrival,
            self.sequence,
            self.time,
            self.state_ttl,
            self.on_inconsistency,
            self.is_net,
            key_names=self.key_names,
        )
        return table.net(state, batch)

    def _inserted(self, state: State, batch: pa.Table) -> Net:
        """Rows that come; and where two generations of a partition become one, those that move to the other."""
        if self._generations is None:
            removed = batch.select(self._sorting.columns).slice(0, 0)
            return Net(removed, batch.select(self._columns), (), state.facts)
        assigned = self._generations.assign(state.chunks, state.facts, batch)
        new = assigned.rows.select(self._columns)
        moved = self._of_generations(self._cutter.read(state.chunks), assigned.moved)
        if moved is None:
            return Net(new.select(self._sorting.columns).slice(0, 0), new, assigned.chunks, assigned.facts)
        by = self._partition
        found = query(
            f"SELECT m.{NEW_GENERATION} FROM parts p JOIN moved m ON {same(by, 'p', 'm')} ORDER BY p.place",
            parts=moved.select(list(by)).append_column("place", pa.array(np.arange(moved.num_rows))),
            moved=assigned.moved,
        )
        again = with_column(moved.select(self._columns), GENERATION, found[NEW_GENERATION])
        both = pa.concat_tables([new, again], promote_options="permissive")
        return Net(moved.select(self._sorting.columns), both, assigned.chunks, assigned.facts)

    def _of_generations(self, directory: Directory, generations: pa.Table) -> pa.Table | None:
        """The rows of these generations."""
        directory, blocks = self._blocks_of(directory, generations)
        return joined(directory.load(blocks), "SEMI", generations, self._partition) if blocks.any() else None

    def _blocks_of(self, directory: Directory, generations: pa.Table) -> tuple[Directory, Mask]:
        if not generations.num_rows:
            return directory, np.zeros(len(directory), np.bool_)
        sorting = Sorting(self._partition, (), ())
        keys = sorting.keys(generations.take(pa.array(sorting.permutation(generations))))
        return directory.opened_where(lambda one: one.of_partitions(keys))

    def _without_expired(self, state: State, clock: Clock) -> State:
        """The state without the rows of generations that have expired; their results stand."""
        found = self._generations.expired(state.chunks, state.facts, clock) if self._generations is not None else None
        if self._generations is None or found is None:
            return state
        generations, chunks = found
        directory = self._cutter.read(state.chunks)
        directory, loaded = self._blocks_of(directory, generations)
        if loaded.any():
            rows = directory.load(loaded)
            gone = np.zeros(rows.num_rows, np.bool_)
            gone[places(rows, "SEMI", generations, self._partition)] = True
            dirty = np.bincount(rows[HOME].to_numpy()[gone], minlength=len(directory)) > 0
            kept = rows.filter(pa.array(~gone))
            names = [name for name in (*self._columns, *self._results.columns) if name in rows.column_names]
            directory = self._cutter.rewritten(directory, kept, dirty, loaded, names)
        facts = self._generations.next_look(state.facts, clock)
        return State((*directory.write(), *chunks), facts)

    # ---- what is read

    def _touched(self, net: Net) -> Touched | None:
        parts = [part.select(self._sorting.columns) for part in (net.removed, net.inserted)]
        rows = pa.concat_tables(parts, promote_options="permissive")
        if not rows.num_rows:
            return None
        order = self._sorting.permutation(rows)
        return Touched(self._sorting.keys(rows.take(pa.array(order))), order)

    def _loaded(
        self, directory: Directory, net: Net, touched: Touched, everything: bool
    ) -> tuple[Directory, Mask, Mask, Merged]:
        """The directory with all pages open that matter, the homes of the changes, all blocks that are read; and the
        rows of the homes with those that come."""
        while True:
            directory, homes = directory.opened_where(lambda one: one.with_any(touched.keys))
            merged = self._merged(directory, homes, net, touched)
            if not len(directory):
                return directory, homes, homes, merged
            needed = NeededBlocks(directory, touched.keys, homes, merged)
            loaded = self._blocks(needed) | self._framed(directory, net, touched) | everything
            if self._bounds and any(is_shifted(call) for call in self.calls):
                loaded = needed.with_row_before(loaded)  # the last row up to a value may be before those that have it
            if not (loaded & directory.closed).any():
                return directory, homes, loaded, merged
            directory = directory.opened(loaded)  # blocks have other numbers now, and rows other homes

    def _blocks(self, blocks: NeededBlocks) -> Mask:
        """The blocks in which results may change, and those that their frames reach."""
        ahead = [call for call in self.calls if looks_ahead_for_values(call)]
        calls = [call for call in self._results.all_calls if call not in ahead]
        frames = [frame_of(call) for call in calls]
        found = [blocks.values_around(call.args[0], call.offset) for call in ahead]
        reached: Mask = np.logical_or.reduce([blocks.homes, *found, *(blocks.reached(frame) for frame in frames)])
        needed = reached | blocks.few(self.size // 4)
        if any(is_carried(call) for call in calls):
            needed |= blocks.with_row_before(reached) if ahead else blocks.row_before(reached, frames)
        for call, frame in zip(calls, frames, strict=True):
            if is_shifted(call):
                needed |= blocks.frame_ends(reached, frame)
            elif not is_carried(call):
                needed |= blocks.needed(reached, frame)
        return needed

    def _framed(self, directory: Directory, net: Net, touched: Touched) -> Mask:
        """The blocks that the RANGE frames of the rows reach that come, found together for those of one home."""
        if not self._bounds or not net.inserted.num_rows:
            return np.zeros(len(directory), np.bool_)
        homes = touched.homes(directory)[net.removed.num_rows :]
        own = self.order_by[0].column
        return directory.between(self._sorting.reach(net.inserted, (own, *self._bounds), homes))

    # ---- what is computed

    @cached_property
    def _bounds(self) -> tuple[str, ...]:
        """The columns with the bounds of RANGE frames."""
        found = [values_of(bound) for call in self.calls for bound in call.bounds]
        return tuple(dict.fromkeys(values.column for values in found if values is not None))

    def _merged(self, directory: Directory, homes: Mask, net: Net, touched: Touched) -> Merged:
        """The rows of these blocks and those that come, in one order."""
        come = touched.homes(directory)[net.removed.num_rows :]
        new = net.inserted.append_column(HOME, pa.array(come))
        old = directory.load(homes) if homes.any() else new.slice(0, 0)
        rows = pa.concat_tables([old, new], promote_options="permissive").combine_chunks()
        gone = np.zeros(rows.num_rows, np.bool_)
        if net.removed.num_rows:
            gone[places(old, "SEMI", net.removed, self.key)] = True
        assert gone.sum() == net.removed.num_rows, "the index and the blocks disagree"
        order = self._sorting.permutation(rows)
        gone, fresh = gone[order], order >= old.num_rows
        moves = np.zeros(rows.num_rows, np.bool_)
        moves[gone | fresh] = touched.moves
        return self._in_parts(rows.take(pa.array(order)), gone, fresh, moves)

    def _with_more(self, merged: Merged, more: pa.Table) -> Merged:
        """With the rows of other blocks, in which nothing changes."""
        rows = pa.concat_tables([merged.rows, more], promote_options="permissive").combine_chunks()
        order = np.argsort(rows[HOME].to_numpy(), kind="stable")
        none = np.zeros(more.num_rows, np.bool_)
        masks = [np.append(mask, none)[order] for mask in (merged.gone, merged.fresh, merged.moves)]
        return self._in_parts(rows.take(pa.array(order)), *masks)

    def _in_parts(self, rows: pa.Table, gone: Mask, fresh: Mask, moves: Mask) -> Merged:
        """Where blocks are missing between, a partition is broken in two."""
        homes = rows[HOME].to_numpy()
        missing = np.cumsum(np.diff(homes, prepend=homes[:1]) > 1)
        part = numbered([codes(rows, self._partition), missing])
        return Merged(rows, gone, fresh, moves, Sorted(rows, part, self.order_by))

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
        ranks_only = all(call.reach is Reach.RANK for call in self.calls)
        if self.top_n is None or self.change_type is not None or not ranks_only:
            return np.ones(rows.num_rows, np.bool_)
        kept: Mask = pc.less_equal(rows[self.top_n[0]], self.top_n[1]).to_numpy()
        return kept

    def _written(self, directory: Directory, loaded: Mask, merged: Merged, done: Recomputed) -> Directory:
        """The directory with new blocks in place of those whose rows or results have changed."""
        rows, dirty = done.rows, done.changed
        kept = self._kept(rows)
        dirty = (dirty | ~kept) & (kept | ~merged.fresh[~merged.gone])
        touched = np.concatenate([rows[HOME].to_numpy()[dirty], merged.rows[HOME].to_numpy()[merged.gone]])
        blocks = np.bincount(touched, minlength=len(directory)) > 0
        names = [*self._columns, *self._results.columns]
        return self._cutter.rewritten(directory, rows.filter(pa.array(kept)), blocks, loaded, names)

    @property
    def _cutter(self) -> Cutter:
        return Cutter(self.size, self._sorting, self._bounds)
