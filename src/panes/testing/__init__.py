"""Testing SQL on real Structured Streaming: scripted micro-batches in, what came out of each."""

from panes.spark.installed import check_spark

check_spark()

from panes.testing.declared import Stream  # noqa: E402 - which imports PySpark
from panes.testing.replay import Replay, replay  # noqa: E402

__all__ = ["Replay", "Stream", "replay"]
