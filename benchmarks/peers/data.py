"""Rows for everyone: Parquet files in the order of time, the same for each peer.

A row comes every millisecond of event time, so that no two rows have the same time, and all peers agree on their order.
The last file has a single row an hour later, whose key is `END`: it moves every watermark past all others. What a peer
says of that row does not count.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

START = 1_704_067_200_000_000  # 2024-01-01, in microseconds
MILLISECOND, HOUR = 1_000, 3_600_000_000
END = -1  # the key of the last row
EVENTS, CHANGES = "events", "changes"
Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Shape:
    """So many rows over so many keys, in files of `file_rows`."""

    keys: int
    rows: int
    file_rows: int

    def write(self, kind: str, folder: Path) -> Path:
        """The files of a kind, in a folder that is made once."""
        at = folder / f"{kind}-{self.keys}-{self.rows}-{self.file_rows}"
        if at.exists():
            return at
        unfinished = at.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        rows = events(self.keys, self.rows) if kind == EVENTS else changes(self.keys, self.rows)
        for number, first in enumerate(range(0, self.rows, self.file_rows)):
            write(rows.slice(first, self.file_rows), unfinished, number)
        if kind == EVENTS:
            write(end(self.rows), unfinished, -(-self.rows // self.file_rows))
        unfinished.rename(at)
        lanes(at, 2 if kind == EVENTS else 1)
        return at


def lanes(at: Path, count: int) -> None:
    """The same rows in so many files beside the folder, taken in turn: for those who read files in no order."""
    rows = pq.read_table(at)
    folder = at.with_name(f"{at.name}-lanes")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for lane in range(count):
        write(rows.take(np.arange(lane, rows.num_rows, count)), folder, lane)


def write(rows: pa.Table, folder: Path, number: int) -> None:
    """A file; its time of modification orders files for those who go by it."""
    file = folder / f"{number:05}.parquet"
    pq.write_table(rows, file)
    os.utime(file, (number + 1, number + 1))


def times(values: Longs) -> pa.Array:
    return pa.array(values, pa.timestamp("us", "UTC"))


def events(keys: int, rows: int) -> pa.Table:
    """Each row a random key and a random number."""
    random = np.random.default_rng(1)
    at = START + np.arange(rows, dtype=np.int64) * MILLISECOND
    return pa.table({"ts": times(at), "k": random.integers(0, keys, rows), "v": random.random(rows)})


def end(rows: int) -> pa.Table:
    at = np.array([START + rows * MILLISECOND + HOUR], np.int64)
    return pa.table({"ts": times(at), "k": np.array([END], np.int64), "v": np.zeros(1)})


def changes(keys: int, rows: int) -> pa.Table:
    """A changelog: half of it inserts, then updates in random places, each as the row before and the row after."""
    random = np.random.default_rng(2)
    inserts, updates = rows // 2, rows // 4
    k, v = random.integers(0, keys, inserts), random.random(inserts)
    ids, after = random.integers(0, inserts, updates), random.random(updates)
    before = previous(ids, v, after)
    pairs = np.stack([before, after], 1).ravel()
    id_ = np.concatenate([np.arange(inserts), np.repeat(ids, 2)])
    kinds = np.concatenate([np.full(inserts, "insert"), np.tile(["update_preimage", "update_postimage"], updates)])
    return pa.table({"id": id_, "k": k[id_], "v": np.concatenate([v, pairs]), "_change_type": pa.array(kinds)})


def previous(ids: Longs, first: Floats, after: Floats) -> Floats:
    """The value of a row before each of its updates: that of the update before, or its first.

    ids    3   1   3
    after  .5  .6  .7
    gives  first[3], first[1], .5
    """
    order = np.argsort(ids, kind="stable")
    again = np.concatenate([[False], ids[order][1:] == ids[order][:-1]])
    before = np.empty_like(after)
    before[order] = np.where(again, np.roll(after[order], 1), first[ids[order]])
    return before
