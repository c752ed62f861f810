"""Cost follows change: what a micro-batch of 1,000 rows costs, while what has piled up before it grows a hundredfold.

Each case runs a shard as Spark does, on a state store that counts what is written. Figures are ratios, large against
small: rows written, bytes written, time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from pyspark import SparkFiles
from rich.console import Console
from rich.table import Table

from benchmarks.growth_cases import CASES, Case, Feed
from panes.kernels.kernel import Kernel
from panes.physical.identity import Identity
from panes.spark.blob import to_bytes
from panes.spark.chunk_cache import chunk_cache
from panes.spark.pack import Packed
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
    milliseconds: float


def run(console: Console, only: str | None = None) -> dict[str, object]:
    figures: dict[str, object] = {}
    table = Table("case", "what grows", "rows written", "bytes written", "time", title="Growth", title_justify="left")
    for case in (case for case in CASES if only in (None, case.name)):
        costs = {size: cost(case, size) for size in case.sizes}
        small, large = costs[case.sizes[0]], costs[case.sizes[-1]]
        ratios = [
            after / before if before else 1.0 for before, after in zip(astuple(small), astuple(large), strict=True)
        ]
        figures[case.name] = {str(size): vars(one) for size, one in costs.items()} | {"ratios": ratios}
        shown = [f"{ratio:.2f}" if ratio <= TARGET else f"[red]{ratio:.2f}[/red]" for ratio in ratios]
        table.add_row(case.name, f"{case.grows}: {case.sizes[0]:,} → {case.sizes[-1]:,}", *shown)
        console.print(f"{case.name}: {' '.join(shown)}, {small.milliseconds:.1f} → {large.milliseconds:.1f} ms")
    console.print(table)
    return figures


def cost(case: Case, size: int) -> Cost:
    with own_cache():
        kernel, feed = case.make(size)
        store, rows, taken = Store(), 0, 0.0
        for number in range(-feed.before, 0):
            step(kernel, store, feed, number)
        for number in range(WARM):
            step(kernel, store, feed, number)
        before = store.bytes_written
        for number in range(WARM, WARM + MEASURED):
            known = store.rows()
            taken += step(kernel, store, feed, number)
            rows += sum(count for id_, count in store.rows().items() if id_ not in known)
    return Cost(rows / MEASURED, (store.bytes_written - before) / MEASURED, 1_000 * taken / MEASURED)


def step(kernel: Kernel, store: Store, feed: Feed, number: int) -> float:
    """One micro-batch; the seconds it took."""
    rows = feed.rows(number)
    blob = to_bytes(kernel.pack(rows))
    packed: Any = Packed(0, rows_in=rows.num_rows, blob=blob)
    began = perf_counter()
    task = Task(Shard(kernel, feed.outputs, Identity({}, {})), store, store)
    for _ in task.rows([packed], feed.watermark(number) // 1_000 + SHIFT_MS):
        pass
    return perf_counter() - began


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
