"""From the arrival of the row that completes a result to the result: the middle one and the slowest of a hundred."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa

from benchmarks.peers.check import CHANGE, STAMP, columns, files
from benchmarks.peers.data import END, START
from benchmarks.peers.feed import WARM_UP, Feed
from benchmarks.peers.workloads import Workload


def latencies(
    workload: Workload, result: Path, arrivals: dict[str, int], feed: Feed
) -> tuple[float | None, float | None]:
    """p50 and p99 in milliseconds; the results of the first seconds and of the last file do not count."""
    came = sorted(arrivals.items())[:-1]
    ends = [START // 1000 + (int(Path(name).stem) + 1) * feed.shape.file_rows - 1 for name, _ in came]
    table = pa.table({"until": pa.array(ends, pa.int64()), "came": pa.array([at for _, at in came], pa.int64())})
    counted = came[0][1] + int(WARM_UP * 1e9)
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        db.register("arrived", table)
        db.execute(f"CREATE VIEW written AS SELECT * FROM read_parquet({files(result)})")
        types = columns(db, "written")
        times = [name for name, kind in types.items() if kind.startswith("TIMESTAMP") and name != STAMP]
        replaced = ", ".join(f"epoch_ms({name}::TIMESTAMPTZ) AS {name}" for name in times)
        stamp = f"epoch_ns({STAMP}::TIMESTAMPTZ)" if types[STAMP].startswith("TIMESTAMP") else STAMP
        kept = f"k <> {END}" + (f" AND {CHANGE} IN ('insert', 'update_postimage')" if CHANGE in types else "")
        found = db.sql(f"""
            WITH results AS (
              SELECT {workload.due} AS due, {stamp} AS result_at
              FROM (SELECT * {f"REPLACE ({replaced})" if replaced else ""} FROM written WHERE {kept})
            ), delays AS (
              SELECT (result_at - came) / 1e6 AS ms
              FROM results ASOF JOIN arrived ON due <= until WHERE came >= {counted}
            )
            SELECT quantile_cont(ms, 0.5), quantile_cont(ms, 0.99) FROM delays
        """).fetchall()[0]
    return found[0], found[1]
