"""What a micro-batch of a changelog does to the table in the end: rows that go, and rows that come.

    insert a · update a · delete b · insert b        the new a comes; b goes and comes

Changes of a key apply as they arrive. With a sequence, one that is lower than the last applied to its key is stale: it
is left out and counted, in whichever micro-batch it comes, so the last sequence of a key is kept, and that of a deleted
key is its tombstone.

    a, 1 · a, 3 · a, 2 (stale) · delete a, 4 · a, 3 (stale)        a is gone, and its tombstone is 4

A change that does not fit, such as the delete of a row that is not there, is counted or fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from panes.errors import PanesError
from panes.kernels.changelog.changes import AFTER, BEFORE, DELETE, INSERT
from panes.kernels.changelog.known_keys import APPLIED, KEPT, SEQUENCE, THERE, KnownKeys
from panes.kernels.duck import joined, query, quoted, same
from panes.kernels.kernel import Chunk, State

PLACE = "place_in_batch"
WORDS = (INSERT, DELETE, BEFORE, AFTER)


@dataclass(frozen=True)
class Net:
    """What a micro-batch does to the table: rows that go, by the columns of the index, and rows that come."""

    removed: pa.Table
    inserted: pa.Table
    index: tuple[Chunk, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    inconsistent: int = 0
    stale: int = 0


@dataclass(frozen=True)
class ChangelogTable:
    """`key` identifies a row; `indexed` are its columns that the index keeps, `columns` are those of rows that come.

    `arrival` orders the changes of a micro-batch. Where they are the net changes of an operator below (`is_net`) a key
    has one delete and one insert at most, from different shards, and the delete is first. `keep` is false for rows that
    WHERE rejects, which are there and yet in no result. `time` is when a change came, in whose terms `state_ttl` says
    how long the sequence of a key is kept. Errors call the key `key_names`.
    """

    key: tuple[str, ...]
    indexed: tuple[str, ...]
    columns: tuple[str, ...]
    change_type: str
    arrival: tuple[str, ...]
    sequence: str | None = None
    time: str | None = None
    state_ttl: int | None = None
    on_inconsistency: Literal["fail", "skip"] = "fail"
    is_net: bool = False
    keep: str | None = None
    key_names: tuple[str, ...] = ()

    def net(self, state: State, batch: pa.Table) -> Net:
        """The net change, and the index after it."""
        changes = self._with_status(batch)
        state = self.index.read(state)
        known = self.index.find(state.chunks, changes)
        judged = self._judged(changes, known)
        bad = pc.sum(judged["is_bad"]).as_py()
        if bad and self.on_inconsistency == "fail":
            raise self._inconsistent(changes.filter(judged["is_bad"]))
        last = changes.filter(judged["is_last"])
        after = self._put(state, changes, known, judged)
        return Net(
            joined(known.filter(known[KEPT]), "SEMI", last, self.key),
            last.filter(last[KEPT]).select(self.columns),
            after.chunks,
            after.facts,
            bad,
            pc.sum(judged["is_stale"]).as_py(),
        )

    @cached_property
    def index(self) -> KnownKeys:
        columns = (*dict.fromkeys((*self.key, *self.indexed)), THERE, KEPT)
        if self.sequence is None:
            return KnownKeys(self.key, columns)
        return KnownKeys(self.key, (*columns, SEQUENCE, APPLIED), self.state_ttl)

    def _with_status(self, batch: pa.Table) -> pa.Table:
        """The changes with what they would leave in the index."""
        there = pc.invert(pc.is_in(batch[self.change_type], pa.array([DELETE, BEFORE])))
        batch = batch.append_column(THERE, there)
        batch = batch.append_column(KEPT, there if self.keep is None else pc.and_(there, batch[self.keep]))
        if self.sequence is not None:
            assert self.time is not None
            batch = batch.append_column(SEQUENCE, batch[self.sequence])
            batch = batch.append_column(APPLIED, batch[self.time].cast(pa.int64()))
        return batch

    # ---- which changes apply

    def _judged(self, changes: pa.Table, known: pa.Table) -> pa.Table:
        """For each change: whether its key was there, and known, before; does it fit, is it stale, is it the last.

        Whether a key is there follows from the change before: after a delete it is not, else it is.
        """
        keys = [quoted(name) for name in self.key]
        change = quoted(self.change_type)
        arrival = ", ".join(([THERE] if self.is_net else []) + [quoted(name) for name in self.arrival])
        latest = ", ".join(([f"{THERE} DESC"] if self.is_net else []) + [f"{quoted(n)} DESC" for n in self.arrival])
        words = f"coalesce({change} IN ({', '.join(repr(word) for word in WORDS)}), false)"
        good = words if self.sequence is None else f"{words} AND b.{SEQUENCE} IS NOT NULL"
        among = f"PARTITION BY {', '.join([*keys, 'is_good'])} ORDER BY {arrival}"
        if self.sequence is None:
            known_sequence, is_stale = "NULL", "false"
            before = f"coalesce(lag({THERE}) OVER ({among}), was_there)"
            fits = f"CASE WHEN {THERE} THEN NOT ({before} AND {change} = '{INSERT}') ELSE {before} END"
        else:
            expired = f"b.{APPLIED} - k.{APPLIED} > {self.state_ttl}" if self.state_ttl is not None else "false"
            known_sequence = f"CASE WHEN NOT {expired} THEN k.{SEQUENCE} END"
            highest = f"max({SEQUENCE}) OVER ({among} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
            is_stale = f"is_good AND coalesce({SEQUENCE} < greatest(known_sequence, {highest}), false)"
            fits = "true"
        applied = f"PARTITION BY {', '.join([*keys, 'is_bad OR is_stale'])} ORDER BY {latest}"
        names = dict.fromkeys((*self.key, self.change_type, *self.arrival, *self._status))
        return query(
            f"""
            WITH told AS (
                SELECT b.*, coalesce(k.{THERE}, false) AS was_there, k.{THERE} IS NOT NULL AS is_known,
                    {known_sequence} AS known_sequence, {good} AS is_good
                FROM batch b LEFT JOIN known k ON {same(self.key, "b", "k")}
            ), judged AS (
                SELECT *, NOT (is_good AND {fits}) AS is_bad, {is_stale} AS is_stale FROM told
            )
            SELECT is_bad, is_stale, was_there, is_known,
                NOT is_bad AND NOT is_stale AND row_number() OVER ({applied}) = 1 AS is_last
            FROM judged ORDER BY {PLACE}
            """,
            batch=changes.select(list(names)).append_column(PLACE, pa.array(range(changes.num_rows), pa.int64())),
            known=known.select([*self.key, *self._status]),
        )

    @property
    def _status(self) -> tuple[str, ...]:
        return tuple(name for name in self.index.columns if name in (THERE, KEPT, SEQUENCE, APPLIED))

    def _inconsistent(self, bad: pa.Table) -> PanesError:
        row = bad.sort_by([(name, "ascending") for name in self.arrival]).slice(0, 1).to_pylist()[0]
        key = {name: row[own] for name, own in zip(self.key_names or self.key, self.key, strict=True)}
        word = row[self.change_type]
        if word not in WORDS:
            return unknown_word(word, key)
        if self.sequence is not None:
            return _inconsistent(f"{word} without a sequence", key)
        return _inconsistent(f"{word} of a row whose key is {'there already' if row[THERE] else 'not there'}", key)

    # ---- the index after it

    def _put(self, state: State, changes: pa.Table, known: pa.Table, judged: pa.Table) -> State:
        judged, last = judged.filter(judged["is_last"]), changes.filter(judged["is_last"])
        names = self.index.columns
        if self.sequence is not None:
            added = pc.sum(pc.invert(judged["is_known"])).as_py() or 0
            now = pc.max(changes[APPLIED]).as_py()
            return self.index.put(state, self._without_values(last).select(names), last.slice(0, 0), added, now)
        there = last.filter(last[THERE]).select(names)
        every = _list(names)
        changed = query(f"SELECT {every} FROM there EXCEPT SELECT {every} FROM known", there=there, known=known)
        added = pc.sum(pc.and_(last[THERE], pc.invert(judged["was_there"]))).as_py() or 0
        gone = last.filter(pc.and_(pc.invert(last[THERE]), judged["was_there"]))
        return self.index.put(state, changed, gone, added, None)

    def _without_values(self, last: pa.Table) -> pa.Table:
        """A tombstone needs no values."""
        for name in [one for one in self.indexed if one not in self.key]:
            column = pc.if_else(last[THERE], last[name], pa.scalar(None, last[name].type))
            last = last.set_column(last.column_names.index(name), name, column)
        return last


def unknown_word(word: str | None, key: Mapping[str, Any]) -> PanesError:
    return _inconsistent(f"a change whose _change_type is {word!r}, which is none of {', '.join(WORDS)}", key)


def _inconsistent(text: str, key: Mapping[str, Any]) -> PanesError:
    named = ", ".join(f"{name} = {value!r}" for name, value in key.items())
    hint = "Set on_inconsistency = 'skip' to leave such changes out and count them."
    return PanesError("inconsistent-change", f"{text}: {named}", hint=hint)


def _list(names: Iterable[str]) -> str:
    return ", ".join(quoted(name) for name in names)
