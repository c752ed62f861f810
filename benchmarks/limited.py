"""Streams whose first micro-batch is large, on a Spark that limits the address space of its Python workers.

Spark limits it by `spark.executor.pyspark.memory`: a worker that asks for more gets none, and the query fails.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import StreamingQueryException
from rich.console import Console
from rich.table import Table

import panes
from benchmarks.peers.processes import tree
from benchmarks.streams import START
from panes.spark.session import embedded

FILES = 8  # each over all of the time, as the partitions of a topic are
EVERY = 0.1  # seconds between two looks at the workers
HIGH_WATER = re.compile(r"Vm(HWM|Peak):\s+(\d+) kB")


@dataclass(frozen=True)
class Case:
    """`rows` makes the columns of some rows; a worker may take `limit` megabytes."""

    sql: str
    schema: str
    rows: Callable[[np.random.Generator, int], dict[str, pa.Array]]
    size: int
    group: int  # rows in a row group of a file
    limit: int


def narrow(random: np.random.Generator, count: int) -> dict[str, pa.Array]:
    return {"k": pa.array(random.integers(0, 10_000, count)), "v": pa.array(np.arange(count))}


def wide(random: np.random.Generator, count: int) -> dict[str, pa.Array]:
    """100 kB of which half does not compress."""
    values = [random.bytes(25_000).hex() + "x" * 50_000 for _ in range(count)]
    return {"k": pa.array(random.integers(0, 7, count)), "v": pa.array(values)}


LAG = "SELECT ts, k, v, lag(v) OVER (PARTITION BY k) AS previous FROM s"
RUNNING = "SELECT ts, k, v, row_number() OVER (PARTITION BY k ORDER BY ts) AS n FROM s"
TUMBLING = "SELECT k, count(*) AS n, sum(v) AS s, window_end() AS closes FROM s GROUP BY tumblingwindow('ss', 10), k"
LENGTHS = "SELECT ts, k, length(lag(v) OVER (PARTITION BY k)) AS previous FROM s"
CASES = {
    "lag": Case(LAG, "ts timestamp, k long, v long", narrow, 50_000_000, 1 << 20, 3072),
    "row_number": Case(RUNNING, "ts timestamp, k long, v long", narrow, 50_000_000, 1 << 20, 3072),
    "tumbling": Case(TUMBLING, "ts timestamp, k long, v long", narrow, 50_000_000, 1 << 20, 3072),
    "rows of 100 kB": Case(LENGTHS, "ts timestamp, k long, v string", wide, 10_000, 100, 3072),
}


def write(case: Case, size: int, folder: Path) -> None:
    """Rows 10 µs apart, each in the next file."""
    random = np.random.default_rng(1)
    for number in range(FILES):
        at = np.arange(number, size, FILES)
        writer = None
        for start in range(0, len(at), case.group):
            times = pa.array(START + at[start : start + case.group] * 10, pa.timestamp("us", "UTC"))
            table = pa.table({"ts": times, **case.rows(random, len(times))})
            writer = writer or pq.ParquetWriter(folder / f"{number}.parquet", table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()


def measured(name: str, size: int, limit: int) -> dict[str, int]:
    """Rows that came out, the seconds it took, and the largest worker: what it had in memory, and had mapped."""
    os.environ["PYSPARK_SUBMIT_ARGS"] = (
        f"--conf spark.executor.pyspark.memory={limit}m --conf spark.executor.cores=1 --driver-memory 4g "
        "--conf spark.python.authenticate.socketTimeout=120s pyspark-shell"  # on a busy machine
    )
    case = CASES[name]
    with tempfile.TemporaryDirectory(prefix="panes-limited-") as folder:
        rows, checkpoint = Path(folder) / "rows", Path(folder) / "checkpoint"
        rows.mkdir()
        write(case, size, rows)
        spark = embedded(2)
        engine = panes.Engine(spark)
        source = spark.readStream.schema(case.schema).parquet(str(rows))
        engine.stream("s", source, time="ts", watermark="0 seconds")
        writer = engine.sql(case.sql).writeStream.format("noop").option("checkpointLocation", str(checkpoint))
        began = time.monotonic()
        with watched(os.getpid()) as peak:
            query = writer.trigger(availableNow=True).start()
            try:
                query.awaitTermination()
            except StreamingQueryException as error:
                print(f"failed with {peak}", file=sys.stderr)
                raise error from None
        out = sum(one.observedMetrics[m]["rows_out"] for one in query.recentProgress for m in one.observedMetrics)
        spark.stop()
    return {"rows": size, "rows_out": out, "limit": limit, "seconds": int(time.monotonic() - began), **peak}


@contextmanager
def watched(root: int) -> Iterator[dict[str, int]]:
    """The largest Python worker of this process, in megabytes: `megabytes` in memory, `mapped` in its address space."""
    peak = {"megabytes": 0, "mapped": 0}
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(EVERY):
            for process in tree(root):
                for name, kilobytes in HIGH_WATER.findall(_status(process)):
                    what = "megabytes" if name == "HWM" else "mapped"
                    peak[what] = max(peak[what], int(kilobytes) // 1024)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()


def _status(process: int) -> str:
    """Of a worker of Spark, else nothing."""
    try:
        if b"pyspark" not in Path(f"/proc/{process}/cmdline").read_bytes() or process == os.getpid():
            return ""
        status = Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return ""
    return status if status.startswith("Name:\tpython") else ""


def run(console: Console) -> dict[str, object]:
    figures: dict[str, object] = {}
    columns = ("rows", "rows_out", "limit", "megabytes", "mapped", "seconds")
    table = Table("case", *columns, title="Memory of Spark's Python workers, MB", title_justify="left")
    for name, case in CASES.items():
        command = [sys.executable, "-m", "benchmarks.limited", name, str(case.size), str(case.limit)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        figures[name] = found
        table.add_row(name, *(f"{found[what]:,}" for what in columns))
    console.print(table)
    return figures


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))), flush=True)
