"""Count windows: n consecutive rows of a partition; with `every`, the last n rows at each multiple of `every`.

n = 3              1 2 3 | 4 5 6 | 7 …
n = 3, every = 2   at 4: 2 3 4, at 6: 4 5 6, …
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.aggregates.grouping import Fold, Grouping, with_window_bounds
from panes.kernels.duck import joined, query, quoted, same
from panes.kernels.kernel import Chunk, Clock, Counters, State, Step, seconds
from panes.kernels.partitions import codes
from panes.kernels.state.carry import Carry
from panes.kernels.state.expiry import GENERATION, expired_before, expires_at, gaps
from panes.kernels.state.release import WAITING, Release
from panes.kernels.windows.slices import END, START, earliest

INDEX, STOP, SEEN = "row_index", "window_stop", "rows_seen"
LAST = "last_time"
SEEN_ROWS, KEPT_ROWS = "seen", "kept"


@dataclass(frozen=True)
class Facts:
    """What a step without rows needs. No partition was seen last before `since`, and none expires before `next`."""

    since: int = -(2**63)
    next: int | None = None
    windows: int = 0
    groups: int = 0


@dataclass(frozen=True)
class Held:
    """What is held of some partitions: how many rows each has had, and windows in the making."""

    seen: pa.Table | None = None
    kept: pa.Table | None = None

    def with_others(self, other: Held) -> Held:
        return Held(_together(self.seen, other.seen), _together(self.kept, other.kept))


@dataclass(frozen=True)
class CountWindows:
    """The kernel of count windows. `partition` keys have a count each, `keys` group the rows inside a window.

    Without `every` a window in the making is its accumulators; with it, the last n rows of each partition are kept. A
    row more than `ttl` microseconds after the previous one of its partition counts from 1 again.
    """

    count: int
    every: int | None
    partition: tuple[str, ...]
    keys: tuple[str, ...]
    folds: tuple[Fold, ...]
    release: Release
    ttl: int | None = None

    def depends_on(self) -> dict[str, Any]:
        columns = {"partition by": sorted(self.partition), "group by": sorted(self.keys), **self.release.depends_on()}
        lengths = {"count": self.count, "every": self.every, "state_ttl": seconds(self.ttl)}
        return {"state": "counts 1", **lengths, **columns}

    def pack(self, rows: pa.Table) -> pa.Table:
        """Rows keep their places: order matters."""
        return rows

    @property
    def _counted(self) -> tuple[str, ...]:
        """What has a count: a partition, or one generation of it."""
        return self.partition if self.ttl is None else (*self.partition, GENERATION)

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Number the released rows, and give out every window that is full."""
        waiting = [chunk for chunk in state.chunks if chunk.kind == WAITING]
        rows, still_waiting, late = self.release.take(waiting, batch, clock)
        facts, old, expired = self._read(state), self._touched(state.chunks, rows, clock.flush), 0
        new, out = old, list[pa.Table]()
        if rows is not None:
            rows = rows if self.ttl is None else self._with_generation(rows, state, self.ttl)
            numbered, seen = self._numbered(rows, old.seen)
            kept = self._folded(numbered) if old.kept is None else self._joined(old.kept, self._folded(numbered))
            out += self._windows(kept, self._stops(numbered))
            new = Held(seen, self._without_done(kept, seen))
        if self._expires(facts, clock) or rows is not None:
            due = self._due(state.chunks, facts, old, clock)
            old, new = old.with_others(due), new.with_others(due)
            seen, expired = self._without_expired(new.seen, clock)
            new = Held(seen, new.kept if seen is new.seen or new.kept is None else self._without_done(new.kept, seen))
        if clock.flush and new.kept is not None and new.seen is not None:
            out += self._windows(new.kept, self._last_stops(new.seen))
        chunks = self._replaced(state.chunks, old, new) if not clock.flush else ()
        facts = self._facts(facts, chunks, old, new, clock)
        result = pa.concat_tables(out, promote_options="permissive") if out else None
        counters = Counters(
            late_rows=late,
            rows_out=result.num_rows if result is not None else 0,
            groups=facts.groups,
            open_windows=facts.windows,
            buffered_rows=sum(chunk.rows for chunk in still_waiting),
            expired_rows=expired,
        )
        moments = [chunk.low + 1 for chunk in still_waiting]
        if self.ttl is not None and facts.next is not None:
            moments.append(expires_at(facts.next, self.ttl))
        return Step(State((*still_waiting, *chunks), asdict(facts)), result, counters, min(moments, default=None))

    @property
    def _seen(self) -> Carry:
        return Carry(self.partition, SEEN_ROWS, LAST)

    @property
    def _kept(self) -> Carry:
        return Carry(self.partition, KEPT_ROWS)

    def _read(self, state: State) -> Facts:
        """The facts; old checkpoints have none, and every count in one chunk."""
        if state.facts or not state.chunks:
            return Facts(**state.facts)
        seen, kept = self._seen.all(state.chunks), self._kept.all(state.chunks)
        return self._facts(Facts(), state.chunks, Held(), Held(seen, kept), Clock())

    def _touched(self, chunks: Sequence[Chunk], rows: pa.Table | None, flush: bool) -> Held:
        """What is held of the partitions that have rows; at the end of the input, of all."""
        if flush:
            return Held(self._seen.all(chunks), self._kept.all(chunks))
        return Held() if rows is None else Held(self._seen.find(chunks, rows), self._kept.find(chunks, rows))

    def _expires(self, facts: Facts, clock: Clock) -> bool:
        oldest = expired_before(self.ttl, clock)
        return oldest is not None and facts.next is not None and facts.next < oldest

    def _due(self, chunks: Sequence[Chunk], facts: Facts, old: Held, clock: Clock) -> Held:
        """What is held of the partitions that have expired by the watermark, besides those in `old`."""
        oldest = expired_before(self.ttl, clock)
        if clock.flush or oldest is None or not self._expires(facts, clock):
            return Held()
        seen = self._seen.due(chunks, facts.since, oldest)
        if seen is not None and old.seen is not None:
            seen = joined(seen, "ANTI", old.seen, self.partition)
        return Held(seen, self._kept.find(chunks, seen)) if seen is not None and seen.num_rows else Held()

    def _replaced(self, chunks: Sequence[Chunk], old: Held, new: Held) -> tuple[Chunk, ...]:
        return (
            *self._seen.replaced(self._seen.own(chunks), old.seen, new.seen),
            *self._kept.replaced(self._kept.own(chunks), old.kept, new.kept),
        )

    def _facts(self, facts: Facts, chunks: Sequence[Chunk], old: Held, new: Held, clock: Clock) -> Facts:
        """What is known of all partitions, after `old` has become `new`."""
        if not chunks:
            return Facts()
        since, next_ = facts.since, facts.next
        if self.ttl is not None:
            ends = None if new.seen is None else pc.min(new.seen[LAST]).as_py()
            oldest = expired_before(self.ttl, clock)
            since = since if oldest is None else max(since, oldest)
            next_ = earliest(next_, ends)
            next_ = self._seen.next_seen(chunks, since) if next_ is not None and next_ < since else next_
        windows = self._open_windows(new.seen) - self._open_windows(old.seen)
        groups = _rows(new.kept) - _rows(old.kept)
        return Facts(since, next_, facts.windows + windows, facts.groups + groups)

    def _with_generation(self, rows: pa.Table, state: State, ttl: int) -> pa.Table:
        """Rows with the number of their partition's generation, and their time; they come in the stream's order."""
        rows = rows.append_column(LAST, rows[self.release.time].cast(pa.int64()))
        partition = codes(rows, self.partition)
        order = np.argsort(partition, kind="stable")
        partition, times = partition[order], rows[LAST].to_numpy()[order]
        first = np.flatnonzero(np.append(True, partition[1:] != partition[:-1]))
        heads = rows.select(self.partition).take(order[first]) if self.partition else rows.slice(0, 1)
        before, number = times[first], np.zeros(len(first), np.int64)
        seen, at = self._seen.look_up(state.chunks, heads)
        if seen is not None:
            before, number = (
                np.where(at >= 0, seen[name].to_numpy()[at], otherwise)
                for name, otherwise in ((LAST, before), (GENERATION, number))
            )
        begins = gaps(times, first, before, ttl)
        begun = np.cumsum(begins)
        since = number - (begun - begins)[first]
        generation = np.empty_like(order)
        generation[order] = begun + np.repeat(since, np.diff(np.append(first, len(order))))
        return rows.append_column(GENERATION, pa.array(generation))

    def _without_expired(self, seen: pa.Table | None, clock: Clock) -> tuple[pa.Table | None, int]:
        """The counts of partitions that have not expired; and how many rows of those that have were in no window."""
        if self.ttl is None or seen is None or not seen.num_rows:
            return seen, 0
        by = f"PARTITION BY {', '.join(quoted(name) for name in self.partition)}" if self.partition else ""
        oldest = expired_before(self.ttl, clock)
        passed = "false" if oldest is None else f"{LAST} < {oldest}"
        older = f"{GENERATION} < max({GENERATION}) OVER ({by})"
        marked = query(f"SELECT *, {older} OR {passed} AS expired FROM parts", parts=seen)
        if not pc.any(marked["expired"]).as_py():
            return seen, 0
        step = self.every or self.count
        emitted = f"{SEEN} // {step} * {step}"
        since = f"{SEEN} - CASE WHEN {emitted} >= {self.count} THEN {emitted} ELSE 0 END"
        expired = query(f"SELECT sum({since})::BIGINT AS n FROM parts WHERE expired", parts=marked)["n"][0].as_py()
        return marked.filter(pc.invert(marked["expired"])).drop_columns(["expired"]), int(expired or 0)

    def _numbered(self, rows: pa.Table, seen: pa.Table | None) -> tuple[pa.Table, pa.Table]:
        """Rows with their number in the partition, from 0; and how many each partition has had."""
        over = _partition_by(self._counted)
        order = ", ".join(f"r.{quoted(name)}" for name in self.release.order)
        before = "0"
        join = ""
        tables = {"parts": rows}
        if seen is not None:
            before = f"coalesce(s.{SEEN}, 0)"
            join = f" LEFT JOIN seen s ON {same(self._counted, 'r', 's')}"
            tables["seen"] = seen
        numbered = query(
            f"SELECT r.*, row_number() OVER ({over}ORDER BY {order}) - 1 + {before} AS {INDEX} FROM parts r{join}",
            **tables,
        )
        names = [quoted(name) for name in self._counted]
        group = f" GROUP BY {', '.join(names)}" if names else ""
        last = [f"max({LAST}) AS {LAST}"] if self.ttl is not None else []
        counted = query(
            f"SELECT {', '.join([*names, f'max({INDEX}) + 1 AS {SEEN}', *last])} FROM parts{group}", parts=numbered
        )
        if seen is not None:
            both = pa.concat_tables([seen, counted], promote_options="permissive")
            largest = [f"max({SEEN}) AS {SEEN}", *last]
            counted = query(f"SELECT {', '.join([*names, *largest])} FROM parts{group}", parts=both)
        return numbered, counted

    def _grouping(self, by: Sequence[str], order: tuple[str, ...] = ()) -> Grouping:
        return Grouping((*self._counted, *by, *self.keys), self.folds, order)

    def _folded(self, numbered: pa.Table) -> pa.Table:
        """Accumulators per window, or the rows themselves where windows overlap."""
        if self.every is not None:
            return numbered
        rows = query(f"SELECT *, ({INDEX} // {self.count} + 1) * {self.count} AS {STOP} FROM parts", parts=numbered)
        return self._grouping((STOP,), self.release.order).fold(rows)

    def _joined(self, kept: pa.Table, new: pa.Table) -> pa.Table:
        if self.every is not None:
            return pa.concat_tables([kept, new], promote_options="permissive")
        return self._grouping((STOP,)).merge([kept, new])

    def _stops(self, numbered: pa.Table) -> pa.Table:
        """The numbers at which a window of each partition ends among these rows."""
        step = self.every or self.count
        names = ", ".join([*(quoted(name) for name in self._counted), f"{INDEX} + 1 AS {STOP}"])
        where = f"({INDEX} + 1) % {step} = 0 AND {INDEX} + 1 >= {self.count}"
        return query(f"SELECT {names} FROM parts WHERE {where}", parts=numbered)

    def _last_stops(self, seen: pa.Table) -> pa.Table:
        """At the end of the input: the partitions that have had rows since their last window."""
        step = self.every or self.count
        stop = SEEN if self.every is not None else f"({SEEN} // {step} + 1) * {step}"
        names = ", ".join([*(quoted(name) for name in self._counted), f"{stop} AS {STOP}"])
        where = f"{SEEN} % {step} <> 0 OR {SEEN} < {self.count}"
        return query(f"SELECT {names} FROM parts WHERE {where}", parts=seen)

    def _open_windows(self, seen: pa.Table | None) -> int:
        """How many windows have rows and have not closed: they end less than n rows after the last one."""
        if seen is None:
            return 0
        step, rows = self.every or self.count, seen[SEEN].to_numpy()
        ended = np.maximum(rows, self.count - 1)
        return int(((rows + self.count - 1) // step - ended // step).sum())

    def _windows(self, kept: pa.Table, stops: pa.Table) -> list[pa.Table]:
        """The windows that end at `stops`, evaluated."""
        if not stops.num_rows:
            return []
        if self.every is None:
            groups = query(
                f"SELECT k.* FROM kept k JOIN stops s ON {same(self._counted, 'k', 's')} AND k.{STOP} = s.{STOP}",
                kept=kept,
                stops=stops,
            )
        else:
            inside = f"k.{INDEX} >= s.{STOP} - {self.count} AND k.{INDEX} < s.{STOP}"
            rows = query(
                f"SELECT k.*, s.{STOP} FROM kept k JOIN stops s ON {same(self._counted, 'k', 's')} AND {inside}",
                kept=kept,
                stops=stops,
            )
            groups = self._grouping((STOP,), self.release.order).fold(rows)
        values = self._grouping((STOP,)).evaluate(groups)
        values = with_window_bounds(values, (*self._counted, STOP), START, END) if self.keys else values
        hidden = [STOP, *([GENERATION] if self.ttl is not None else [])]
        return [values.drop_columns(hidden)] if values.num_rows else []

    def _without_done(self, kept: pa.Table, seen: pa.Table) -> pa.Table:
        """What a later window still needs."""
        needed = f"k.{STOP} > s.{SEEN}" if self.every is None else f"k.{INDEX} >= s.{SEEN} - {self.count}"
        return query(
            f"SELECT k.* FROM kept k JOIN seen s ON {same(self._counted, 'k', 's')} AND {needed}", kept=kept, seen=seen
        )


def _together(one: pa.Table | None, other: pa.Table | None) -> pa.Table | None:
    tables = [table for table in (one, other) if table is not None]
    return pa.concat_tables(tables, promote_options="permissive") if tables else None


def _rows(table: pa.Table | None) -> int:
    return 0 if table is None else table.num_rows


def _partition_by(names: Sequence[str]) -> str:
    return f"PARTITION BY {', '.join(f'r.{quoted(name)}' for name in names)} " if names else ""
