"""A SELECT without INSERT, as an INSERT into nothing but the eyes of the user."""

from __future__ import annotations

from panes.catalog import Catalog, Sink
from panes.compile import Compiled
from panes.spark.runner import Insert
from panes.spark.sources import streams_of


def select(compiled: Compiled, catalog: Catalog, checkpoint: str, number: int) -> Insert:
    """A query whose rows are shown: whatever a console takes, it takes."""
    name = f"select-{number}"
    sink = Sink(name, {"connector": "console"})
    streams = streams_of(compiled.physical, catalog)
    return Insert(compiled, sink, streams, tuple(catalog.view_texts()), f"{checkpoint}/{name}")
