"""What is kept of partitions, against a dict: the newest rows of each, also of those that were forgotten in between."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.kernel import Chunk, new_chunk
from panes.kernels.state import carry as carry_module
from panes.kernels.state.carry import GONE, SEEN, Carry
from panes.kernels.state.compaction import LAYERS
from panes.kernels.state.key_hash import HASH, Hashes, encoding

Key = tuple[str | None, int | None]
Held = dict[Key, list[int]]

CARRY = Carry(("k", "n"))
KEYS = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([1, 2, None]))
CHANGED = st.dictionaries(KEYS, st.lists(st.integers(0, 99), min_size=1, max_size=3), max_size=4)
STEPS = st.lists(st.tuples(CHANGED, st.sets(KEYS, max_size=3)), max_size=8)


def table(held: Held) -> pa.Table:
    rows = [(key, value) for key, values in held.items() for value in values]
    return pa.table(
        {
            "k": pa.array([k for (k, _), _ in rows], pa.string()),
            "n": pa.array([n for (_, n), _ in rows], pa.int64()),
            "v": pa.array([value for _, value in rows], pa.int64()),
        }
    )


def held_in(rows: pa.Table | None) -> Held:
    found: Held = {}
    for row in rows.to_pylist() if rows is not None else []:
        found.setdefault((row["k"], row["n"]), []).append(row["v"])
    return found


@settings(max_examples=80)
@given(STEPS, st.sets(KEYS))
def test_it_holds_the_newest_rows_of_each_partition(steps: list[tuple[Held, set[Key]]], asked: set[Key]) -> None:
    chunks: tuple[Chunk, ...] = ()
    known: Held = {}
    for changed, forgotten in steps:
        gone = {key: [0] for key in forgotten if key not in changed}
        chunks = CARRY.put(chunks, table(changed), table(gone))
        known = {key: values for key, values in known.items() if key not in gone} | changed
        assert held_in(CARRY.all(chunks)) == known
        wanted = table({key: [0, 0] for key in asked})
        assert held_in(CARRY.find(chunks, wanted)) == {key: known[key] for key in asked if key in known}


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.dictionaries(KEYS, st.integers(0, 99), max_size=4), st.sets(KEYS, max_size=2)), max_size=6),
    st.sets(KEYS),
)
def test_look_up_pairs_partitions_with_their_rows(
    steps: list[tuple[dict[Key, int], set[Key]]], asked: set[Key]
) -> None:
    chunks: tuple[Chunk, ...] = ()
    known: dict[Key, int] = {}
    for changed, left in steps:
        gone = left & known.keys() - changed.keys()
        rows = table({key: [value] for key, value in changed.items()})
        chunks = CARRY.put(chunks, rows, table({key: [0] for key in gone}))
        known = {key: value for key, value in (known | changed).items() if key not in gone}
    wanted = sorted(asked, key=str)
    rows, places = CARRY.look_up(chunks, table({key: [0] for key in wanted}))
    values: list[Any] = rows["v"].to_pylist() if rows is not None else []
    found = [values[place] if place >= 0 else None for place in places.tolist()]
    assert found == [known.get(key) for key in wanted]


def test_without_columns_there_is_one_partition() -> None:
    carry = Carry(())
    chunks = carry.put((), pa.table({"v": [1]}))
    chunks = carry.put(chunks, pa.table({"v": [2]}))
    rows, places = carry.look_up(chunks, pa.table({"x": [0]}))
    assert rows is not None and (rows["v"].to_pylist(), places.tolist()) == ([2], [0])
    everything = carry.all(chunks)
    assert everything is not None and everything["v"].to_pylist() == [2]


def test_chunks_of_another_kind_are_not_its_own() -> None:
    other = new_chunk(pa.table({"v": [1]}), kind="rows")
    chunks = CARRY.put((other,), table({("a", 1): [5]}))
    assert [chunk.kind for chunk in chunks] == [f"carry {encoding()}"]
    assert held_in(CARRY.all((other, *chunks))) == {("a", 1): [5]}


def test_few_chunks_and_no_marks_of_what_is_gone() -> None:
    """A mark hides older rows; when there are none, it is not written."""
    chunks: tuple[Chunk, ...] = ()
    for number in range(100):
        chunks = CARRY.put(chunks, table({("a", number): [number]}))
    assert len(chunks) <= LAYERS + 1
    everyone: Held = {("a", number): [0] for number in range(100)}
    assert CARRY.put(chunks, None, table(everyone)) == ()


def test_chunks_cover_when_partitions_were_seen() -> None:
    rows = table({("a", 1): [5], ("b", 2): [6]}).append_column(SEEN, pa.array([30, 10], pa.int64()))
    (chunk,) = CARRY.put((), rows)
    assert (chunk.low, chunk.high, chunk.rows) == (10, 30, 2)


def test_keys_with_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if hashes were so bad that half of the keys had the same."""

    def bad(rows: pa.Table, by: tuple[str, ...]) -> Hashes:
        return np.array([(n or 0) % 2 for n in rows["n"].to_pylist()], np.uint64)

    monkeypatch.setattr(carry_module, "hashes", bad)
    monkeypatch.setattr("panes.kernels.state.key_hash.hashes", bad)
    chunks: tuple[Chunk, ...] = ()
    known: Held = {}
    for number in range(20):
        changed: Held = {("a", number % 7): [number], ("b", number % 5): [number, number]}
        chunks, known = CARRY.put(chunks, table(changed)), known | changed
    asked: Held = {("a", number): [0] for number in range(12)}
    assert held_in(CARRY.find(chunks, table(asked))) == {key: known[key] for key in asked if key in known}
    rows, places = CARRY.look_up(chunks, table(asked))
    assert rows is not None and (places < 0).sum() == 5
    assert [rows["v"][int(place)].as_py() for place in places if place >= 0] == [known["a", n][0] for n in range(7)]


@pytest.mark.parametrize("kind", ["carry", "carry 00000000"], ids=["none", "others"])
def test_chunks_that_are_sorted_by_other_hashes_are_written_anew(kind: str) -> None:
    """By those of another DuckDB; or by none, as in old checkpoints."""
    held: Held = {("a", number): [number] for number in range(9)}
    rows = table(held).append_column(GONE, pa.array([False] * 9))
    rows = rows if kind == "carry" else rows.append_column(HASH, pa.array(range(9), pa.uint64()))
    old = (new_chunk(rows, kind=kind), new_chunk(rows.slice(3, 1).set_column(2, "v", pa.array([70])), kind=kind))
    held[("a", 3)] = [70]
    assert held_in(CARRY.all(old)) == held
    assert held_in(CARRY.find(old, table(held))) == held
    after = CARRY.put(old, table({("a", 5): [50]}))
    assert [(chunk.kind, chunk.rows) for chunk in after] == [(f"carry {encoding()}", 9)]
    assert held_in(CARRY.all(after)) == held | {("a", 5): [50]}


def test_a_change_writes_what_it_changes() -> None:
    """However many partitions there are: nothing near all of them, but once in a long while."""
    chunks = CARRY.put((), table({("a", number): [0] for number in range(20_000)}))
    written = 0
    for number in range(100):
        before = {chunk.id for chunk in chunks}
        chunks = CARRY.put(chunks, table({("a", 20 * number + i): [1] for i in range(20)}))
        written += sum(chunk.rows for chunk in chunks if chunk.id not in before)
    assert written <= 3 * 100 * 20
    assert chunks[0].rows == 20_000


def test_a_row_that_holds_many_values_is_not_written_with_a_small_one() -> None:
    """Two rows, of which one is nearly all: what counts is bytes."""
    rows = pa.table({"k": ["big", "small"], "v": [list(range(10_000)), [1]]})
    one = pa.table({"k": ["small"], "v": [[2]]})
    by_rows, by_bytes = Carry(("k",)), Carry(("k",), holds_values=True)
    assert len(by_rows.put(by_rows.put((), rows), one)) == 1
    base = by_bytes.put((), rows)
    after = by_bytes.put(base, one)
    assert [chunk.rows for chunk in after] == [2, 1] and after[0].id == base[0].id
    found = by_bytes.all(after)
    assert found is not None
    assert dict(zip(found["k"].to_pylist(), map(len, found["v"].to_pylist()), strict=True)) == {
        "big": 10_000,
        "small": 1,
    }


def test_of_a_partition_that_is_gone_nothing_is_found() -> None:
    """Not even an empty table: that of a chunk with only marks would lack columns."""
    chunks = CARRY.put((), table({("a", number): [number] for number in range(100)}))
    chunks = CARRY.put(chunks, None, table({("a", 7): [0]}))
    assert len(chunks) == 2
    assert CARRY.find(chunks, table({("a", 7): [0]})) is None
