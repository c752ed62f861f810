"""The embedded Spark of the page: small, and warmed up by a window over two rows before the first query comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from panes.play.answers import failed
from panes.play.session import Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.sql.shuffle.partitions": "1",  # a few rows need no more
    "spark.sql.streaming.pollingDelay": "1ms",
}


def session(in_short: Callable[[BaseException], str]) -> Session:
    """A session that starts Spark when it begins."""
    return Session(start, lambda error: failed(error, "", in_short))


def start() -> SparkSession:
    from panes.spark.session import embedded

    return embedded(settings=SETTINGS)
