"""A job for a cluster: each order beside the one before it in its shop. Run: python examples/cluster_job.py

docs/how-to/clusters.md submits it: spark-submit … cluster_job.py ORDERS RISES CHECKPOINT
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import panes

QUERY = """
    SELECT shop, ts AS at,
           amount - lag(amount) OVER (PARTITION BY shop ORDER BY ts) AS rise,
           smoothed(amount) OVER (PARTITION BY shop) AS usual
    FROM orders
"""


@panes.stateful(returns="double", initial=None)
def smoothed(state: float | None, x: float) -> tuple[float, float]:
    """An exponential average. It is sent to the executors by value: none of them has this file."""
    state = x if state is None else 0.75 * state + 0.25 * x
    return state, state


def main(orders: str, rises: str, checkpoint: str) -> None:
    """Read what is there, and leave the rest to the next run: it goes on from the checkpoint."""
    spark = SparkSession.builder.appName("rises").getOrCreate()
    source = spark.readStream.schema("ts timestamp, shop string, amount double").json(orders)
    engine = panes.Engine(spark)
    engine.register(smoothed)
    engine.stream("orders", source, time="ts", watermark="5 seconds")
    writer = engine.sql(QUERY).writeStream.format("parquet").option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start(rises).awaitTermination()
    spark.read.parquet(rises).orderBy("shop", "at").show()


if __name__ == "__main__":
    given = sys.argv[1:]
    if given:
        main(*given)
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(str(Path(__file__).with_name("orders")), f"{folder}/rises", f"{folder}/checkpoint")
