"""What a checkpoint holds: of each operator whose state it is, and of each of its shards how much there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession, functions

from panes.errors import PanesError
from panes.physical.identity import Identity
from panes.spark.micro_batches import committed
from panes.spark.shard import DIRECTORY, IDENTITY, Directory
from panes.spark.shards import murmur3
from panes.spark.store import StorePath, store_path


@dataclass(frozen=True)
class OperatorState:
    """An operator of a query; `query` is the folder of an INSERT, empty in a checkpoint of Spark's own.

    Shards go by their numbers, not by the ids that stand for these in Spark's state.
    """

    query: str
    number: int
    identity: Identity
    shards: dict[int, Directory]


def state_of(checkpoint: str | Path, spark: SparkSession) -> Iterator[OperatorState]:
    """The operators of a script's checkpoint, or of one that Spark's `writeStream` has written."""
    for query, folder in queries(store_path(checkpoint, spark)):
        metadata = spark.read.format("state-metadata").load(str(folder)).select("operatorId", "operatorName")
        names = {row.operatorId: row.operatorName for row in metadata.distinct().collect()}
        for number in sorted(one for one, name in names.items() if name.startswith("transformWithState")):
            found = _operator(query, folder, number, spark)
            if found is not None:
                yield found


def queries(checkpoint: StorePath) -> list[tuple[str, StorePath]]:
    """Those in which a micro-batch was committed."""
    own = [("", checkpoint)] if (checkpoint / "offsets").exists() else []
    inserts = ((name, checkpoint / name / "spark") for name in checkpoint.names())
    found = [*own, *((name, folder) for name, folder in inserts if folder.exists())]
    if not found:
        hint = "Give the folder of --checkpoint, or of checkpointLocation."
        raise PanesError("stream-options", f"{checkpoint} is not a checkpoint", None, hint)
    return [(name, folder) for name, folder in found if committed(folder)]


def _operator(query: str, folder: StorePath, number: int, spark: SparkSession) -> OperatorState | None:
    """An operator, if it is one of Panes' that has begun."""
    reader = spark.read.format("statestore").option("operatorId", number).option("stateVarName", "chunks")
    entries = reader.load(str(folder)).selectExpr("key", "user_map_key.id AS id", "user_map_value.v AS value")
    wanted = entries.where(functions.col("id").isin(DIRECTORY, IDENTITY)).collect()
    shards = {murmur3(row.key[0]): Directory.decode(bytes(row.value)) for row in wanted if row.id == DIRECTORY}
    whose = next((bytes(row.value).decode() for row in wanted if row.id == IDENTITY), None)
    return OperatorState(query, number, Identity.decode(whose), shards) if whose is not None else None
