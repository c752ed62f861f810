"""Memory is bounded: the peak of a worker that runs a shard, each case in a process of its own, without Spark.

State is kept in files, as Spark keeps it outside of the worker. Peaks are less what the imports take.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks.growth import own_cache
from panes.frames import Edge, Unit
from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import Fold, Grouping
from panes.kernels.kernel import Kernel
from panes.kernels.over.calls import Bound, Frame, OrderKey, OverCall, Values
from panes.kernels.over.incremental import OverIncremental
from panes.kernels.over.on_close import OverOnClose
from panes.kernels.over.on_complete import OverOnComplete
from panes.kernels.state.release import Release
from panes.kernels.stateful.call import StatefulCall
from panes.kernels.stateful.functions import StatefulFunctions
from panes.kernels.windows.slices import SLICE, SliceWindows
from panes.kernels.windows.sliding import SlidingWindows
from panes.physical.identity import Identity
from panes.spark.blob import to_bytes
from panes.spark.memory import Memory
from panes.spark.pack import Packed
from panes.spark.results import read_result
from panes.spark.shard import SHIFT_MS, Shard, Task
from panes.spark.worker import set_up

MB = 1 << 20
RANDOM = np.random.default_rng(1)
HOUR = 3_600_000_000
RELEASE = Release("ts", ("ts", "place"), waits=True, late=True)
DERIVED = replace(RELEASE, late=False)  # of an operator above another one
LAG = StatefulFunctions(("k",), (StatefulCall("lag", ("v",), "lag"),), RELEASE)


@dataclass(frozen=True)
class Case:
    """`rows` gives the tables of the first micro-batch; the second one has no rows, and releases all of them.

    They are released by the watermark, or by the end of the stream.
    """

    kernel: Kernel
    outputs: tuple[str, ...]
    rows: Callable[[int], Iterator[pa.Table]]
    size: int  # rows, in the benchmark
    flush: bool = False


def narrow(count: int, groups: int = 10_000, sources: int = 1) -> Iterator[pa.Table]:
    """Rows of so many source partitions, one after the other; each is in order, and all are over the same times."""
    for start in range(0, count, 500_000):
        at = np.arange(start, min(count, start + 500_000))
        source, place = np.divmod(at, -(-count // sources))
        times = pa.array((place * sources + source) * 10, pa.timestamp("us", "UTC"))
        yield pa.table({"ts": times, "k": at % groups, "v": at, "place": at})


def of_one_batch(count: int) -> Iterator[pa.Table]:
    return (table.append_column("batch", pa.repeat(0, table.num_rows)) for table in narrow(count))


def wide(count: int, value: Callable[[int], bytes] = RANDOM.bytes) -> Iterator[pa.Table]:
    """Rows of 100 kB; random ones do not compress."""
    for start in range(0, count, 100):
        at = np.arange(start, min(count, start + 100))
        times = pa.array(at * 10, pa.timestamp("us", "UTC"))
        values = pa.array([value(100_000) for _ in at], pa.binary())
        yield pa.table({"ts": times, "k": at % 7, "v": values, "place": at})


SUM = accumulator("sum", ["bigint"])
assert SUM is not None
GROUPS = SlidingWindows(HOUR, None, None, (), ("k",), (Fold(SUM, ("v",), None, "s"),), RELEASE)
SECOND = Frame(Unit.RANGE, Bound(Edge.PRECEDING, Values("since", 1_000_000, -1_000_000)), Bound(Edge.CURRENT_ROW))
OVER = OverOnClose(
    ("k",),
    (OrderKey("ts"),),
    (OverCall("row_number", (), "n"), OverCall("aggregate", ("v",), "s", SECOND, accumulator=SUM)),
    RELEASE,
)
TUMBLING = SliceWindows(HOUR, HOUR, "ts", ("k",), Grouping((SLICE, "k"), (Fold(SUM, ("v",), None, "s"),), ()))
RANKED = OverCall("row_number", (), "n")
COMPLETE = OverOnComplete(("k",), (OrderKey("v"),), (RANKED,), replace(DERIVED, together=True))
CHANGES = OverIncremental(
    ("k",), (OrderKey("v"),), ("place",), ("place",), (RANKED,), ("ts",), None, ("batch", "place")
)
LAGGED, WIDE = ("ts", "k", "v", "lag"), ("ts", "k", "lag")
WINDOW = ("k", "s", "window_start", "window_end")
CASES = {
    "first micro-batch": Case(LAG, LAGGED, narrow, 50_000_000),
    "of 16 sources": Case(LAG, LAGGED, partial(narrow, sources=16), 50_000_000),
    "end of the stream": Case(LAG, LAGGED, partial(narrow, sources=16), 50_000_000, flush=True),
    "above another operator": Case(replace(LAG, release=DERIVED), LAGGED, partial(narrow, sources=16), 50_000_000),
    "one partition": Case(OVER, ("ts", "v", "n", "s"), partial(narrow, groups=1), 50_000_000),
    "rows of 100 kB": Case(LAG, WIDE, wide, 20_000),
    "rows of 100 kB that compress": Case(LAG, WIDE, partial(wide, value=bytes), 20_000),
    # Not bounded, but in proportion to what is named:
    "groups of a window": Case(TUMBLING, WINDOW, partial(narrow, groups=1 << 40), 2_000_000),
    "rows of a partition that is sorted whole": Case(
        COMPLETE, ("k", "v", "n"), partial(narrow, groups=1), 2_000_000, flush=True
    ),
    "rows of a micro-batch with EMIT CHANGES": Case(CHANGES, ("ts", "k", "n"), of_one_batch, 2_000_000),
    "sliding window with keys": Case(GROUPS, WINDOW, partial(narrow, groups=1_000), 15_000),
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
        second = (iter([greeting(case.flush)]), 0 if case.flush else HOUR // 1000 + SHIFT_MS)
        for packed, watermark_ms in ((blobs(case, size), 0), second):
            for row in Task(shard, store, store).rows(packed, watermark_ms):
                for table in read_result(row.blob, row.file):
                    rows_out += table.num_rows
    return {"rows": size, "rows_out": rows_out, "megabytes": peak() - before}


def blobs(case: Case, size: int) -> Iterator[Any]:
    for number, table in enumerate(case.rows(size)):
        blob = to_bytes(case.kernel.pack(table))
        yield Packed(0, number, table.num_rows, blob=blob)


def greeting(flush: bool) -> Any:
    return Packed(0, flush=flush)


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
