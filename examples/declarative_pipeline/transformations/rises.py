"""Each order beside the one before it in its shop, as a streaming table of the pipeline."""

from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

import panes

spark = SparkSession.active()
engine = panes.Engine(spark)
source = spark.readStream.schema("ts timestamp, shop string, amount double").json(str(Path("orders").resolve()))
engine.stream("orders", source, time="ts", watermark="5 seconds")

# Spark analyses no query inside a function of the pipeline, so this one stands outside.
result = engine.sql("""
    SELECT shop, ts, amount, amount - lag(amount) OVER (PARTITION BY shop ORDER BY ts) AS rise
    FROM orders
""")


@dp.table
def rises() -> DataFrame:
    return result
