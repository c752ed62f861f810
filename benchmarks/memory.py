"""Memory is bounded: the peak of a worker that runs a shard, each case in a process of its own, without Spark.

State is kept in files, as Spark keeps it outside of the worker. Peaks are less what the imports take.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks.growth import own_cache
from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import Fold
from panes.kernels.kernel import Kernel
from panes.kernels.state.release import Release
from panes.kernels.stateful.call import StatefulCall
from panes.kernels.stateful.functions import StatefulFunctions
from panes.kernels.windows.sliding import SlidingWindows
from panes.physical.identity import Identity
from panes.spark.blob import to_bytes
from panes.spark.memory import Memory
from panes.spark.results import read_result
from panes.spark.shard import SHIFT_MS, Shard, Task
from panes.spark.worker import set_up

MB = 1 << 20
HOUR = 3_600_000_000
RELEASE = Release("ts", ("ts", "place"), waits=True, late=True)
LAG = StatefulFunctions(("k",), (StatefulCall("lag", ("v",), "lag"),), RELEASE)


@dataclass(frozen=True)
class Case:
    """`rows` gives the tables of the first micro-batch; the second one has no rows, and releases all of them."""

    kernel: Kernel
    outputs: tuple[str, ...]
    rows: Callable[[int], Iterator[pa.Table]]
    size: int  # rows, in the benchmark


def narrow(count: int, groups: int = 10_000) -> Iterator[pa.Table]:
    for start in range(0, count, 500_000):
        at = np.arange(start, min(count, start + 500_000))
        times = pa.array(at * 10, pa.timestamp("us", "UTC"))
        yield pa.table({"ts": times, "k": at % groups, "v": at, "place": at})


def wide(count: int) -> Iterator[pa.Table]:
    """Rows of 100 kB that do not compress."""
    random = np.random.default_rng(1)
    for start in range(0, count, 100):
        at = np.arange(start, min(count, start + 100))
        times = pa.array(at * 10, pa.timestamp("us", "UTC"))
        values = pa.array([random.bytes(100_000) for _ in at], pa.binary())
        yield pa.table({"ts": times, "k": at % 7, "v": values, "place": at})


def few_groups(count: int) -> Iterator[pa.Table]:
    return narrow(count, 1_000)


SUM = accumulator("sum", ["bigint"])
assert SUM is not None
GROUPS = SlidingWindows(HOUR, None, None, (), ("k",), (Fold(SUM, ("v",), None, "s"),), RELEASE)
CASES = {
    "first micro-batch": Case(LAG, ("ts", "k", "v", "lag"), narrow, 50_000_000),
    "rows of 100 kB": Case(LAG, ("ts", "k", "lag"), wide, 20_000),
    "sliding window with keys": Case(GROUPS, ("k", "s", "window_start", "window_end"), few_groups, 15_000),
}


class Store:
    """A state store in files."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:  # noqa: N802
        path = self.folder / key[0]
        return (path.read_bytes(),) if path.exists() else None

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802
        (self.folder / key[0]).write_bytes(value[0])

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802
        (self.folder / key[0]).unlink()

    def registerTimer(self, at: int) -> None:  # noqa: N802
        pass

    def deleteTimer(self, at: int) -> None:  # noqa: N802
        pass


def peak() -> int:
    return getrusage(RUSAGE_SELF).ru_maxrss // 1024


def measured(name: str, size: int) -> dict[str, int]:
    """Megabytes of this process above those of its imports, and the rows that came out."""
    case, rows_out = CASES[name], 0
    memory = Memory(1024 * MB, 1)
    set_up(memory)
    before = peak()
    with own_cache(), TemporaryDirectory() as folder:
        store = Store(folder)
        shard = Shard(case.kernel, case.outputs, Identity({}, {}), 0, memory)
        for packed, watermark_ms in ((blobs(case, size), 0), (iter(()), HOUR // 1000 + SHIFT_MS)):
            for row in Task(shard, store, store).rows(packed, watermark_ms):
                for table in read_result(row.blob, row.file):
                    rows_out += table.num_rows
    return {"rows": size, "rows_out": rows_out, "megabytes": peak() - before}


def blobs(case: Case, size: int) -> Iterator[Any]:
    for number, table in enumerate(case.rows(size)):
        blob = to_bytes(case.kernel.pack(table))
        yield SimpleNamespace(place=number, blob=blob, flush=False, rows_in=table.num_rows, null_time_rows=0)


def elsewhere(name: str, size: int) -> dict[str, int]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory", name, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, int] = json.loads(done.stdout.splitlines()[0])
    return found


def run(console: Console) -> dict[str, object]:
    figures: dict[str, object] = {}
    table = Table("case", "rows in", "rows out", "peak, MB", title="Memory of a worker", title_justify="left")
    for name, case in CASES.items():
        found = elsewhere(name, case.size)
        figures[name] = found
        table.add_row(name, *(f"{found[what]:,}" for what in ("rows", "rows_out", "megabytes")))
    console.print(table)
    return figures


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))), flush=True)
