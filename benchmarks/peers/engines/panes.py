"""Panes."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame

import panes
from benchmarks.peers.engines.spark_streams import CHANGES, EVENTS, ROCKSDB, rows, run, session
from benchmarks.peers.task import measure, told

BY_KEY = "OVER (PARTITION BY k ORDER BY ts"
WINDOW = "SELECT k, window_start() AS opens, sum(v) AS s, count(*) AS n FROM s GROUP BY"
QUERIES = {
    "tumbling": f"{WINDOW} tumblingwindow('ss', 10), k",
    "hopping": f"{WINDOW} hoppingwindow('ss', 10, 2), k",
    "session": "SELECT k, window_start() AS opens, max(ts) AS closes, sum(v) AS s, count(*) AS n FROM s "
    "GROUP BY sessionwindow('ss', 1), k",
    "lag": f"SELECT k, ts, v, lag(v) {BY_KEY}) AS r FROM s",
    "row_number": f"SELECT k, ts, v, row_number() {BY_KEY}) AS r FROM s",
    "range_10s": f"SELECT k, ts, v, sum(v) {BY_KEY} RANGE INTERVAL 10 SECONDS PRECEDING) AS r FROM s",
    "statewindow": "SELECT k, window_start() AS opens, window_end() AS closes, sum(v) AS s, count(*) AS n FROM s "
    "GROUP BY statewindow(v > 0.9, v < 0.1) OVER (PARTITION BY k), k",
    "sliding": "SELECT k, window_trigger() AS ts, sum(v) AS s, count(*) AS n FROM s "
    "GROUP BY slidingwindow('ss', 10) OVER (PARTITION BY k), k",
    "keep_latest": "SELECT k, ts, v FROM s QUALIFY row_number() OVER (PARTITION BY k ORDER BY ts DESC) = 1 "
    "EMIT CHANGES",
    "over_changelog": "SELECT id, k, v, sum(v) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 10 PRECEDING AND "
    "CURRENT ROW) AS r FROM s",
}


def main() -> None:
    task = told()
    spark = session(ROCKSDB)

    def query() -> DataFrame:
        engine = panes.Engine(spark)
        if task.workload == "over_changelog":
            engine.stream("s", rows(spark, task, CHANGES), key=["id"], changelog=True, preimages="always")
        else:
            engine.stream("s", rows(spark, task, EVENTS), time="ts", watermark="0 seconds")
        return engine.sql(QUERIES[task.workload])

    def once(folder: Path) -> None:
        run(query(), task, folder)

    measure(task, once)


if __name__ == "__main__":
    main()
