"""Scripted streams: declared in Python, with the options of `engine.stream`, or by SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from panes import catalog
from panes.options import StreamOptions


@dataclass(frozen=True)
class Stream(StreamOptions):
    """A scripted stream: rows in schema order, one inner list per micro-batch. Times without a zone are UTC.

    Its other options are those of `engine.stream`.
    """

    schema: str
    batches: Sequence[Sequence[Sequence[Any]]] = ()


@dataclass(frozen=True)
class DeclaredStream(Stream):
    """One that SQL has declared; `schema` has the columns that its source delivers, the others are computed."""

    declared: catalog.Stream = field(kw_only=True)

    def computed(self, df: DataFrame) -> DataFrame:
        for column in self.declared.columns:
            if column.computed is not None:
                df = df.withColumn(column.name, expr(f"CAST(({column.computed}) AS {column.type})"))
        return df


def options_of(stream: catalog.Stream) -> StreamOptions:
    """Declared with these, it is the same stream again."""
    return StreamOptions(
        time=stream.time,
        watermark=_length(stream.delay),
        key=stream.key,
        changelog=stream.changelog,
        sequence=stream.sequence,
        state_ttl=_length(stream.state_ttl),
        heartbeat=_length(stream.heartbeat),
        idle_timeout=_length(stream.idle_timeout),
        on_inconsistency=stream.on_inconsistency,
        preimages=stream.preimages,
    )


def _length(microseconds: int | None) -> timedelta | None:
    return timedelta(microseconds=microseconds) if microseconds is not None else None
