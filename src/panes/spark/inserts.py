"""The INSERTs of a script, each with what its names stood for when it was read, and with those of dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from pyspark.sql import SparkSession

from panes.catalog import Catalog, Sink, Stream
from panes.compile import Compiled
from panes.connectors.malformed import dead_letter_sink, dead_letters_of
from panes.errors import PanesError
from panes.secrets import resolved
from panes.source import Span
from panes.spark.dead_letters import check_position, compiled_letters, has_position, letters_folder
from panes.spark.folders import Files
from panes.spark.sinks import written_folder
from panes.spark.sources import read_folder, streams_of
from panes.spark.store import store_path


@dataclass(frozen=True)
class Insert:
    """An INSERT with what its names stood for when it was read, and the folder of its checkpoint."""

    compiled: Compiled
    sink: Sink
    streams: tuple[Stream, ...]
    views: tuple[Span, ...]
    folder: str
    number: int = 0  # of the script's INSERTs into its sink; 0 for dead letters, and for a SELECT
    letters: tuple[Insert, ...] = ()  # those that write the dead letters of its streams
    late: Sink | None = None  # the one of LATE ROWS INTO

    @property
    def name(self) -> str:
        """What its query is called: as its sink is, with a number from the second one on."""
        if self.keeps_letters:
            return f"{self.sink.name} (dead letters of {self.streams[0].name})"
        return self.sink.name if self.number <= 1 else f"{self.sink.name}-{self.number}"

    @property
    def keeps_letters(self) -> bool:
        """Whether it writes the dead letters of a stream."""
        return any(stream.dead_letters_of is not None for stream in self.streams)

    @property
    def sinks(self) -> tuple[Sink, ...]:
        return (self.sink,) if self.late is None else (self.sink, self.late)

    @property
    def files(self) -> list[Files]:
        found = (read_folder(stream) for stream in self.streams)
        read = tuple(path for path in found if path is not None)
        return [Files(sink.name, written_folder(sink), read) for sink in self.sinks]


def insert(compiled: Compiled, catalog: Catalog, checkpoint: str, before: Sequence[Insert]) -> Insert:
    """The INSERT of a script; those of one sink are numbered, so that others may come and go."""
    sink = catalog.sinks.get(compiled.physical.sink or "")
    assert sink is not None
    number = 1 + sum(one.sink.name.lower() == sink.name.lower() for one in before)
    folder = insert_folder(checkpoint, sink, number)
    streams = streams_of(compiled.physical, catalog)
    dead = ((stream, dead_letter_sink(stream, catalog)) for stream in streams if stream.dead_letter is not None)
    letters = tuple(_letters(stream, _with_secrets(to), checkpoint) for stream, to in dead)
    late = catalog.sinks.get(compiled.physical.late) if compiled.physical.late is not None else None
    late = _with_secrets(late) if late is not None else None
    return Insert(compiled, _with_secrets(sink), streams, tuple(catalog.view_texts()), folder, number, letters, late)


def insert_folder(checkpoint: str, sink: Sink, number: int) -> str:
    return f"{checkpoint.rstrip('/')}/{number}-{quote(sink.name.lower(), safe='')}"


def _with_secrets(sink: Sink) -> Sink:
    return replace(sink, options=resolved(sink.options))


def _letters(stream: Stream, sink: Sink, checkpoint: str) -> Insert:
    """The INSERT of a stream's malformed records."""
    letters = dead_letters_of(stream)
    folder = f"{checkpoint.rstrip('/')}/{letters_folder(stream)}"
    return Insert(compiled_letters(letters, sink), sink, (letters,), (), folder)


def with_letters(inserts: Sequence[Insert], spark: SparkSession) -> list[Insert]:
    """All INSERTs, after those of their streams' dead letters: one for each stream, however many read it."""
    found: dict[str, Insert] = {}
    for one in inserts:
        for letters in one.letters:
            first = found.setdefault(letters.folder, letters)
            stream = letters.streams[0]
            if (first.streams, first.sink) != (letters.streams, letters.sink):
                text = f"two streams {stream.name} have dead letters, one after the other"
                raise PanesError("stream-options", text, None, "Give them different names.")
            own, others = (store_path(each.folder, spark) / "spark" for each in (letters, one))
            if has_position(others) and not has_position(own):
                check_position(stream)
    return [*found.values(), *inserts]


def check_clean_up(inserts: Sequence[Insert]) -> None:
    """Refuse files that Spark removes once a query has read them where another query has yet to see them."""
    read = [stream.dead_letters_of or stream for one in inserts for stream in one.streams]
    for stream in read:
        chosen = next((value for name, value in stream.options.items() if name.lower() == "cleansource"), "off")
        if chosen.lower() != "off" and sum(other.name.lower() == stream.name.lower() for other in read) > 1:
            text = f"cleanSource = '{chosen}' of the stream {stream.name}, which more than one query reads"
            hint = "Leave cleanSource out, and remove old files yourself. Dead letters are such a query, too."
            raise PanesError("stream-options", text, None, hint)
