"""The same under Spark Connect, in a process of its own: a process has one kind of session."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from spark.input_files import at, write_file

pytestmark = pytest.mark.spark

SCRIPT = """
import json, sys
from pyspark.sql import SparkSession
import panes

folder = sys.argv[1]
builder = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2")
spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
engine = panes.Engine(spark)
df = spark.readStream.schema("ts timestamp, k string, v int").option("maxFilesPerTrigger", 1).json(folder + "/in")
engine.stream("t", df, time="ts", watermark="0 seconds")
engine.stream("adopted", df.withWatermark("ts", "0 seconds"))
queries = {
    "tumbling": "SELECT k, unix_seconds(window_start()) AS w, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k",
    "before": "SELECT k, v, lag(v) OVER (PARTITION BY k) AS p FROM t",
    "joined": "WITH d AS (SELECT 'a' AS k, 1 AS n) SELECT k, sum(v * n) AS s FROM "
    "(SELECT ts, k, v, n FROM t JOIN d USING (k)) GROUP BY tumblingwindow('ss', 10), k",
    "joined again": "WITH d AS (SELECT 'b' AS k, 10 AS n) SELECT k, sum(v * n) AS s FROM "
    "(SELECT ts, k, v, n FROM t JOIN d USING (k)) GROUP BY tumblingwindow('ss', 10), k",
}
results = {name: engine.sql(sql) for name, sql in queries.items()}
for name, result in results.items():
    name = name.replace(" ", "_")
    writer = result.writeStream.format("memory").queryName(name).trigger(availableNow=True)
    query = writer.option("checkpointLocation", f"{folder}/{name}").start()
    query.awaitTermination()
    rows = [list(row) for row in spark.table(name).collect()]
    print("result", json.dumps([name, rows, panes.counters(query)["state_bytes"]]))

from panes.spark.packages import has_source

print("sources", json.dumps([has_source(spark, source) for source in ("nonsense", "parquet", "rate")]))
for late in (df.withWatermark("ts", "0 seconds").where("v > 0"), df.withWatermark("ts", "1 month")):
    try:
        engine.stream("deeper", late)
    except panes.PanesError as error:
        print("watermark", json.dumps([error.code, error.message]))
engine.run(
    f"CREATE SINK ended WITH (connector = 'parquet', path = '{folder}/ended');"
    "INSERT INTO ended SELECT k, sum(v) AS s FROM adopted GROUP BY tumblingwindow('ss', 10), k",
    checkpoint=folder + "/flushed", once=True, flush=True,
)
try:
    engine.run(
        "CREATE SINK board WITH (connector = 'jdbc', url = 'jdbc:postgresql://127.0.0.1:1/x', table = 't');"
        "INSERT INTO board SELECT k, v FROM t", checkpoint=folder + "/board", once=True
    )
except panes.PanesError as error:
    print("refused", json.dumps([error.code, error.hint]))
"""


def test_windows_and_stateful_functions_under_connect(tmp_path: Path) -> None:
    for number in range(3):
        rows = [{"ts": at((10 * number + s) * 1000), "k": "ab"[s % 2], "v": 10 * number + s} for s in range(4)]
        write_file(tmp_path / "in", number, rows)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("sources ", "refused ")))
    assert json.loads(told["sources"]) == [False, True, True]  # a jar that is missing is found before the start
    assert json.loads(told["refused"])[0] == "stream-options"
    assert "connector = 'postgres'" in json.loads(told["refused"])[1]
    lines = [line.partition("result ")[2] for line in done.stdout.splitlines() if "result " in line]
    found = {name: sorted(rows) for name, rows, size in map(json.loads, lines) if size > 0}
    assert found["tumbling"] == [["a", 0, 2], ["a", 10, 22], ["b", 0, 4], ["b", 10, 24]]
    why = [json.loads(line[len("watermark ") :]) for line in done.stdout.splitlines() if line.startswith("watermark ")]
    assert [code for code, _ in why] == ["watermark-already-set"] * 2
    assert "last step" in why[0][1] and "months" in why[1][1]
    flushed = [row for file in (tmp_path / "ended").glob("*.parquet") for row in pq.read_table(file).to_pylist()]
    assert sorted((row["k"], row["s"]) for row in flushed) == [
        *[("a", 2), ("a", 22), ("a", 42)],
        *[("b", 4), ("b", 24), ("b", 44)],
    ]
    assert found["before"] == [
        *[["a", 0, None], ["a", 2, 0], ["a", 10, 2], ["a", 12, 10], ["a", 20, 12], ["a", 22, 20]],
        *[["b", 1, None], ["b", 3, 1], ["b", 11, 3], ["b", 13, 11], ["b", 21, 13]],
    ]
    assert found["joined"] == [["a", 2], ["a", 22]]
    assert found["joined_again"] == [["b", 40], ["b", 240]]


def test_panes_run_remote(tmp_path: Path) -> None:
    """A script, its checkpoint and its flush, by a client that has no JVM; a second run finds the checkpoint sealed."""
    for number in range(3):
        rows = [{"ts": at((10 * number + s) * 1000), "k": "ab"[s % 2], "v": 10 * number + s} for s in range(4)]
        write_file(tmp_path / "in", number, rows)
    script = tmp_path / "script.sql"
    script.write_text(
        f"""
        CREATE STREAM t (ts TIMESTAMP, k STRING, v INT, WATERMARK FOR ts AS ts - INTERVAL 0 SECONDS)
        WITH (connector = 'json', path = '{tmp_path}/in');
        CREATE SINK sums WITH (connector = 'parquet', path = '{tmp_path}/sums');
        INSERT INTO sums SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k;
        """
    )
    options = ["--remote", "local[2]", "--flush", "--checkpoint", str(tmp_path / "checkpoint")]
    command = [sys.executable, "-c", "from panes.cli.main import app; app()", "run", str(script), *options]
    done = [subprocess.run(command, capture_output=True, text=True, check=False, timeout=300) for _ in range(2)]
    assert done[0].returncode == 0, done[0].stderr[-2000:]
    found = [row for file in (tmp_path / "sums").glob("*.parquet") for row in pq.read_table(file).to_pylist()]
    assert sorted((row["k"], row["s"]) for row in found) == [
        *[("a", 2), ("a", 22), ("a", 42)],
        *[("b", 4), ("b", 24), ("b", 44)],
    ]
    assert done[1].returncode == 1 and done[1].stderr.startswith("stream-ended: "), done[1].stderr
