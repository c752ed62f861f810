"""`panes rescale`: the shards of a checkpoint over another number of partitions.

A shard is a key of `transformWithState`, and Spark moves whole keys: it adds a micro-batch to the checkpoint that reads
no input and has all state, timers included, in its new partitions. Shards themselves stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from panes.errors import PanesError
from panes.spark.failures import refused_by_spark
from panes.spark.lock import locked
from panes.spark.micro_batches import begun, committed, partitions
from panes.spark.runner import check_seal
from panes.spark.sink_log import close_gaps
from panes.spark.state_report import queries, state_of
from panes.spark.store import StorePath, store_path

FINISH = "Start the query with its old settings, let it finish the micro-batch, and stop it."


@dataclass(frozen=True)
class Rescaled:
    """A query whose state was moved; `query` is the folder of an INSERT, empty in a checkpoint of Spark's own."""

    query: str
    before: int
    after: int


def rescale(checkpoint: str | Path, wanted: int, spark: SparkSession, sink: str | None = None) -> Iterator[Rescaled]:
    """Move the state of all queries; everything that can be refused is refused before the first one is moved.

    A query that is spread over so many partitions already is left as it is, so that what was cut short can be repeated,
    and so is one with a single shard. `sink` is the folder of files that a `writeStream` of the user's own writes.
    """
    manager = getattr(spark, "_streamingCheckpointManager", None)
    if manager is None or not hasattr(spark, "_jsparkSession"):
        raise _refused("this Spark cannot move state", "Use Spark 4.2 or later, without Spark Connect.")
    check_seal(store_path(checkpoint, spark))
    found = list(queries(store_path(checkpoint, spark)))
    with locked([folder.parent for name, folder in found if name]) as check_lock:
        for _, folder in found:
            _check_committed(folder, wanted)
        left = _left_alone(checkpoint, wanted, spark)
        for name, folder in found:
            if name in left or not (folder / "state").exists():
                continue
            check_lock()
            before = _before(folder)
            if before != wanted or begun(folder)[-1] != committed(folder)[-1]:
                with refused_by_spark("cannot-rescale", f"Spark cannot move the state of {folder}"):
                    manager.repartition(str(folder), wanted)
            if sink is not None:
                close_gaps(sink, folder, spark)
            yield Rescaled(name, before, wanted)


def _before(folder: StorePath) -> int:
    return partitions(folder, committed(folder)[-1])


def _check_committed(folder: StorePath, wanted: int) -> None:
    """Refuse a micro-batch that is not finished, unless it is a move to as many partitions."""
    last = begun(folder)[-1]
    if last == committed(folder)[-1]:
        return
    now, before = partitions(folder, last), _before(folder)
    if now == before:
        raise _refused(f"the last micro-batch of {folder} was not finished", FINISH)
    if now != wanted:
        raise _refused(f"a move of {folder} to {now} partitions was not finished", f"Repeat it with {now} partitions.")


def _left_alone(checkpoint: str | Path, wanted: int, spark: SparkSession) -> set[str]:
    """The queries that have one shard; too few shards for the partitions are refused, since some would stay idle."""
    most: dict[str, int] = {}
    for one in state_of(checkpoint, spark):
        most[one.query] = max(most.get(one.query, 1), int(one.identity.depends_on["shards"]))
    few = {query: shards for query, shards in most.items() if 1 < shards < wanted}
    if few:
        query, shards = min(few.items(), key=lambda found: found[1])
        whose = f"the state of {query}" if query else "the state"
        hint = f"Take --partitions {shards} or fewer. Only a new checkpoint can have more shards: Engine(shards=…)."
        raise _refused(f"{whose} has {shards} shards, too few for {wanted} partitions", hint)
    return {query for query, shards in most.items() if shards == 1}


def _refused(text: str, hint: str) -> PanesError:
    return PanesError("cannot-rescale", text, None, hint)
