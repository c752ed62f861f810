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
from panes.kernels.late_rows import CLOCK, LATE, ROW, is_late
from panes.kernels.state.release import Release
from panes.kernels.windows.count import CountWindows
from panes.kernels.windows.session import NUMBER, SessionWindows
from panes.kernels.windows.slices import SLICE, SliceWindows
from panes.spark.blob import from_bytes
from panes.spark.pack import BATCH, CONTROL, KEEP, MOMENT, PLACE, STARTED, TIME, TOLD, Pack

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


def sent(kernel: Kernel, rows: pa.Table) -> list[dict[str, Any]]:
    """All that is sent to shards."""
    return [one for batch in Pack(kernel, SHARDS)(iter(rows.to_batches())) for one in batch.to_pylist()]


def test_rows_in_no_window_are_counted() -> None:
    """Windows of 2 every 5: of ten rows four are in one."""
    kernel = SliceWindows(2, 5, TIME, (KEY,), Grouping((SLICE, KEY), FOLDS, ORDER))
    found = sent(kernel, table([(time, time, 0) for time in range(10)]))
    assert (sum(one["rows_in"] for one in found), sum(one["no_window_rows"] for one in found)) == (10, 6)


@pytest.mark.parametrize(
    ("control", "told"),
    [
        ([False, None], {(50, True, 9)}),  # rows came
        ([None, None], {(50, False, 9)}),  # a heartbeat
        ([True, True], set()),  # the end of the input
    ],
)
def test_every_shard_hears_of_rows_and_heartbeats(control: list[bool | None], told: set[tuple[int, bool, int]]) -> None:
    rows = table([(1, 1, 1), (2, 2, 2)])
    columns = {CONTROL: control, KEEP: [one is False for one in control], MOMENT: [50, 50], STARTED: [None, 9]}
    for name, values in columns.items():
        type_ = pa.bool_() if name in (CONTROL, KEEP) else pa.int64()
        rows = rows.append_column(name, pa.array(values, type_))
    found = sent(KERNELS["tumbling"], rows)
    for shard in SHARDS:
        own = [one for one in found if one["shard"] == shard and one["moment"] is not None]
        assert {(one["moment"], one["came"], one["started"]) for one in own} == told
    blobs = [from_bytes(one["blob"]) for one in found if one["blob"] is not None]
    assert all({MOMENT, STARTED}.isdisjoint(one.column_names) for one in blobs)


def test_the_clock_of_an_operator_below_reaches_every_shard() -> None:
    rows = table([(1, 1, 1), (2, 2, 2)]).append_column(TOLD, pa.array([None, 70], pa.int64()))
    found = sent(KERNELS["tumbling"], rows)
    assert {one["shard"] for one in found if one["clock"] == 70} == set(SHARDS)


def test_late_rows_of_an_operator_below_pass_through() -> None:
    """They are blobs of their own, and no rows of this operator."""
    late = pa.array(
        [{ROW: {"a": 1}, CLOCK: 5}, None], pa.struct({ROW: pa.struct({"a": pa.int64()}), CLOCK: pa.int64()})
    )
    rows = table([(1, 1, 1), (2, 2, 2)]).append_column(LATE, late)
    found = sent(KERNELS["count"], rows)
    blobs = [from_bytes(one["blob"]) for one in found if one["blob"] is not None]
    assert sorted(one.num_rows for one in blobs) == [1, 1]
    (passed,) = (one for one in blobs if is_late(one))
    assert passed[LATE].to_pylist() == [{ROW: {"a": 1}, CLOCK: 5}]
    assert sum(one["rows_in"] for one in found) == 1
