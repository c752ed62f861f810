"""What test_s3.py runs in a process whose Spark can reach S3: `python s3_job.py <folder> <settings> <what>`."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable

from pyspark.sql import SparkSession
from typer.testing import CliRunner

from panes import Engine
from panes.cli.checks import store
from panes.cli.main import app
from panes.errors import PanesError
from panes.spark import lease
from panes.spark.lock import locked
from panes.spark.session import embedded
from panes.spark.store import store_path
from spark.delta.changing_table import Pipeline

WINDOWS = "SELECT k, window_start() AS w, sum(v) AS s, count(*) AS n FROM t GROUP BY tumblingwindow('ss', 10), k"
ROWS = "SELECT k, v, lag(v) OVER (PARTITION BY k ORDER BY ts) AS before FROM t"
BATCH = "SELECT k, w.start, sum(v), count(*) FROM (SELECT *, window(ts, '10 seconds') AS w FROM t) GROUP BY k, w"
COLUMNS = "ts TIMESTAMP, k STRING, v BIGINT"


def script(at: str, **queries: str) -> str:
    """A script that writes the results of queries to folders of their names."""
    stream = f"""
        CREATE STREAM t ({COLUMNS}, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
        WITH (connector = 'json', path = '{at}/in', maxFilesPerTrigger = '1');
    """
    inserts = (
        f"CREATE SINK {name} WITH (connector = 'parquet', path = '{at}/{name}'); INSERT INTO {name} {query};"
        for name, query in queries.items()
    )
    return stream + "\n".join(inserts)


def feed(at: str, number: int, spark: SparkSession) -> None:
    """A file with ten seconds of rows."""
    moments = (number * 10_000 + step * 100 for step in range(100))
    rows = [
        {"ts": f"1970-01-01T00:{ms // 60_000:02}:{ms / 1000 % 60:06.3f}Z", "k": "abc"[ms // 100 % 3], "v": ms}
        for ms in moments
    ]
    store_path(f"{at}/in/{number}.json", spark).publish("\n".join(map(json.dumps, rows)))


def differences(at: str, spark: SparkSession, **batches: str) -> list[int]:
    """Of each result how many rows are missing, how many are too many, and how many there are."""
    spark.read.schema(COLUMNS).json(f"{at}/in").createOrReplaceTempView("t")
    found = []
    for name, batch in batches.items():
        expected, held = spark.sql(batch).cache(), spark.read.parquet(f"{at}/{name}").cache()
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
    engine = Engine(settings={**settings, "spark.sql.shuffle.partitions": "1"}, shards=2)
    spark, checkpoint = engine.spark, f"{at}/checkpoint"
    found: dict[str, object] = {}
    feed(at, 0, spark)
    engine.run(script(at, sums=WINDOWS), checkpoint=checkpoint, once=True)

    def again(query: str = WINDOWS, checkpoint: str = checkpoint, flush: bool = False) -> None:
        Engine(spark).run(script(at, sums=query), checkpoint=checkpoint, once=True, flush=flush)

    lease.BEAT = 1.0
    found["another query"] = code(lambda: again(WINDOWS.replace("10", "20")))
    with locked([store_path(f"{checkpoint}/1-sums", spark)]):
        found["in use"] = code(again)
    told = CliRunner().invoke(app, ["state", checkpoint, "--json"])
    found["state"] = [one["query"] for one in json.loads(told.output)] if told.exit_code == 0 else told.output
    found["doctor"] = [store(spark, one).grade.value for one in (f"{at}/new", "s3a://nobody/x", "odd://x/y")]
    found["another checkpoint"] = code(lambda: again(checkpoint=f"{at}/another"))
    found["no bucket"] = code(lambda: again(checkpoint="s3a://nobody/x"))
    elsewhere = script(f"{at}/other", sums=WINDOWS).replace(f"{at}/other/in", "s3a://nobody/in")
    found["no stream"] = code(lambda: Engine(spark).run(elsewhere, checkpoint=f"{at}/elsewhere", once=True))
    moved = CliRunner().invoke(app, ["rescale", checkpoint, "--partitions", "2"])
    found["rescaled"] = moved.output.strip()
    feed(at, 1, spark)
    again(flush=True)
    found["ended"] = code(again)
    found["differences"] = differences(at, spark, sums=BATCH)
    found["delta"] = lake(at.replace("s3a://", "s3://"), f"{checkpoint}-lake", spark, settings)
    return found


def lake(at: str, checkpoint: str, spark: SparkSession, settings: dict[str, str]) -> int:
    """A change feed through OVER into Delta tables, all of them in the bucket, with a restart; its commits."""
    hadoop = {name.removeprefix("spark.hadoop.fs.s3a."): value for name, value in settings.items()}
    storage = {
        "AWS_ENDPOINT_URL": hadoop["endpoint"],
        "AWS_REGION": hadoop["endpoint.region"],
        "AWS_ACCESS_KEY_ID": hadoop["access.key"],
        "AWS_SECRET_ACCESS_KEY": hadoop["secret.key"],
        "AWS_ALLOW_HTTP": "true",
    }
    pipeline, choose = Pipeline(at, storage), random.Random(7)
    pipeline.make()
    for versions in (1, 2):
        pipeline.change(choose, versions)
        Engine(spark).run(pipeline.script, checkpoint=checkpoint, once=True)
        pipeline.check()
    return len(pipeline.commits("board"))


def run(at: str, settings: dict[str, str]) -> dict[str, object]:
    """Read all, to be killed."""
    engine = Engine(settings=settings, shards=2)
    engine.run(script(at, sums=WINDOWS, rows=ROWS), checkpoint=f"{at}/checkpoint", flush=True)
    return {"differences": differences(at, engine.spark, sums=BATCH, rows=ROWS)}


def fill(at: str, settings: dict[str, str]) -> dict[str, object]:
    spark = embedded(2, settings=settings)
    for number in range(8):
        feed(at, number, spark)
    return {}


if __name__ == "__main__":
    at, settings, what = sys.argv[1:]
    jobs = {"whole": whole, "run": run, "fill": fill}
    print(json.dumps(jobs[what](at, json.loads(settings))))
