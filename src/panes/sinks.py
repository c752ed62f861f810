"""Sinks for your own `writeStream`: functions for `foreachBatch` that write each micro-batch once.

    result.writeStream.foreachBatch(panes.sinks.delta(id="board", path="lake/board", key=["id"])).start()

`foreachBatch` is not told which query it belongs to, so that each sink has an id of your own: another one for each
checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from panes.connectors.delta import DeltaSink, check_engine
from panes.errors import PanesError
from panes.secrets import check_references, resolved
from panes.spark.installed import check_spark

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
    Another query, or another checkpoint, needs another one. `create` makes the table where it is missing. `url`,
    `table` and `password` may be references, such as `${ENV:PGPASSWORD}`.

        result.writeStream.foreachBatch(panes.sinks.postgres(id="board", url="postgresql://…", table="board")).start()
    """
    check_spark()
    from panes.spark.postgres.sink import postgres_writer

    return postgres_writer(id, url, table, _names(key), changelog, create, password)


def delta(
    *,
    id: str,
    path: str,
    key: Sequence[str] | None = None,
    changelog: bool = False,
    create: bool = False,
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
    engine: str | None = None,
) -> Put:
    """Write micro-batches to a Delta table: appended, or as a `changelog` applied by its `key`.

    `id` names the query for as long as its checkpoint lasts, so that each micro-batch is written once. `create` makes
    the table where it is missing, with `partition_by` and `properties`; `storage_options` are those of delta-rs,
    whose values may be references, such as `${ENV:AWS_SECRET_ACCESS_KEY}`. `engine` is `'spark'` or `'delta-rs'`; by
    default Spark's own Delta writes where the session has it, and delta-rs elsewhere.

        result.writeStream.foreachBatch(panes.sinks.delta(id="board", path="lake/board", key=["id"])).start()
    """
    check_spark()
    from panes.spark.delta.writer import delta_writer
    from panes.spark.folders import folder

    check_engine(engine, storage_options or {})
    check_references(storage_options or {})
    keys = _names(key)
    if changelog and not keys:
        raise PanesError("stream-options", "changes are applied by a key", None, "Add key=['column', …].")
    sink = DeltaSink(
        folder(path),
        keys,
        changelog,
        create,
        _names(partition_by),
        dict(properties or {}),
        resolved(storage_options or {}),
        engine,
    )
    return delta_writer(id, sink, changelog)


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names of columns, of which one may stand alone.

    >>> _names("id"), _names(["id", "at"])
    (('id',), ('id', 'at'))
    """
    return (given,) if isinstance(given, str) else tuple(given or ())
