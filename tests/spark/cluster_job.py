"""A script, or a query with a sink that fails, on a cluster of two executors; run by `test_cluster`.

The log tells which tasks Spark has started a second time.
"""

from __future__ import annotations

import sys
from pathlib import Path

from present import present
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import panes
from spark.cluster import cluster
from spark.plain_windows import QUERIES, START

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.5",
    "spark.sql.shuffle.partitions": "2",
}


def main(folder: Path, mode: str, master: str) -> None:
    spark = cluster(folder, SPECULATION, master)
    spark.sparkContext.setLogLevel("ERROR")
    log4j = present(spark.sparkContext._jvm).org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel("org.apache.spark.scheduler.TaskSetManager", log4j.Level.INFO)
    if mode == "failing":
        run_with_a_sink_that_fails(spark, folder)
    else:
        text = (folder / "script.sql").read_text()
        panes.Engine(spark).run(text, checkpoint=folder / "checkpoint", flush=mode == "flush")


def run_with_a_sink_that_fails(spark: SparkSession, folder: Path) -> None:
    """The sink has seen all rows of a micro-batch, whose state is committed by then, and fails; the query restarts."""
    engine = panes.Engine(spark)
    source = spark.readStream.schema("ts timestamp, k string, v bigint").option("maxFilesPerTrigger", 1)
    engine.stream("t", source.json(str(folder / "in")), time="ts", watermark="10 seconds")
    changes = engine.sql(f"{QUERIES['tumbling'].format(start=START)} EMIT CHANGES")
    failed: list[int] = []

    def write(rows: DataFrame, batch: int) -> None:
        rows.write.mode("overwrite").parquet(str(folder / "out" / f"batch={batch}"))
        if batch in (2, 5) and batch not in failed:
            failed.append(batch)
            raise RuntimeError("the sink fails")

    writer = changes.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / "checkpoint"))
    for _ in range(3):
        try:
            writer.trigger(availableNow=True).start().awaitTermination()
        except StreamingQueryException:
            continue
    assert failed == [2, 5]


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
