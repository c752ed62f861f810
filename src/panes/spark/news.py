"""News of running queries: Spark wakes a run that waits for some, so that an idle one costs next to nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)


class News(StreamingQueryListener):
    """Spark calls it on a thread of its own. It says that something has happened, and the queries say what."""

    def __init__(self) -> None:
        self._came = Event()

    def wait(self, seconds: float) -> bool:
        """Until there is news, True, or the time is up, False."""
        came = self._came.wait(seconds)
        self._came.clear()
        return came

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        self._came.set()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        self._came.set()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        pass

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        pass


@contextmanager
def listening(spark: SparkSession) -> Iterator[News]:
    """News of all queries of the session, until the end of the block."""
    news = News()
    spark.streams.addListener(news)
    try:
        yield news
    finally:
        spark.streams.removeListener(news)
