"""Malformed records: which connectors know them, what a stream does with them, and the columns of its dead letters."""

from __future__ import annotations

from panes.catalog import Catalog, Column, Sink, Stream
from panes.connectors import kafka
from panes.errors import PanesError, suggestion

LINES = ("json", "csv")  # connectors whose files have records that may be malformed
CORRUPT = "_corrupt_record"  # Spark's own column for them
ERROR, VALUE, FILE = "_error", "_value", "file_path"
KAFKA = {"key": "binary", "topic": "string", "partition": "int", "offset": "bigint", "timestamp": "timestamp",
         "headers": "array<struct<key:string,value:binary>>"}  # fmt: skip


# Of Spark's readers: what becomes of malformed records.
OPTIONS = {
    **dict.fromkeys(LINES, ("mode",)),
    kafka.CONNECTOR: (
        *(f"{one}.{name}" for one in LINES for name in ("mode", "columnnameofcorruptrecord")),
        "avro.mode",
    ),
}


def check_malformed(stream: Stream) -> None:
    """Refuse what a stream cannot do with malformed records."""
    if stream.on_error not in ("fail", "dead_letter"):
        raise _refused(f"on_error of {stream.name} is '{stream.on_error}'", "It is one of 'fail', 'dead_letter'.")
    if (stream.on_error == "dead_letter") != (stream.dead_letter is not None):
        hint = "Write on_error = 'dead_letter', dead_letter = 'sink': both or neither."
        raise _refused(f"on_error and dead_letter of {stream.name} do not go together", hint)
    if stream.on_error == "dead_letter" and not _can_be_malformed(stream):
        raise _refused(f"no record of {stream.name} is ever malformed", "It is for records with columns of a format.")
    for name in stream.options:
        if name.lower() in OPTIONS.get(stream.options.get("connector", ""), ()):
            hint = "on_error says what becomes of malformed records; none is dropped silently."
            raise _refused(f"{stream.name} has an option {name}", hint)


def _can_be_malformed(stream: Stream) -> bool:
    if stream.options.get("connector") == kafka.CONNECTOR:
        return kafka.kafka_source(stream).format != kafka.Format.RAW
    return has_lines(stream)


def has_lines(stream: Stream) -> bool:
    """Whether Panes looks at each line of a stream's files: not where the stream takes them in Spark's own column."""
    given = {name.lower(): value for name, value in stream.options.items()}
    corrupt = given.get("columnnameofcorruptrecord", CORRUPT)
    return given.get("connector") in LINES and stream.column(corrupt) is None


def dead_letters_of(stream: Stream) -> Stream:
    """The malformed records of a stream, as a stream."""
    binary = stream.options["connector"] == kafka.CONNECTOR and kafka.kafka_source(stream).format == kafka.Format.AVRO
    metadata = KAFKA if stream.options["connector"] == kafka.CONNECTOR else {FILE: "string"}
    columns = {ERROR: "string", VALUE: "binary" if binary else "string", **metadata}
    named = tuple(Column(name, type_) for name, type_ in columns.items())
    return Stream(stream.name, named, options=stream.options, dead_letters_of=stream)


def dead_letter_sink(stream: Stream, catalog: Catalog) -> Sink:
    name = stream.dead_letter or ""
    sink = catalog.sinks.get(name)
    if sink is None:
        hint = suggestion(name, catalog.sinks.names())
        raise PanesError("unknown-sink", f"there is no sink {name} for the dead letters of {stream.name}", None, hint)
    return sink


def _refused(message: str, hint: str) -> PanesError:
    return PanesError("stream-options", message, None, hint)
