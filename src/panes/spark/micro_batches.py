"""Spark's logs of a query's micro-batches: which have begun, which are committed, and on how many partitions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

from panes.spark.store import StorePath

PARTITIONS = "spark.sql.shuffle.partitions"


def checkpoint_id(checkpoint: StorePath) -> str:
    """What Spark calls a query for as long as its checkpoint lasts."""
    return str(json.loads((checkpoint / "metadata").read_text())["id"])


def begun(checkpoint: StorePath) -> list[int]:
    """The micro-batches in Spark's checkpoint that have begun, as far back as Spark keeps them."""
    return _numbers(checkpoint / "offsets")


def committed(checkpoint: StorePath) -> list[int]:
    return _numbers(checkpoint / "commits")


def _numbers(log: StorePath) -> list[int]:
    return sorted(int(name) for name in log.names() if name.isdigit())


def partitions(checkpoint: StorePath, number: int) -> int:
    """The number of shuffle partitions of a micro-batch: a restart takes it from here, whatever the session says."""
    metadata = (checkpoint / "offsets" / str(number)).read_text().splitlines()[1]
    return int(json.loads(metadata)["conf"][PARTITIONS])


def moves(checkpoint: StorePath) -> Iterator[int]:
    """The micro-batches that only moved state to another number of partitions: they read nothing and wrote no rows."""
    known = begun(checkpoint)
    for before, number in pairwise(known):
        if partitions(checkpoint, before) != partitions(checkpoint, number):
            yield number
