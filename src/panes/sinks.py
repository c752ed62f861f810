"""Sinks for your own `writeStream`: functions for `foreachBatch` that write each micro-batch once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Put = Callable[[DataFrame, int], None]


def postgres(
    *,
    id: str,
    url: str,
    table: str,
    key: Sequence[str] | None = None,
    changelog: bool = False,
    create: bool = False,
    password: str | None = None,
) -> Put:
    """Write micro-batches to a table of PostgreSQL: appended, or as a `changelog` applied by its `key`.

    `id` names the query for as long as its checkpoint lasts: with it the database knows which micro-batches it has.
    Another query, or another checkpoint, needs another one. `create` makes the table where it is missing.
    """
    from panes.spark.postgres.sink import postgres_writer

    return postgres_writer(id, url, table, tuple(key or ()), changelog, create, password)
