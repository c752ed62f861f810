"""What test_s3.py runs in a process whose Spark can reach S3: `python s3_job.py <folder> <settings> <what>`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from pyspark.sql import SparkSession
from typer.testing import CliRunner

from panes import Engine
from panes.cli.main import app
from panes.errors import PanesError
from panes.spark.lock import locked
from panes.spark.session import embedded
from panes.spark.store import store_path

QUERY = "SELECT k, window_start() AS w, sum(v) AS s, count(*) AS n FROM t GROUP BY tumblingwindow('ss', 10), k"
ROWS = "SELECT k, v, lag(v) OVER (PARTITION BY k ORDER BY ts) AS before FROM t"
BATCH = "SELECT k, w.start, sum(v), count(*) FROM (SELECT *, window(ts, '10 seconds') AS w FROM t) GROUP BY k, w"
COLUMNS = "ts TIMESTAMP, k STRING, v BIGINT"


def script(at: str, query: str = QUERY) -> str:
    return f"""
        CREATE STREAM t ({COLUMNS}, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
        WITH (connector = 'json', path = '{at}/in', maxFilesPerTrigger = '1');
        CREATE SINK sums WITH (connector = 'parquet', path = '{at}/sums');
        CREATE SINK rows WITH (connector = 'parquet', path = '{at}/rows');
        INSERT INTO sums {query};
        INSERT INTO rows {ROWS};
    """


def feed(at: str, number: int, spark: SparkSession) -> None:
    """A file with ten seconds of rows."""
    moments = (number * 10_000 + step * 100 for step in range(100))
    rows = [
        {"ts": f"1970-01-01T00:{ms // 60_000:02}:{ms / 1000 % 60:06.3f}Z", "k": "abc"[ms // 100 % 3], "v": ms}
        for ms in moments
    ]
    store_path(f"{at}/in/{number}.json", spark).publish("\n".join(map(json.dumps, rows)))


def equal_to_batch(at: str, spark: SparkSession) -> list[int]:
    """How many rows of each result are too many or too few, and how many there are."""
    spark.read.schema(COLUMNS).json(f"{at}/in").createOrReplaceTempView("t")
    found = []
    for name, batch in (("sums", BATCH), ("rows", ROWS)):
        expected, held = spark.sql(batch), spark.read.parquet(f"{at}/{name}")
        found += [expected.exceptAll(held).count(), held.exceptAll(expected).count(), held.count()]
    return found


def code(action: Callable[[], object]) -> str:
    try:
        action()
    except PanesError as error:
        return error.code
    return ""


def whole(at: str, settings: dict[str, str]) -> dict[str, object]:
    """Start, stop, restart, what is refused, the end, and what `panes state` says."""
    engine = Engine(settings=settings, shards=2)
    spark, checkpoint = engine.spark, f"{at}/checkpoint"
    found: dict[str, object] = {}
    feed(at, 0, spark)
    engine.run(script(at), checkpoint=checkpoint, once=True)

    def again(query: str = QUERY, **options: bool) -> None:
        Engine(spark).run(script(at, query), checkpoint=checkpoint, **(options or {"once": True}))

    found["another query"] = code(lambda: again(QUERY.replace("10", "20")))
    with locked([store_path(f"{checkpoint}/1-sums", spark)]):
        found["in use"] = code(again)
    told = CliRunner().invoke(app, ["state", checkpoint, "--json"])
    found["state"] = [one["query"] for one in json.loads(told.output)] if told.exit_code == 0 else told.output
    found["another checkpoint"] = code(lambda: Engine(spark).run(script(at), checkpoint=f"{at}/another", once=True))
    found["no bucket"] = code(lambda: Engine(spark).run(script(at), checkpoint="s3a://nobody/x", once=True))
    feed(at, 1, spark)
    again(flush=True)
    found["ended"] = code(again)
    found["equal"] = equal_to_batch(at, spark)
    return found


def run(at: str, settings: dict[str, str]) -> dict[str, object]:
    """Read all, to be killed."""
    Engine(settings=settings, shards=2).run(script(at), checkpoint=f"{at}/checkpoint", flush=True)
    return {"equal": equal_to_batch(at, embedded())}


def fill(at: str, settings: dict[str, str]) -> dict[str, object]:
    spark = embedded(2, settings=settings)
    for number in range(8):
        feed(at, number, spark)
    return {}


if __name__ == "__main__":
    at, settings, what = sys.argv[1:]
    jobs = {"whole": whole, "run": run, "fill": fill}
    print(json.dumps(jobs[what](at, json.loads(settings))))
