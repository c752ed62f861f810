"""Apache Flink SQL, with state on the heap or in RocksDB, two parallel instances, a checkpoint every ten seconds.

Flink hands out the files of a folder in no order, and drops rows whose watermark has passed: so it reads the same rows
from two files, one for each of its readers (`data.lanes`). At a fixed rate a single reader takes each file as it comes.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.peers.task import Task, cannot, measure, ready, told

BY_KEY = "OVER (PARTITION BY k ORDER BY ts"
LAST = "RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW)"
SUMS = "SUM(v) AS s, COUNT(*) AS n"
WINDOW = f"SELECT k, window_start AS opens, {SUMS} FROM TABLE(%s) GROUP BY k, window_start, window_end"
QUERIES = {
    "tumbling": WINDOW % "TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' SECOND)",
    "hopping": WINDOW % "HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND)",
    "session": f"SELECT k, window_start AS opens, window_end - INTERVAL '1' SECOND AS closes, {SUMS} "
    "FROM TABLE(SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' SECOND)) "
    "GROUP BY k, window_start, window_end",
    "lag": f"SELECT k, ts, v, LAG(v) {BY_KEY}) AS r FROM s",
    "row_number": f"SELECT k, ts, v, ROW_NUMBER() {BY_KEY}) AS r FROM s",
    "range_10s": f"SELECT k, ts, v, SUM(v) {BY_KEY} {LAST} AS r FROM s",
    "sliding": f"SELECT k, ts, SUM(v) {BY_KEY} {LAST} AS s, COUNT(*) {BY_KEY} {LAST} AS n FROM s",
    "statewindow": """SELECT k, opens, closes, s, n FROM s MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY ts
        MEASURES FIRST(A.ts) AS opens, LAST(C.ts) AS closes, SUM(v) AS s, COUNT(v) AS n
        ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B* C) DEFINE A AS A.v > 0.9, B AS B.v >= 0.1, C AS C.v < 0.1)""",
    "keep_latest": """SELECT k, ts, v, CASE op WHEN 'INSERT' THEN 'insert' WHEN 'UPDATE_BEFORE' THEN 'update_preimage'
        WHEN 'UPDATE_AFTER' THEN 'update_postimage' ELSE 'delete' END AS _change_type
        FROM TO_CHANGELOG(input => TABLE latest)""",
}
LATEST = "SELECT k, ts, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS r FROM s) WHERE r = 1"
CANNOT = {"over_changelog": "«Non-time attribute sort is not supported for bounded OVER window»"}
EVENTS = "ts TIMESTAMP_LTZ(3), k BIGINT, v DOUBLE, WATERMARK FOR ts AS ts"


def main() -> None:
    task = told()
    if task.workload in CANNOT:
        return cannot(CANNOT[task.workload])
    from pyflink.table import EnvironmentSettings, TableEnvironment

    table = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    config = table.get_config()
    with tempfile.TemporaryDirectory(prefix="checkpoint-", dir=task.result) as checkpoints:
        for name, value in settings(task, checkpoints).items():
            config.set(name, value)
        declare(table, task)

        def once(folder: Path) -> None:
            run(table, task, folder)

        measure(task, once)


def settings(task: Task, checkpoints: str) -> dict[str, str]:
    at_rate = bool(task.stop)
    return {
        "pipeline.jars": ";".join(jar.as_uri() for jar in sorted(Path(task.jars).glob("*.jar"))),
        "parallelism.default": "1" if at_rate else "2",
        "table.local-time-zone": "UTC",
        "state.backend.type": "rocksdb" if task.peer == "flink-rocksdb" else "hashmap",
        "taskmanager.memory.managed.size": "1gb",
        "execution.checkpointing.interval": "1s" if at_rate else "10s",  # files are finished at checkpoints
        "execution.checkpointing.dir": Path(checkpoints).as_uri(),
        "pipeline.auto-watermark-interval": "50ms" if at_rate else "200ms",
    }


def declare(table: Any, task: Task) -> None:
    """The input `s`; a result that changes needs a name, to come out as changes."""
    folder = Path(task.rows) if task.stop else Path(task.rows + "-lanes")
    monitor = ", 'source.monitor-interval' = '50ms'" if task.stop else ""
    source = f"'connector' = 'filesystem', 'path' = '{folder.as_uri()}', 'format' = 'parquet'{monitor}"
    table.execute_sql(f"CREATE TABLE s ({EVENTS}) WITH ({source}, 'parquet.utc-timezone' = 'true')")
    table.execute_sql(f"CREATE VIEW latest AS {LATEST}")


def run(table: Any, task: Task, folder: Path) -> None:
    """Into Parquet files; at a fixed rate each result is stamped as it comes out of the last operator."""
    name = f"sink_{folder.name}"
    query = QUERIES[task.workload]
    if task.stop:
        query = f"SELECT *, CURRENT_TIMESTAMP AS stamped FROM ({query})"
    columns = ", ".join(_column(column) for column in _columns(table, query))
    sink = f"'connector' = 'filesystem', 'path' = '{folder.as_uri()}', 'format' = 'parquet'"
    table.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({sink}, 'parquet.utc-timezone' = 'true')")
    job = table.execute_sql(f"INSERT INTO {name} {query}")
    if not task.stop:
        job.wait()
        return
    client = job.get_job_client()
    while str(client.get_job_status().result()).rpartition(".")[2] != "RUNNING":
        time.sleep(0.1)
    time.sleep(3)
    ready()
    while not task.stopped:
        time.sleep(0.1)
    client.cancel().result()


def _columns(table: Any, query: str) -> list[tuple[str, str]]:
    schema = table.sql_query(query).get_schema()
    return [(name, str(schema.get_field_data_type(name))) for name in schema.get_field_names()]


def _column(column: tuple[str, str]) -> str:
    """A sink knows no time attributes, only times."""
    name, kind = column
    for word, of_sink in (
        ("LOCALZONED", "TIMESTAMP_LTZ(3)"),
        ("TIMESTAMP", "TIMESTAMP(3)"),
        ("BIGINT", "BIGINT"),
        ("DOUBLE", "DOUBLE"),
    ):
        if word in kind.upper():
            return f"`{name}` {of_sink}"
    return f"`{name}` STRING"


if __name__ == "__main__":
    main()
