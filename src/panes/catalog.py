"""What a query can name: streams, views and sinks, and the rules a declaration must keep."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from panes.errors import PanesError, suggestion
from panes.source import Source, Span

CHANGE_TYPE = "_change_type"


@dataclass(frozen=True)
class Column:
    """A column and its Spark type; `type` is None where only Spark knows it.

    Of a declared stream's columns some are `computed` from others by Spark, or `metadata` of the connector's records.
    """

    name: str
    type: str | None = None
    computed: str | None = None
    metadata: str | None = None


@dataclass(frozen=True)
class Stream:
    """A declared input. Lengths of time are in microseconds; `streaming` is False for a batch DataFrame.

    `dead_letter` is the sink for malformed records; `dead_letters_of` makes it the stream of another one's. `adopted`
    says that time and delay are those of a watermark that the DataFrame had.
    """

    name: str
    columns: tuple[Column, ...]
    time: str | None = None
    delay: int | None = None
    key: tuple[str, ...] = ()
    changelog: bool = False
    sequence: str | None = None
    state_ttl: int | None = None
    heartbeat: int | None = None
    idle_timeout: int | None = None
    on_inconsistency: str = "fail"
    preimages: str = "maybe"
    streaming: bool = True
    on_error: str = "fail"
    dead_letter: str | None = None
    dead_letters_of: Stream | None = None
    adopted: bool = False
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column | None:
        return next((one for one in self.columns if one.name.lower() == name.lower()), None)


@dataclass(frozen=True)
class View:
    name: str
    sql: str


@dataclass(frozen=True)
class Sink:
    name: str
    options: Mapping[str, str] = field(default_factory=dict)


class Named(Protocol):
    @property
    def name(self) -> str: ...


Entry = TypeVar("Entry", bound=Named)


class Shelf(Generic[Entry]):
    """Things of one kind by name, without case, in the order in which they were declared."""

    def __init__(self, kind: str, code: str) -> None:
        self._kind, self._code = kind, code
        self._entries: dict[str, Entry] = {}

    def get(self, name: str) -> Entry | None:
        return self._entries.get(name.lower())

    def put(self, entry: Entry) -> None:
        self._entries[entry.name.lower()] = entry

    def drop(self, name: str) -> None:
        if self._entries.pop(name.lower(), None) is None:
            raise PanesError(self._code, f"there is no {self._kind} {name}", None, suggestion(name, self.names()))

    def names(self) -> list[str]:
        return [entry.name for entry in self._entries.values()]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())


def heartbeats(streams: Iterable[Stream]) -> dict[str, int]:
    """The heartbeat of each stream that has one, by lower-case name."""
    return {one.name.lower(): one.heartbeat for one in streams if one.heartbeat is not None and one.streaming}


class Catalog:
    """Streams, views and sinks. `tables` looks up what else Spark knows by that name."""

    def __init__(self, tables: Callable[[str], Stream | None] = lambda name: None) -> None:
        self.streams = Shelf[Stream]("stream", "unknown-stream")
        self.views = Shelf[View]("view", "unknown-view")
        self.sinks = Shelf[Sink]("sink", "unknown-sink")
        self.tables = tables
        self.redacted: re.Pattern[str] | None = None  # names of options whose values are not shown, beside Panes' own

    def source(self, text: str, name: str = "") -> Source:
        """A text, of which errors show no secret."""
        return Source(text, name, self.redacted)

    def check_free(self, name: str) -> None:
        """Streams and views share one space of names."""
        for shelf, kind in ((self.streams, "stream"), (self.views, "view")):
            if shelf.get(name) is not None:
                hint = "Take another name, or CREATE OR REPLACE."
                raise PanesError("duplicate-name", f"there is a {kind} {name} already", None, hint)

    def relations(self) -> list[str]:
        return [*self.streams.names(), *self.views.names()]

    def view_texts(self) -> list[Span]:
        """The texts of all views."""
        return [Span(self.source(view.sql, f"view {view.name}"), 0, len(view.sql)) for view in self.views]

    def column_names(self) -> Iterable[str]:
        return (name for stream in self.streams for name in stream.column_names)


TIME_TYPES = ("timestamp", "timestamp_ntz")


def check_stream(stream: Stream) -> Stream:
    """The stream, if its declaration can work."""
    _check_columns(stream)
    if stream.time is not None:
        _check_time(stream, stream.time)
    elif stream.delay is not None:
        raise PanesError("stream-options", f"the stream {stream.name} has a watermark but no time column")
    if stream.delay is not None and (stream.delay < 0 or stream.delay % 1000):
        raise PanesError("stream-options", f"the watermark delay of {stream.name} must be whole milliseconds")
    for name in (*stream.key, *([stream.sequence] if stream.sequence else [])):
        _require_column(stream, name)
    _check_changelog(stream)
    for what, length in (
        ("state_ttl", stream.state_ttl),
        ("heartbeat", stream.heartbeat),
        ("idle_timeout", stream.idle_timeout),
    ):
        if length is not None and length <= 0:
            raise PanesError("stream-options", f"{what} of {stream.name} must be above 0")
    if stream.idle_timeout is not None and (stream.time is None or stream.changelog):
        hint = "In arrival mode heartbeat = '…' says how long it takes until something due comes out."
        raise PanesError("stream-options", f"idle_timeout of {stream.name}, which has no watermark", None, hint)
    return stream


def _check_columns(stream: Stream) -> None:
    if not stream.columns:
        raise PanesError("stream-options", f"the stream {stream.name} has no columns")
    seen: set[str] = set()
    for name in stream.column_names:
        if name.lower() in seen:
            raise PanesError("ambiguous-column", f"the stream {stream.name} has two columns {name}")
        seen.add(name.lower())


def _require_column(stream: Stream, name: str) -> Column:
    column = stream.column(name)
    if column is None:
        hint = suggestion(name, stream.column_names)
        raise PanesError("unknown-column", f"the stream {stream.name} has no column {name}", None, hint)
    return column


def _check_time(stream: Stream, time: str) -> None:
    column = _require_column(stream, time)
    if column.type is not None and column.type not in TIME_TYPES:
        hint = "A time column is TIMESTAMP or TIMESTAMP_NTZ: cast it before it is registered."
        raise PanesError(
            "stream-options", f"the time column {column.name} of {stream.name} is {column.type}", None, hint
        )
    if stream.delay is None and stream.streaming:
        hint = (
            "Say how late rows may be: watermark='10 seconds', or WATERMARK FOR column AS column - INTERVAL 10 SECONDS."
        )
        raise PanesError(
            "watermark-required", f"the stream {stream.name} has a time column but no watermark", None, hint
        )


def _check_changelog(stream: Stream) -> None:
    if stream.changelog and not stream.key:
        raise PanesError(
            "stream-options", f"the changelog {stream.name} needs a key", None, "Its key identifies a row."
        )
    if stream.sequence is not None and not stream.changelog:
        raise PanesError("stream-options", f"{stream.name} has a sequence but is not a changelog")
    if stream.on_inconsistency not in ("fail", "skip"):
        raise PanesError("stream-options", f"on_inconsistency of {stream.name} is 'fail' or 'skip'")
    if stream.preimages not in ("always", "maybe"):
        raise PanesError("stream-options", f"preimages of {stream.name} is 'always' or 'maybe'")


def without_change_type(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns of a changelog that a query sees."""
    return tuple(column for column in columns if column.name.lower() != CHANGE_TYPE)
