"""Folding rows at once, or in parts that are merged in any order, is the same."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import COUNT, Fold, Grouping

from ..harness import FOLDS, KEY, ORDER, TIE, VALUE, Arrived, Batch, aggregated, batches, plain, table

GROUPING = Grouping((KEY, TIE), FOLDS, ORDER)


def rows_of(batches: list[Batch]) -> list[list[Arrived]]:
    """Parts of a table, each row with a place of its own."""
    parts = [part for batch in batches for part in batch if part]
    return [[Arrived(row, at, i) for i, row in enumerate(part)] for at, part in enumerate(parts)]


def definition(rows: list[Arrived]) -> list[tuple[Any, ...]]:
    groups: dict[Any, list[Arrived]] = defaultdict(list)
    for one in rows:
        groups[one.row.key, one.row.tie].append(one)
    return [(*aggregated(group), *key) for key, group in groups.items()]


@settings(max_examples=100)
@given(batches(), st.randoms(use_true_random=False))
def test_merging_parts_is_folding_the_whole(batches: list[Batch], random: Random) -> None:
    parts = rows_of(batches)
    whole = [one for part in parts for one in part]
    tables = [GROUPING.fold(table(part)) for part in parts]
    random.shuffle(tables)
    while len(tables) > 1:
        count = random.randint(2, len(tables))
        tables = [*tables[count:], GROUPING.merge(tables[:count])]
    if tables:
        assert sorted(plain(GROUPING.evaluate(tables[0])), key=repr) == sorted(definition(whole), key=repr)
        assert sum(tables[0][COUNT].to_pylist()) == len(whole)


def test_a_condition_that_is_null_is_false() -> None:
    fold = Fold(present(accumulator("sum", ["bigint"])), ("v",), "c", "s")
    rows = pa.table({"v": [1, 2, 4], "c": [True, None, False]})
    assert Grouping((), (fold,)).fold(rows)["s"].to_pylist() == [1]


def test_names_are_quoted() -> None:
    """Whatever a column is called, it is that column."""
    odd = 'a "b" $x'
    fold = Fold(present(accumulator("max", ["bigint"])), (odd,), None, "s$s")
    groups = Grouping((odd,), (fold,)).fold(pa.table({odd: [1, 2, 2]}))
    assert sorted(zip(groups[odd].to_pylist(), groups["s$s"].to_pylist(), strict=True)) == [(1, 1), (2, 2)]
    assert VALUE not in groups.column_names
