"""Cost follows change: what a micro-batch of 1,000 rows costs, while what has piled up before it grows a hundredfold.

Each case runs a shard as Spark does, on a state store that counts what is written. Figures are ratios, large against
small: rows written, bytes written, processor time. Kernels run on one thread, so that on a quiet machine this is the
time, and on a busy one what the time would be. A run of all cases writes the page and its plot.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import pyarrow as pa
from pyspark import SparkFiles
from rich.console import Console
from rich.table import Table

from benchmarks.growth_cases import CASES, KEY, TIME, Case, Feed
from benchmarks.growth_page import Growth, write_page
from panes.kernels.kernel import SHARD, Kernel
from panes.physical.identity import Identity
from panes.spark.blob import to_bytes
from panes.spark.chunk_cache import chunk_cache
from panes.spark.pack import TIME as PACKED_TIME
from panes.spark.pack import Pack, Packed
from panes.spark.shard import DIRECTORY, SHIFT_MS, Directory, Shard, Task

WARM = 8  # until what the large micro-batches left is through
MEASURED = 128  # micro-batches: enough for compactions to be in them
TARGET = 1.5


@dataclass
class Store:
    """A state store: a map that counts."""

    values: dict[str, bytes] = field(default_factory=dict)
    bytes_written: int = 0

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:  # noqa: N802
        return (self.values[key[0]],) if key[0] in self.values else None

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802
        self.values[key[0]] = value[0]
        self.bytes_written += len(value[0])

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802
        del self.values[key[0]]

    def registerTimer(self, at: int) -> None:  # noqa: N802
        pass

    def deleteTimer(self, at: int) -> None:  # noqa: N802
        pass

    def rows(self) -> dict[str, int]:
        """How many each chunk has."""
        found = self.values.get(DIRECTORY)
        return {} if found is None else {chunk["id"]: chunk["rows"] for chunk in Directory.decode(found).chunks}


@dataclass(frozen=True)
class Cost:
    """What a micro-batch costs, on average."""

    rows: float
    bytes: float
    processor: float  # milliseconds
    milliseconds: float


def run(console: Console, only: str | None = None) -> dict[str, object]:
    figures: dict[str, object] = {}
    grown: list[Growth] = []
    head = ("case", "what grows", "rows written", "bytes written", "processor time")
    table = Table(*head, title="Growth", title_justify="left")
    for case in (case for case in CASES if only in (None, case.name)):
        costs = {size: cost(case, size) for size in case.sizes}
        small, large = costs[case.sizes[0]], costs[case.sizes[-1]]
        pairs = list(zip(astuple(small), astuple(large), strict=True))
        ratios = [after / before if before else 1.0 for before, after in pairs]
        taken = small.processor, large.processor
        grown.append(Growth(case.name, case.grows, case.sizes, (ratios[0], ratios[1], ratios[2]), taken))
        figures[case.name] = {str(size): vars(one) for size, one in costs.items()} | {"ratios": ratios}
        shown = [f"{ratio:.2f}" if ratio <= TARGET else f"[red]{ratio:.2f}[/red]" for ratio in ratios[:3]]
        table.add_row(case.name, f"{case.grows}: {case.sizes[0]:,} → {case.sizes[-1]:,}", *shown)
        console.print(f"{case.name}: {' '.join(shown)}, {small.processor:.1f} → {large.processor:.1f} ms")
    console.print(table)
    if only is None:
        write_page(grown)
    return figures


def cost(case: Case, size: int) -> Cost:
    with own_cache():
        kernel, feed = case.make(size)
        store, rows, processor, taken = Store(), 0, 0.0, 0.0
        for number in range(-feed.before, 0):
            step(kernel, store, feed, number)
        for number in range(WARM):
            step(kernel, store, feed, number)
        before = store.bytes_written
        for number in range(WARM, WARM + MEASURED):
            known = store.rows()
            used, lasted = step(kernel, store, feed, number)
            processor, taken = processor + used, taken + lasted
            rows += sum(count for id_, count in store.rows().items() if id_ not in known)
    written = store.bytes_written - before
    return Cost(rows / MEASURED, written / MEASURED, 1_000 * processor / MEASURED, 1_000 * taken / MEASURED)


def step(kernel: Kernel, store: Store, feed: Feed, number: int) -> tuple[float, float]:
    """One micro-batch; the seconds of processor time that it took, and those that went by."""
    rows = feed.rows(number)
    if feed.shards:
        return pack(Pack(kernel, tuple(range(feed.shards))), store, rows)
    blob = to_bytes(kernel.pack(rows))
    packed: Any = Packed(0, rows_in=rows.num_rows, blob=blob)
    used, began = process_time(), perf_counter()
    task = Task(Shard(kernel, feed.outputs, Identity({}, {})), store, store)
    for _ in task.rows([packed], feed.watermark(number) // 1_000 + SHIFT_MS):
        pass
    return process_time() - used, perf_counter() - began


def pack(packs: Pack, store: Store, rows: pa.Table) -> tuple[float, float]:
    """What comes before the shuffle; its blobs count as written."""
    shards = pa.array(rows[KEY].to_numpy() % len(packs.shards), pa.int32())
    batches = rows.append_column(SHARD, shards).append_column(PACKED_TIME, rows[TIME]).to_batches(10_000)
    used, began = process_time(), perf_counter()
    packed = list(packs(iter(batches)))
    spent = process_time() - used, perf_counter() - began
    store.bytes_written += sum(batch["blob"].nbytes for batch in packed)
    return spent


@contextmanager
def own_cache() -> Iterator[None]:
    """Chunks are cached as in a worker, in a folder that is gone afterwards."""
    root, on_worker = SparkFiles._root_directory, SparkFiles._is_running_on_worker
    with TemporaryDirectory() as folder:
        SparkFiles._root_directory, SparkFiles._is_running_on_worker = folder, True
        chunk_cache.cache_clear()
        try:
            yield
        finally:
            SparkFiles._root_directory, SparkFiles._is_running_on_worker = root, on_worker
            chunk_cache.cache_clear()
