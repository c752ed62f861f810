"""The log of a sink of files: Spark has an entry in it for every micro-batch, and reads none if one is missing.

A micro-batch in which Spark moves state to other partitions writes to no sink and so leaves a gap: the next reader of
the folder would fail, and so would the tenth micro-batch, with BATCH_METADATA_NOT_FOUND. A query that goes on with
another folder would begin its log in the middle, and nobody could read it.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from panes.errors import PanesError
from panes.spark.micro_batches import begun, committed, moves
from panes.spark.store import StorePath, is_reachable, store_path

SINKS = "org.apache.spark.sql.execution.streaming.sinks"
VERSION = 1
NOTHING = f"v{VERSION}"  # what Spark writes for a micro-batch without files
BY_BATCH = "panes_batch="  # see `batch_writers`
LOG, INTERVAL = "_spark_metadata", "spark.sql.streaming.fileSink.log.compactInterval"


def begin_log(path: str, checkpoint: StorePath, spark: SparkSession) -> None:
    """Enter the micro-batches that went to another folder as such that wrote nothing here.

    Every so many micro-batches Spark gathers all entries in one, whose name ends in `.compact`, and looks no further.
    """
    done = committed(checkpoint)
    if not done or not is_reachable(path, spark):
        return
    log = store_path(path, spark) / LOG
    interval = int(spark.conf.get(INTERVAL, None) or 10)
    last = done[-1]
    gathered = (last + 1) // interval * interval - 1
    names = [*([f"{gathered}.compact"] if gathered >= 0 else []), *map(str, range(gathered + 1, last + 1))]
    there = {name for name in log.names() if name[:1].isdigit()}
    if not there <= set(names):
        return  # it has begun already
    log.make_folder()
    for name in names:
        if name not in there:  # a kill has left the others
            (log / name).publish(NOTHING)


def check_log(path: str, checkpoint: StorePath, spark: SparkSession) -> None:
    """Refuse a folder in which there are micro-batches that this checkpoint has yet to begin: they are another's.

    Spark would take its own for done, and skip them; a folder by micro-batch would be overwritten.
    """
    if not is_reachable(path, spark):
        return
    folder, last = store_path(path, spark), max(begun(checkpoint), default=-1)
    logged = [name.partition(".")[0] for name in (folder / LOG).names()]
    by_batch = [name.removeprefix(BY_BATCH) for name in folder.names() if name.startswith(BY_BATCH)]
    if any(int(number) > last for number in (*logged, *by_batch) if number.isdigit()):
        hint = "Give the sink another path, or go on with the checkpoint that wrote there."
        raise PanesError("state-mismatch", f"{path} holds the results of another checkpoint", None, hint)


def close_gaps(path: str, checkpoint: StorePath, spark: SparkSession) -> None:
    """Enter the micro-batches that only moved state as such that wrote nothing."""
    done = set(committed(checkpoint))
    numbers = [number for number in moves(checkpoint) if number in done]
    if not numbers:
        return
    session = getattr(spark, "_jsparkSession", None)
    if session is None:
        hint = "Start it once without Spark Connect."
        raise PanesError("cannot-rescale", f"the log of {path} cannot be written over Spark Connect", None, hint)
    jvm, gateway = spark.sparkContext._jvm, spark.sparkContext._gateway
    assert jvm is not None and gateway is not None
    log = getattr(jvm, f"{SINKS}.FileStreamSinkLog")(VERSION, session, f"{path}/{LOG}", jvm.scala.Option.empty())
    nothing = gateway.new_array(getattr(jvm, f"{SINKS}.SinkFileStatus"), 0)
    for number in numbers:
        last = log.getLatestBatchId()
        if last.isDefined() and last.get() == number - 1:
            log.add(number, nothing)
