"""LaminarDB, in its own process, fed with Arrow batches.

Its watermark passes the rows of a batch before the batch is worked on, so that with no delay all rows but the last of a
batch are late: a delay of 30 s, and batches of 5 s, let all of them through.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.peers.task import Task, cannot, measure, ready, told

SOURCE = "CREATE SOURCE s (ts BIGINT, k BIGINT, v DOUBLE, WATERMARK FOR ts AS ts - INTERVAL '30' SECOND)"
SELECT = "SELECT k, min(ts) AS opens, max(ts) AS closes, sum(v) AS s, count(*) AS n FROM s GROUP BY k,"
# With window_start() or TUMBLE_START(…) in the SELECT list no row comes out: the start is found from the first row.
QUERIES = {
    "tumbling": (f"{SELECT} TUMBLE(ts, INTERVAL '10' SECOND)", 10_000),
    "hopping": (
        "SELECT k, HOP(ts, INTERVAL '2' SECOND, INTERVAL '10' SECOND) AS opens, sum(v) AS s, count(*) AS n FROM s "
        "GROUP BY k, HOP(ts, INTERVAL '2' SECOND, INTERVAL '10' SECOND)",
        1,
    ),
    "session": (f"{SELECT} SESSION(ts, INTERVAL '1' SECOND)", 1),
}
IN_A_BATCH = "OVER is computed within each batch that comes in: nothing is carried from one to the next"
CANNOT = {
    "lag": IN_A_BATCH,
    "row_number": IN_A_BATCH,
    "range_10s": IN_A_BATCH,
    "sliding": IN_A_BATCH,
    "statewindow": "no window that is opened and closed by conditions, no MATCH_RECOGNIZE",
    "keep_latest": IN_A_BATCH,
    "over_changelog": IN_A_BATCH,
}
ROWS = 5_000  # a batch: five seconds of event time
QUIET = 2.0  # seconds without a result, after which there is none left


def main() -> None:
    task = told()
    if task.workload in CANNOT:
        return cannot(CANNOT[task.workload])
    measure(task, lambda folder: run(task, folder))


def run(task: Task, folder: Path) -> float:
    """All rows in, results out. Nothing says when all are there: the seconds of waiting for more do not count."""
    import laminardb

    query, unit = QUERIES[task.workload]
    found: list[pa.Table] = []
    connection = laminardb.open(":memory:")
    connection.execute(SOURCE)
    connection.execute(f"CREATE STREAM o AS {query}")
    results = connection.subscribe_stream("o")
    connection.start()
    if task.stop:
        ready()
    for file in task.files():
        rows = pq.read_table(file)
        rows = rows.set_column(0, "ts", pc.cast(pc.cast(rows["ts"], pa.timestamp("ms", "UTC")), pa.int64()))
        for batch in rows.to_batches(max_chunksize=ROWS):
            connection.insert("s", batch)
            take(results, found)
    last = time.time()
    while time.time() < last + QUIET:
        if take(results, found):
            last = time.time()
        time.sleep(0.005)
    began = time.time()
    results.cancel()
    connection.close()
    table = pa.concat_tables(found)
    folder.mkdir(parents=True)
    if unit > 1:
        opens = pc.multiply(pc.divide(table["opens"], unit), unit)
        table = table.set_column(table.column_names.index("opens"), "opens", opens)
    pq.write_table(table, folder / "results.parquet")
    return last + time.time() - began


def take(results: Any, found: list[pa.Table]) -> bool:
    """What has come so far, stamped."""
    count = len(found)
    while (one := results.try_next()) is not None:
        table = one.to_arrow()
        found.append(table.append_column("stamped", pa.array([time.time_ns()] * table.num_rows, pa.int64())))
    return len(found) > count


if __name__ == "__main__":
    main()
