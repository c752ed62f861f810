"""A micro-batch that is written again: each row has the id that it had before, though Spark reads in another order.

A topic of two to four partitions comes in the order of Java's hashes at first, and of their numbers after a restart.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from spark.input_files import at
from spark.kafka.topics import make, send, taken

pytestmark = pytest.mark.spark
SOURCE = "twice"  # by its hash, its partition 1 is read before 0 in the first run
QUERIES = {
    "plain": "SELECT k, v FROM t",
    "joined": "SELECT t.k, t.v, n.name FROM t JOIN n ON t.v % 3 = n.id",
    "windows": "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k",
    "before": "SELECT k, v, lag(v) OVER (PARTITION BY k) AS before FROM t",
    "changes": "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k EMIT CHANGES",
    "table": "SELECT k, window_start() AS b, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k EMIT CHANGES",
}


def script(kafka: str) -> str:
    where = f"connector = 'kafka', bootstrap_servers = '{kafka}'"
    lines = [
        "CREATE STREAM t (ts TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL 0 SECONDS)",
        f"WITH ({where}, topic = '{SOURCE}', format = 'json', starting_offsets = 'earliest');",
    ]
    for name, query in QUERIES.items():
        how = "changelog = 'upsert', key = 'k, b'" if name == "table" else "changelog = 'rows', key = 'k'"
        lines.append(f"CREATE SINK {name} WITH ({where}, topic = 'twice-{name}', {how});")
        lines.append(f"INSERT INTO {name} {query};")
    return "\n".join(lines)


def test_an_id_is_that_of_one_row(kafka: str, spark: SparkSession, tmp_path: Path) -> None:
    rows = [(n // 4, f"k{n % 13}", n % 50) for n in range(200)]
    rows += rows[:20]  # each of these is there twice
    make(spark, kafka, SOURCE, *(f"twice-{name}" for name in QUERIES))
    sent = [json.dumps({"ts": at(1000 * second), "k": k, "v": v}) for second, k, v in rows]
    send(spark, kafka, SOURCE, [(f"key {n}", value) for n, value in enumerate(sent)])
    spark.createDataFrame([(n, f"n{n}") for n in range(3)], "id bigint, name string").createOrReplaceTempView("n")
    Engine(spark).run(script(kafka), checkpoint=tmp_path, once=True)
    first = {name: taken(spark, kafka, f"twice-{name}").collect() for name in QUERIES}
    for commits in tmp_path.glob("*/spark/commits"):
        last = max(int(one.name) for one in commits.glob("[0-9]*"))
        for name in (f"{last}", f".{last}.crc"):
            (commits / name).unlink(missing_ok=True)  # killed after it wrote to Kafka, before Spark took note
    Engine(spark).run(script(kafka), checkpoint=tmp_path, once=True)

    wrong = []
    for name in QUERIES:
        records = taken(spark, kafka, f"twice-{name}").collect()
        by_id = defaultdict(set)
        for one in records:
            by_id[one["id"]].add((one["key"], one["value"]))
        once = Counter((one["key"], one["value"]) for one in first[name])
        if any(len(values) > 1 for values in by_id.values()):
            wrong.append(f"{name}: an id is that of two rows")
        elif Counter(value for (value,) in by_id.values()) != once:
            wrong.append(f"{name}: other rows than at first")
        if len({one["id"] for one in first[name]}) != len(first[name]):
            wrong.append(f"{name}: an id comes twice in one run")
        print(f"{name}: {len(first[name])} records, {len(records)} with repeats")
    assert wrong == []
    repeated = [name for name in QUERIES if taken(spark, kafka, f"twice-{name}").count() > len(first[name])]
    assert {"plain", "joined"} <= set(repeated)
