"""Dead letters: one query for each stream that has them, beside the INSERTs that read it, with a checkpoint of its own.

It reads the stream a second time and keeps what the INSERTs leave out, so it must not begin behind any of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import quote

from pyspark.sql.streaming.query import StreamingQuery

from panes.catalog import Catalog, Sink, Stream
from panes.compile import Compiled, compile_query
from panes.connectors import kafka_values
from panes.connectors.kafka import CONNECTOR, kafka_source
from panes.errors import PanesError
from panes.functions import Functions
from panes.spark.expressions import quoted
from panes.spark.store import StorePath

LOOK = 0.05  # seconds


def letters_folder(stream: Stream) -> str:
    """The folder of their checkpoint, beside those of the INSERTs, which begin with a number."""
    return f"dead-letters-{quote(stream.name.lower(), safe='')}"


def compiled_letters(letters: Stream, sink: Sink) -> Compiled:
    """The query that writes them, as an INSERT."""
    catalog = Catalog()
    catalog.streams.put(letters)
    catalog.sinks.put(sink)
    sql = f"INSERT INTO {quoted(sink.name)} SELECT * FROM {quoted(letters.name)}"
    return compile_query(sql, catalog, Functions())


def begins_at_the_end(stream: Stream) -> bool:
    """Whether a new reader of a stream begins with what comes after it."""
    return stream.options.get("connector") == CONNECTOR and kafka_values.begins_at_the_end(kafka_source(stream).spark)


def has_position(checkpoint: StorePath) -> bool:
    """Whether Spark has noted in its checkpoint where a query begins: it does so before the first micro-batch."""
    sources = checkpoint / "sources"
    return any((sources / name / "0").exists() for name in sources.names())


def check_position(stream: Stream) -> None:
    """Refuse new dead letters of a stream that INSERTs have read already, if they would begin behind these."""
    if begins_at_the_end(stream):
        text = f"the dead letters of {stream.name} would begin behind what its INSERTs have still to read"
        hint = (
            "Begin with starting_offsets = 'earliest', or an offset of each partition: INSERTs go on where they were."
        )
        raise PanesError("stream-options", text, None, hint)


def wait_for_position(query: StreamingQuery, checkpoint: StorePath, stopped: Callable[[], bool]) -> None:
    """Until Spark has noted where a query begins, or the run is stopped; who starts then begins there or later."""
    while query.isActive and not has_position(checkpoint) and not stopped():
        time.sleep(LOOK)
