"""The pairs of changelogs, without Spark: however rows are cut into micro-batches and Arrow batches, tables add up."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.errors import PanesError
from panes.kernels.changelog.changes import AFTER, BEFORE, CHANGE, DELETE, INSERT
from panes.spark.changelog_output import PASS, ChangelogOutput
from panes.spark.pack import PLACE
from panes.spark.pair import Pairs
from panes.testing.sameness import table_of

Change = tuple[str | None, int, int]  # its word, its key and its value: what is below zero does not pass
TYPES = pa.schema([(CHANGE, pa.string()), ("c0", pa.int64()), ("c1", pa.int64())])


def history(seed: int, length: int) -> list[Change]:
    """Changes with all preimages, those of different keys between each other."""
    random = Random(seed)
    table: dict[int, int] = {}
    waiting: list[Change] = []
    changes: list[Change] = []
    for _ in range(length):
        key, value = random.randint(0, 4), random.randint(-3, 3)
        changes += [one for one in waiting if one[1] == key]
        waiting = [one for one in waiting if one[1] != key]
        if key not in table:
            changes.append((INSERT, key, value))
        elif random.random() < 0.3:
            changes.append((DELETE, key, table.pop(key)))
            continue
        else:
            changes.append((BEFORE, key, table[key]))
            waiting.append((AFTER, key, value))
        table[key] = value
    return changes + waiting


def arrow(changes: Sequence[Change], at: int = 0) -> pa.Table:
    columns = list(zip(*changes, strict=True)) or [(), (), ()]
    rows = pa.table([pa.array(list(one), field.type) for one, field in zip(columns, TYPES, strict=True)], schema=TYPES)
    return rows.append_column(PLACE, pa.array(range(at, at + len(changes)), pa.int64()))


def rows_out(rows: pa.Table, size: int) -> list[dict[str, Any]]:
    """What is left of them after WHERE c1 >= 0, in Arrow batches of a size."""
    passed = rows.append_column(PASS, pa.array([value >= 0 for value in rows["c1"].to_pylist()], pa.bool_()))
    done = ChangelogOutput(2)(iter(passed.to_batches(max_chunksize=size)))
    return [row for batch in done for row in batch.to_pylist()]


def passing(changes: Sequence[Change]) -> list[dict[str, Any]]:
    rows = [{CHANGE: word, "c0": key, "c1": value} for word, key, value in changes]
    return sorted((row for row in table_of(rows) if row["c1"] >= 0), key=str)


@settings(max_examples=60)
@given(st.builds(history, st.integers(0, 2**32), st.integers(0, 25)), st.integers(1, 9), st.integers(1, 9))
def test_pairs_add_up_however_they_are_cut(
    changes: list[tuple[str | None, int, int]], size: int, batch_size: int
) -> None:
    out: list[dict[str, Any]] = []
    for start in range(0, len(changes), size):
        batch = arrow(changes[start : start + size])
        mixed = batch.take(pa.array(Random(start).sample(range(batch.num_rows), batch.num_rows)))
        paired = Pairs(("c0",)).pairs(mixed)
        words = list(zip(paired[CHANGE].to_pylist(), paired["c0"].to_pylist(), strict=True))
        for number, (word, key) in enumerate(words):
            assert word != BEFORE or words[number + 1] == (AFTER, key)
            assert word != AFTER or words[number - 1] == (BEFORE, key)
        changed = [key for word, key in words if word != BEFORE]
        assert len(changed) == len(set(changed)), "a key changes once in a micro-batch"
        out += rows_out(paired, batch_size)
    assert sorted(table_of(out), key=str) == passing(changes)


@pytest.mark.parametrize(
    ("changes", "net"),
    [
        ([(INSERT, 1, 5), (DELETE, 1, 5)], []),
        ([(INSERT, 1, 5), (BEFORE, 1, 5), (AFTER, 1, 6)], [(INSERT, 1, 6)]),
        ([(BEFORE, 1, 5), (AFTER, 1, 6), (BEFORE, 1, 6), (AFTER, 1, 7)], [(BEFORE, 1, 5), (AFTER, 1, 7)]),
        ([(BEFORE, 1, 5), (AFTER, 1, 6), (DELETE, 1, 6)], [(DELETE, 1, 5)]),
        ([(DELETE, 1, 5), (INSERT, 1, 6)], [(BEFORE, 1, 5), (AFTER, 1, 6)]),
        ([(AFTER, 1, 6), (DELETE, 1, 6)], []),  # its preimage was in the micro-batch before
    ],
)
def test_the_net_change_of_a_key(changes: list[Change], net: list[Change]) -> None:
    """A sink that applies changes by key takes one of each key: an insert after a delete would win else."""
    assert [tuple(row.values()) for row in Pairs(("c0",)).pairs(arrow(changes)).to_pylist()] == net


def test_a_preimage_at_the_end_is_not_lost() -> None:
    """In the last Arrow batch of a task, or in one before it."""
    rows = arrow([(BEFORE, 1, 5), (AFTER, 1, 6), (BEFORE, 2, 7)])
    for size in (1, 2, 3):
        assert [row[CHANGE] for row in rows_out(rows, size)] == [BEFORE, AFTER, DELETE]


def test_one_side_that_passes_and_sides_that_are_equal() -> None:
    pairs = [
        (BEFORE, 1, 5),
        (AFTER, 1, -1),
        (BEFORE, 2, -1),
        (AFTER, 2, 5),
        (BEFORE, 3, 1),
        (AFTER, 3, 1),
        (AFTER, 4, 1),
    ]
    found = [(row[CHANGE], row["c0"]) for row in rows_out(arrow(pairs), 2)]
    assert found == [(DELETE, 1), (INSERT, 2), (INSERT, 4)]


@pytest.mark.parametrize("word", [None, "INSERT", "update"])
def test_words_that_are_none_of_the_four(word: str | None) -> None:
    with pytest.raises(PanesError, match="c0 = 7") as caught:
        Pairs(("c0",)).pairs(arrow([(INSERT, 1, 1), (word, 7, 1)]))
    assert caught.value.code == "inconsistent-change"
