"""The net change of a changelog is what its changes do one by one, and the cut into micro-batches does not show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.errors import PanesError
from panes.kernels.changelog.changes import AFTER, BEFORE, DELETE, INSERT
from panes.kernels.changelog.known_keys import COUNT
from panes.kernels.changelog.table import ChangelogTable
from panes.kernels.kernel import State

from ..harness import restarted

TTL = 10


@dataclass(frozen=True)
class Change:
    word: str | None
    key: int | None
    value: int | None = 0
    sequence: int | None = 0
    keep: bool = True
    time: int = 0

    @property
    def deletes(self) -> bool:
        return self.word in (DELETE, BEFORE)


KEPT_COLUMNS = ("id", "v")
NETTING = ChangelogTable(("id",), KEPT_COLUMNS, KEPT_COLUMNS, "word", ("batch", "place"), keep="keep")
IN_SEQUENCE = replace(NETTING, sequence="seq", time="at")


def arrow(changes: Sequence[Change], batch: int = 0) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([one.key for one in changes], pa.int64()),
            "v": pa.array([one.value for one in changes], pa.int64()),
            "word": pa.array([one.word for one in changes], pa.string()),
            "seq": pa.array([one.sequence for one in changes], pa.int64()),
            "keep": pa.array([one.keep for one in changes], pa.bool_()),
            "at": pa.array([one.time for one in changes], pa.timestamp("us", "UTC")),
            "batch": pa.array([batch] * len(changes), pa.int64()),
            "place": pa.array(range(len(changes)), pa.int64()),
        }
    )


@dataclass
class Table:
    """The definition: changes one by one as they arrive. A row that WHERE rejects is there, and not in the result."""

    in_sequence: bool = False
    ttl: int | None = None
    rows: dict[Any, Change] = field(default_factory=dict)
    last: dict[Any, Change] = field(default_factory=dict)
    inconsistent: int = 0
    stale: int = 0

    def apply(self, one: Change) -> None:
        last = self.last.get(one.key)
        if last is not None and self.ttl is not None and one.time - last.time > self.ttl:
            last = None
        if one.word not in (INSERT, DELETE, BEFORE, AFTER) or (self.in_sequence and one.sequence is None):
            self.inconsistent += 1
        elif self.in_sequence and last is not None and present(one.sequence) < present(last.sequence):
            self.stale += 1
        elif not self.in_sequence and (one.key in self.rows) == (one.word == INSERT) and one.word != AFTER:
            self.inconsistent += 1
        else:
            self.last[one.key] = one
            self.rows.pop(one.key, None)
            self.rows |= {} if one.deletes else {one.key: one}

    @property
    def result(self) -> dict[Any, Any]:
        return {key: one.value for key, one in self.rows.items() if one.keep}


WORDS = st.sampled_from([INSERT, DELETE, BEFORE, AFTER, INSERT, AFTER, "Insert", None])
CHANGES = st.lists(
    st.builds(
        Change,
        WORDS,
        st.sampled_from([None, *range(6)]),
        st.none() | st.integers(0, 3),
        st.sampled_from([None, *range(5), *range(5)]),
        st.sampled_from([True, True, False]),
    ),
    max_size=40,
)
CUTS = st.lists(st.integers(1, 8), min_size=1, max_size=8)
RESTARTS = st.sets(st.integers(0, 8))


def cut(changes: Sequence[Change], sizes: Sequence[int]) -> Iterable[Sequence[Change]]:
    """The changes as micro-batches of these sizes, and the rest."""
    for size in sizes:
        yield changes[:size]
        changes = changes[size:]
    yield changes


def test_definition_of_a_table() -> None:
    table = Table(in_sequence=True)
    for change in [
        Change(INSERT, 1, 5, 3),
        Change(AFTER, 1, 6, 2),
        Change(DELETE, 1, None, 4),
        Change(INSERT, 1, 7, 3),
    ]:
        table.apply(change)
    assert (table.result, table.stale, table.last[1].sequence) == ({}, 2, 4)


def check(changelog: ChangelogTable, changes: Sequence[Change], cuts: Sequence[int], restarts: set[int]) -> State:
    """The law: after every micro-batch the rows that went and came make the table of the definition."""
    table = Table(changelog.sequence is not None, changelog.state_ttl)
    state, inconsistent, stale = State(), 0, 0
    rows: dict[Any, Any] = {}
    for number, batch in enumerate(cut(changes, cuts)):
        if not batch:
            continue
        net = changelog.net(state, arrow(batch, number))
        for change in batch:
            table.apply(change)
        for row in net.removed.to_pylist():
            assert rows.pop(row["id"]) == row["v"]
        for row in net.inserted.to_pylist():
            assert row["id"] not in rows
            rows[row["id"]] = row["v"]
        assert rows == table.result
        inconsistent, stale = inconsistent + net.inconsistent, stale + net.stale
        assert (inconsistent, stale) == (table.inconsistent, table.stale)
        state = State(net.index, net.facts)
        state = restarted(state) if number in restarts else state
    return state


@settings(max_examples=50)
@given(CHANGES, CUTS, RESTARTS)
def test_by_arrival(changes: list[Change], cuts: list[int], restarts: set[int]) -> None:
    check(replace(NETTING, on_inconsistency="skip"), changes, cuts, restarts)


@settings(max_examples=80)
@given(CHANGES, CUTS, RESTARTS)
def test_in_sequence_across_micro_batches(changes: list[Change], cuts: list[int], restarts: set[int]) -> None:
    check(replace(IN_SEQUENCE, on_inconsistency="skip"), changes, cuts, restarts)


@settings(max_examples=40)
@given(CHANGES, CUTS, RESTARTS, st.lists(st.integers(0, 2 * TTL), min_size=9, max_size=9))
def test_sequences_expire(changes: list[Change], cuts: list[int], restarts: set[int], waits: list[int]) -> None:
    """A micro-batch has one time. A change that comes more than the ttl after its key's last is never stale."""
    batches = list(cut([replace(one, sequence=one.sequence or 0) for one in changes], cuts))
    times = [sum(waits[: number + 1]) for number in range(len(batches))]
    timed = [replace(one, time=at) for batch, at in zip(batches, times, strict=True) for one in batch]
    check(replace(IN_SEQUENCE, on_inconsistency="skip", state_ttl=TTL), timed, cuts, restarts)


def test_tombstones_do_not_pile_up() -> None:
    table, state = replace(IN_SEQUENCE, state_ttl=TTL), State()
    for at in range(200):
        changes = [Change(INSERT, at, 1, at, time=at), Change(DELETE, at, None, at, time=at)]
        net = table.net(state, arrow(changes, at))
        state = State(net.index, net.facts)
        assert net.facts[COUNT] <= TTL + 2
    forever = replace(table, state_ttl=None)
    net = forever.net(State(), arrow([Change(DELETE, key) for key in range(50)]))
    assert net.facts[COUNT] == 50


@pytest.mark.parametrize(
    ("table", "change", "words"),
    [
        (NETTING, Change("INSERT", 7), "'INSERT'"),
        (NETTING, Change(None, 7), "None"),
        (NETTING, Change(DELETE, 7), "not there"),
        (NETTING, Change(BEFORE, 7), "not there"),
        (NETTING, Change(INSERT, 1), "there already"),
        (IN_SEQUENCE, Change(INSERT, 7, sequence=None), "without a sequence"),
        (IN_SEQUENCE, Change("?", 7), "'?'"),
    ],
)
def test_what_does_not_fit_stops_the_query_and_names_its_key(table: ChangelogTable, change: Change, words: str) -> None:
    batch = arrow([Change(INSERT, 1), change])
    with pytest.raises(PanesError) as caught:
        replace(table, key_names=("order_id",)).net(State(), batch)
    assert caught.value.code == "inconsistent-change"
    assert words in caught.value.message and f"order_id = {change.key}" in caught.value.message


def test_equal_sequences_apply_as_they_arrive() -> None:
    """A delete is not first because it is a delete."""
    changes = [Change(AFTER, 1, 5, 3), Change(DELETE, 1, None, 3)]
    check(IN_SEQUENCE, changes, [2], set())
    check(IN_SEQUENCE, changes[::-1], [1], set())


def test_net_changes_of_an_operator_below_delete_first() -> None:
    """A row that left a partition of the operator below comes from another shard than the one that replaces it."""
    first = replace(NETTING, keep=None).net(State(), arrow([Change(INSERT, 1, 5)]))
    both = arrow([Change(INSERT, 1, 6), Change(DELETE, 1, 5)], 1)
    net = replace(NETTING, keep=None, is_net=True).net(State(first.index), both)
    assert (net.removed["v"].to_pylist(), net.inserted["v"].to_pylist()) == ([5], [6])
