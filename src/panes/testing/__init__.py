"""Testing SQL on real Structured Streaming: scripted micro-batches in, what came out of each."""

from panes.spark.installed import check_spark

check_spark()

from panes.testing.replay import Replay, Stream, replay  # noqa: E402 - which imports PySpark

__all__ = ["Replay", "Stream", "replay"]
