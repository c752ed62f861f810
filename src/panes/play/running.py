"""A document on Spark: what became of its rows, and its result beside the batch's.

Late rows are left out of the batch: which rows are late depends on the micro-batches, and nothing else does.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, assert_never

from panes.catalog import CHANGE_TYPE, Stream
from panes.engine import Engine
from panes.errors import PanesError
from panes.kernels.late_rows import LATE
from panes.play.cells import CellFault, columns_of, faults, values
from panes.play.comparing import Comparison, compared
from panes.play.document import Document
from panes.play.request import RefusedError, RunRequest, Way
from panes.play.script import Query, Script, script_of
from panes.play.session import Tell
from panes.testing import Stream as Scripted
from panes.testing import replay
from panes.trace.model import Fate, Trace
from panes.trace.tracing import trace
from panes.trace.values import plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHARDS = 7


class CellError(Exception):
    """Cells that are no values of their columns."""

    def __init__(self, found: tuple[CellFault, ...]) -> None:
        super().__init__(found)
        self.faults = found


@dataclass(frozen=True)
class Outcome:
    """What became of the rows, and how that compares, where it was asked for."""

    trace: Trace
    comparison: Comparison | None = None


@dataclass(frozen=True)
class Ready:
    """A query with its rows."""

    document: Document
    script: Script
    query: Query

    @property
    def streams(self) -> tuple[Stream, ...]:
        return tuple(stream for stream in self.script.streams if stream.name.lower() in self.query.reads)

    def scripted(self) -> dict[str, Scripted]:
        """The streams as a replay takes them."""
        return dict(self._scripted())

    def _scripted(self) -> Iterator[tuple[str, Scripted]]:
        for stream in self.streams:
            rows = values(stream, self.document.rows_of(stream.name), self.document.count)
            yield stream.name, Scripted(_schema(stream), rows, **_options(stream))

    def prepare(self, engine: Engine) -> None:
        """What the query can name besides its streams."""
        for view in self.query.views:
            engine.catalog.views.put(view)
        for sink in self.query.sinks:
            engine.catalog.sinks.put(sink)


def ready(document: Document) -> Ready:
    """A document that can be run; an error says why it cannot."""
    script = script_of(document.sql)
    if script.error is not None:
        raise script.error
    if not script.queries:
        raise RefusedError("there is no query")
    number = document.query if document.query is not None else len(script.queries) - 1
    if number >= len(script.queries):
        raise RefusedError(f"there are {len(script.queries)} queries")
    found = Ready(document, script, script.queries[number])
    for stream in found.streams:
        if not stream.streaming:
            hint = "Leave its connector out, and give its rows in the table."
            raise PanesError("stream-options", f"{stream.name} is a table of a connector, and not a stream", None, hint)
    wrong = [fault for one in found.streams for fault in faults(one, document.rows_of(one.name))]
    if wrong:
        raise CellError(tuple(wrong))
    if not document.count:
        raise RefusedError("there are no rows yet: add some below the query")
    return found


def run(asked: RunRequest, spark: SparkSession, tell: Tell) -> Outcome:
    """Run a document, and compare it where that was asked for."""
    given = ready(asked.document)
    tell({"progress": "running"})
    found = trace(given.query.text, given.scripted(), spark=spark, setup=given.prepare)
    found = replace(found, sql=asked.document.sql)
    if not asked.compare:
        return Outcome(found)
    late = frozenset(row.id for row in found.rows if row.fate is Fate.LATE)
    tell({"progress": "batch"})
    batch = batch_rows(given, _without(found, late), spark)
    tell({"progress": asked.way.value})
    what, rows = _stream_rows(asked, given, found, spark)
    return Outcome(found, compared(what, rows, batch, len(late)))


def _stream_rows(
    asked: RunRequest, given: Ready, found: Trace, spark: SparkSession
) -> tuple[str, list[dict[str, Any]]]:
    """How a stream is run beside the batch, in words, and what comes out."""
    match asked.way:
        case Way.PLAIN:
            count = asked.document.count
            return f"{count} micro-batch{'' if count == 1 else 'es'}", _results(found)
        case Way.KILL:
            killed = kills(asked.document.count, asked.seed)
            done = replay(given.query.text, kill_in=killed, spark=spark, setup=given.prepare, **_named(given))
            listed = ", ".join(str(one + 1) for one in killed)
            return f"killed in micro-batch {listed}, and restarted", [_plain(row) for row in done.rows]
        case Way.SHARDS:
            done = replay(given.query.text, shards=SHARDS, spark=spark, setup=given.prepare, **_named(given))
            return f"{SHARDS} shards", [_plain(row) for row in done.rows]
        case _:
            assert_never(asked.way)


def _named(given: Ready) -> dict[str, Any]:
    """The streams as keywords."""
    return {**given.scripted()}


def kills(count: int, seed: int) -> list[int]:
    """Which micro-batches die when their output has been computed, and run again: one to three of them.

    >>> kills(1, seed=5), len(kills(10, seed=1)) <= 3
    ([0], True)
    """
    chance = random.Random(seed)
    return sorted(chance.sample(range(count), chance.randint(1, min(3, count))))


def _results(found: Trace) -> list[dict[str, Any]]:
    rows = []
    for result in found.results:
        row = dict(zip(found.columns, result.values, strict=True))
        rows.append({CHANGE_TYPE: result.change, **row} if result.change is not None else row)
    return rows


def _without(found: Trace, late: frozenset[int]) -> Mapping[str, frozenset[tuple[int, int]]]:
    """The places of late rows in each stream: micro-batch and position."""
    return {
        stream.name.lower(): frozenset((row.step, row.position) for row in stream.rows if row.id in late)
        for stream in found.streams
    }


def batch_rows(
    given: Ready, without: Mapping[str, frozenset[tuple[int, int]]], spark: SparkSession
) -> list[dict[str, Any]]:
    """The result of a query over all rows at once."""
    engine = Engine(spark)
    for stream in given.streams:
        left = without.get(stream.name.lower(), frozenset())
        batches = values(stream, given.document.rows_of(stream.name), given.document.count)
        rows = [
            row
            for step, batch in enumerate(batches)
            for position, row in enumerate(batch)
            if (step, position) not in left
        ]
        engine.stream(stream.name, _frame(spark, stream, rows), **_options(stream))
    given.prepare(engine)
    from panes.spark.build import Builder

    builder = Builder(engine.spark, engine.frames, engine.shards, engine.functions)
    result = builder.build(engine.compile(given.query.text).physical)
    return [_plain(row) for row in result.toArrow().to_pylist()]


def _frame(spark: SparkSession, stream: Stream, rows: list[tuple[Any, ...]]) -> DataFrame:
    """Rows in one partition, in their order, read as those of a replay are."""
    names = [one.name for one in columns_of(stream)]
    lines = [json.dumps({n: v for n, v in zip(names, row, strict=True) if v is not None}) for row in rows]
    schema = f"{CHANGE_TYPE} string, {_schema(stream)}" if stream.changelog else _schema(stream)
    texts = spark.createDataFrame([(line,) for line in lines], "line string").coalesce(1)
    read = texts.selectExpr(f"from_json(line, '{_quoted(schema)}', map('mode', 'FAILFAST')) AS row").select("row.*")
    return spark.createDataFrame(read.toArrow(), read.schema).coalesce(1)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as a trace has its results."""
    return {name: plain(value) for name, value in row.items() if name != LATE}


def _schema(stream: Stream) -> str:
    return ", ".join(f"`{one.name.replace('`', '``')}` {one.type or 'string'}" for one in stream.columns)


def _options(stream: Stream) -> dict[str, Any]:
    """The options of a stream, but for those that depend on the time of day."""
    return {
        "time": stream.time,
        "watermark": _length(stream.delay),
        "key": stream.key,
        "changelog": stream.changelog,
        "sequence": stream.sequence,
        "state_ttl": _length(stream.state_ttl),
        "on_inconsistency": stream.on_inconsistency,
        "preimages": stream.preimages,
    }


def _length(microseconds: int | None) -> timedelta | None:
    return timedelta(microseconds=microseconds) if microseconds is not None else None
