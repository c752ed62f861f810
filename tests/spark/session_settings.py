"""Settings of the session that all tests share, changed for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from present import present
from pyspark.sql import SparkSession


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    old = present(spark.conf.get(name))
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, old)
