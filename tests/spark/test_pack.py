"""Rows of all shards are packed at once: each shard gets what it would get alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import Fold, Grouping
from panes.kernels.bounded import MOST_BYTES
from panes.kernels.kernel import SHARD, Kernel
from panes.kernels.state.release import Release
from panes.kernels.windows.count import CountWindows
from panes.kernels.windows.session import NUMBER, SessionWindows
from panes.kernels.windows.slices import SLICE, SliceWindows
from panes.spark.blob import from_bytes
from panes.spark.pack import BATCH, PLACE, TIME, Pack

KEY, VALUE = "k", "v"
FOLDS = tuple(
    Fold(one, (VALUE,), None, name)
    for name in ("sum", "collect_list")
    if (one := accumulator(name, ["bigint"])) is not None
)
ORDER = (TIME, BATCH, PLACE)
KERNELS: dict[str, Kernel] = {
    "tumbling": SliceWindows(4, 4, TIME, (KEY,), Grouping((SLICE, KEY), FOLDS, ORDER)),
    "session": SessionWindows(2, TIME, (KEY,), Grouping((KEY, NUMBER), FOLDS, ORDER)),
    "count": CountWindows(3, None, (KEY,), (), FOLDS, Release(TIME, ORDER, True, True)),
}
SHARDS = (7, 40, 3, 900, 12)
ROWS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9), st.integers(0, 5)), min_size=1, max_size=40)


def table(rows: list[tuple[int, int, int]]) -> pa.Table:
    times, keys, values = zip(*rows, strict=True)
    return pa.table(
        {
            TIME: pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")),
            KEY: pa.array(keys, pa.int64()),
            VALUE: pa.array(values, pa.int64()),
            SHARD: pa.array([key % len(SHARDS) for key in keys], pa.int32()),
        }
    )


def packed(kernel: Kernel, rows: pa.Table) -> dict[int, list[dict[str, Any]]]:
    """The rows of each shard's blobs."""
    found: dict[int, list[dict[str, Any]]] = {}
    for batch in Pack(kernel, SHARDS)(iter(rows.to_batches())):
        for one in batch.to_pylist():
            if one["blob"] is not None:
                found.setdefault(one["shard"], []).extend(from_bytes(one["blob"]).to_pylist())
    return found


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(map(repr, (sorted(row.items()) for row in rows)))


@pytest.mark.parametrize("name", KERNELS)
@given(rows=ROWS)
def test_a_shard_gets_what_it_would_get_alone(name: str, rows: list[tuple[int, int, int]]) -> None:
    kernel, given_rows = KERNELS[name], table(rows)
    found = packed(kernel, given_rows)
    count = given_rows.num_rows
    placed = given_rows.append_column(PLACE, pa.array(np.arange(count)))
    placed = placed.append_column(BATCH, pa.array(np.zeros(count, np.int64)))
    homes = placed[SHARD].to_numpy()
    for index, shard in enumerate(SHARDS):
        own = placed.filter(pa.array(homes == index)).drop_columns([SHARD])
        expected = kernel.pack(own).to_pylist() if own.num_rows else []
        assert counted(found.get(shard, [])) == counted(expected)


def test_blobs_are_bounded_by_bytes_and_in_order() -> None:
    """Rows of 1 MB: four blobs for a shard, whose places tell them apart; and rows are packed 64 MB at a time."""
    count = 100
    rows = table([(time, 5, 0) for time in range(count)]).append_column("wide", pa.array(["x" * (1 << 20)] * count))
    found = [
        one
        for batch in Pack(KERNELS["count"], SHARDS)(iter(rows.to_batches(max_chunksize=10)))
        for one in batch.to_pylist()
        if one["blob"] is not None
    ]
    tables = [from_bytes(one["blob"]) for one in sorted(found, key=lambda one: one["place"])]
    assert len({one["place"] for one in found}) == len(found) >= 4
    assert all(one.nbytes <= MOST_BYTES for one in tables)
    assert [at for one in tables for at in one[PLACE].to_pylist()] == list(range(count))


def test_rows_of_a_shard_stay_in_order() -> None:
    rows = table([(time, time % 3, 0) for time in range(12)])
    for own in packed(KERNELS["count"], rows).values():
        places = [row[PLACE] for row in own]
        assert places == sorted(places)
