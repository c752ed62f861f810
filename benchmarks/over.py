"""OVER windows: on window close beside what people write by hand, and over changelogs as the partition grows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

import panes
from benchmarks import by_hand as hand
from benchmarks.by_hand import Case
from benchmarks.figures import Figures
from benchmarks.stateful import SHAPE
from benchmarks.streams import Bench, bench
from panes.kernels.over.incremental import OverIncremental
from panes.spark.progress import counters_of

HAND, SHARE, LARGER = 10, 0.5, 2
BY_KEY = "OVER (PARTITION BY k ORDER BY ts{}) AS result"
LAG = f"SELECT k, ts, v, lag(v) {BY_KEY.format('')} FROM s"
NUMBER = f"SELECT k, ts, v, row_number() {BY_KEY.format('')} FROM s"
RANGE = f"SELECT k, ts, v, sum(v) {BY_KEY.format(' RANGE INTERVAL 10 SECONDS PRECEDING')} FROM s"
ON_CLOSE = (
    Case("lag", LAG, hand.lag, f"{hand.ROW}, result double", "last double"),
    Case("row_number", NUMBER, hand.row_number, f"{hand.ROW}, result long", "count long"),
    Case(
        "RANGE 10 s sum",
        RANGE,
        hand.range_sum,
        f"{hand.ROW}, result double",
        "recent_times binary, recent_values binary",
    ),
)

Numbers = npt.NDArray[np.int64]


@dataclass
class Ledger:
    """One partition of `size` rows, numbered as they came, in the order of `o`; and files of changes of it."""

    size: int
    folder: Path

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(1)
        self.o: Numbers = np.sort(self.random.permutation(self.size * 10)[: self.size]).astype(np.int64)
        self.x: Numbers = self.random.integers(0, 1000, self.size)
        self.files = 0
        self.folder.mkdir(parents=True)

    def write(self, kinds: list[str], ids: Numbers, x: Numbers) -> None:
        columns = {"id": ids, "p": np.zeros(len(ids), np.int64), "o": self.o[ids], "x": x, "_change_type": kinds}
        pq.write_table(pa.table(columns), self.folder / f"{self.files:03}.parquet")
        self.files += 1

    def load(self) -> None:
        """All rows."""
        self.write(["insert"] * self.size, np.arange(self.size), self.x)

    def update(self, ids: Numbers) -> None:
        """Other values in these rows."""
        before = self.x[ids]
        self.x[ids] = before + 1
        kinds = ["update_preimage", "update_postimage"] * len(ids)
        self.write(kinds, np.repeat(ids, 2), np.stack([before, before + 1], 1).ravel())

    def append(self, number: int) -> None:
        """New rows at the end."""
        ids = np.arange(len(self.o), len(self.o) + number)
        self.o = np.concatenate([self.o, self.o.max() + 1 + np.arange(number)])
        self.x = np.concatenate([self.x, np.zeros(number, np.int64)])
        self.write(["insert"] * number, ids, self.x[ids])

    def scattered(self, number: int) -> Numbers:
        return self.random.choice(self.size, number, replace=False).astype(np.int64)

    def recent(self, number: int) -> Numbers:
        """Any among the last ones of the order."""
        return self.random.permutation(np.argsort(self.o)[-5 * number :])[:number]


SUM = "SELECT id, p, x, sum(x) OVER (PARTITION BY p ORDER BY o ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS s FROM t"
RANK = "SELECT id, p, x, row_number() OVER (PARTITION BY p ORDER BY o) AS n FROM t"
SMALL, LARGE = 10_000, 1_000_000
CHANGES, BATCHES, SETTLING = 1_000, 9, 3
WORKLOADS = {
    "ROWS 10 PRECEDING sum, 1,000 recent rows change": (SUM, lambda t: t.update(t.recent(CHANGES))),
    "ROWS 10 PRECEDING sum, 1,000 rows anywhere change": (SUM, lambda t: t.update(t.scattered(CHANGES))),
    "row_number, 1,000 rows come at the end": (RANK, lambda t: t.append(CHANGES)),
}


@dataclass(frozen=True)
class Cost:
    """Of a micro-batch: its time, the blocks that it looked into, and bytes: of the state, and what of it was read."""

    ms: float
    blocks: int
    read: int
    at_hand: int
    state: int


def cost(on: Bench, sql: str, change: Any, size: int, name: str) -> Cost:
    """The middle micro-batch of changes, after those that settle."""
    ledger = Ledger(size, on.folder / f"{name}-{size}".replace(" ", "-"))
    ledger.load()
    for _ in range(BATCHES):
        change(ledger)
    reader = on.spark.readStream.schema("id long, p long, o long, x long, _change_type string")
    engine = panes.Engine(on.spark)
    rows = reader.option("maxFilesPerTrigger", 1).parquet(str(ledger.folder))
    engine.stream("t", rows, key=["id"], changelog=True, preimages="always")
    found = [one for one in on.progress(engine.sql(sql)) if one.numInputRows > 0][1 + SETTLING :]
    counted = [counters_of(one) for one in found]
    counters = ("blocks_read", "bytes_read", "bytes_cached")
    blocks, read, cached = (int(median(one[counter] for one in counted)) for counter in counters)
    ms = median(one.durationMs["triggerExecution"] for one in found)
    return Cost(ms, blocks, read, cached, counted[-1]["state_bytes"])


def run(console: Console) -> dict[str, object]:
    figures = Figures("OVER windows", console)
    with bench() as on:
        for name, (sql, change) in WORKLOADS.items():
            small, large = (cost(on, sql, change, size, name) for size in (SMALL, LARGE))
            costs = {f"{size:,} rows": vars(one) for size, one in ((SMALL, small), (LARGE, large))}
            figures.note(f"{name}: 1,000,000 rows against 10,000", large.ms / small.ms, f"≤ {LARGER}", **costs)
            for size, one in ((SMALL, small), (LARGE, large)):
                console.print(
                    f"  {size:,} rows: {one.ms:,.0f} ms, {one.blocks:,} blocks of at most {OverIncremental.size} rows;"
                )
                console.print(f"  of {one.state:,} bytes of state {one.at_hand:,} at hand, {one.read:,} read")
        for case in ON_CLOSE:
            case.measure(on, figures, SHAPE, share=SHARE, hand=HAND)
    return figures.show()
