"""Sinks for your own `writeStream`: functions for `foreachBatch` that write each micro-batch once.

    result.writeStream.foreachBatch(panes.sinks.delta(id="board", path="lake/board", key=["id"])).start()

`foreachBatch` is not told which query it belongs to, so that each sink has an id of your own: another one for each
checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame

from panes.connectors.delta import DeltaSink
from panes.errors import PanesError

Put = Callable[[DataFrame, int], None]


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
) -> Put:
    """A Delta table, to which rows are appended; with `changelog`, their changes are applied by its key."""
    from panes.spark.delta.sink import DeltaWriter
    from panes.spark.delta.table import check_installed
    from panes.spark.folders import folder

    check_installed()
    keys = (key,) if isinstance(key, str) else tuple(key or ())
    if changelog and not keys:
        raise PanesError("stream-options", "changes are applied by a key", None, "Add key=['column', …].")
    sink = DeltaSink(
        folder(path),
        keys,
        changelog,
        create,
        tuple(partition_by),
        dict(properties or {}),
        dict(storage_options or {}),
    )
    return DeltaWriter(id, sink, changelog)
