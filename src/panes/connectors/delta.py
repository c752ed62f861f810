"""The options of Delta streams and sinks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from panes.catalog import Sink, Stream
from panes.connectors.options import Known, named, names, one_of, required
from panes.errors import PanesError
from panes.secrets import has_reference

CONNECTOR = "delta"
STORAGE = "storage."  # options of the object store
PROPERTY = "delta."  # properties of a table that is created
STREAM_OPTIONS = Known(("path", "starting_version", "snapshot", "max_versions_per_trigger"), (STORAGE,))
SINK_OPTIONS = Known(("path", "key", "create", "partition_by", "changelog", "engine"), (STORAGE, PROPERTY))
SWITCH = ("true", "false")
SPARK, DELTA_RS = "spark", "delta-rs"
ENGINES = (SPARK, DELTA_RS)


@dataclass(frozen=True)
class DeltaSource:
    """Where a table is, and from which version on it is read: None is the one that it has at the first start."""

    path: str
    starting_version: int | None = None
    snapshot: bool = True
    max_versions: int | None = None
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)  # it may hold secrets


@dataclass(frozen=True)
class DeltaSink:
    """Where a table is, and how it is made if it is not there. `upserts` is False where changes are stored as rows.

    `engine` says what writes it, one of ENGINES; None leaves that to what the session has.
    """

    path: str
    key: tuple[str, ...] = ()
    upserts: bool = True
    create: bool = False
    partition_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)
    engine: str | None = None


def check_stream(stream: Stream) -> None:
    if stream.options.get("connector") == CONNECTOR:
        delta_source(stream)


def delta_source(stream: Stream) -> DeltaSource:
    """A stream's options, if they can work."""
    options = named(CONNECTOR, stream.options, STREAM_OPTIONS)
    return DeltaSource(
        required(options, "path", "folder"),
        _number(options, "starting_version", 0),
        one_of(options, "snapshot", SWITCH, "true") == "true",
        _number(options, "max_versions_per_trigger", 1),
        _with_prefix(options, STORAGE),
    )


def check_sink(sink: Sink) -> None:
    if sink.options["connector"] == CONNECTOR:
        delta_sink(sink)


def delta_sink(sink: Sink) -> DeltaSink:
    """A sink's options, if they can work."""
    options = named(CONNECTOR, sink.options, SINK_OPTIONS)
    made = [name for name in options if name == "partition_by" or name.lower().startswith(PROPERTY)]
    create = one_of(options, "create", SWITCH, "false") == "true"
    if made and not create:
        hint = "Add create = 'true', or leave it out: a table that is there keeps its own."
        raise PanesError("stream-options", f"{made[0]} is for a table that is created", None, hint)
    storage = _with_prefix(options, STORAGE)
    engine = one_of(options, "engine", ENGINES, None) if "engine" in options else None
    check_engine(engine, storage)
    return DeltaSink(
        required(options, "path", "folder"),
        names(options.get("key", "")),
        one_of(options, "changelog", ("upsert", "rows"), "upsert") == "upsert",
        create,
        names(options.get("partition_by", "")),
        {name: value for name, value in options.items() if name.lower().startswith(PROPERTY)},
        storage,
        engine,
    )


def check_engine(engine: str | None, storage: Mapping[str, str]) -> None:
    """Refuse an engine that there is not, and options of a store that it would not read."""
    if engine not in (None, *ENGINES):
        listed = ", ".join(f"'{one}'" for one in ENGINES)
        raise PanesError("stream-options", f"the option engine is '{engine}'", None, f"It is one of {listed}.")
    if engine == SPARK and storage:
        hint = "Give Spark what it needs as spark.hadoop.…, such as spark.hadoop.fs.s3a.access.key."
        text = f"{STORAGE}{next(iter(storage))} is an option of delta-rs, and engine = '{SPARK}' does not read it"
        raise PanesError("stream-options", text, None, hint)


def check_loop(sink: Sink, streams: Iterable[Stream], folder: Callable[[str], str]) -> None:
    """Refuse an INSERT into a table that it reads: it would never come to an end. `folder` spells all paths alike."""
    if sink.options["connector"] != CONNECTOR:
        return
    written = folder(delta_sink(sink).path)
    for stream in streams:
        if stream.options.get("connector") == CONNECTOR and folder(delta_source(stream).path) == written:
            raise PanesError("stream-options", f"INSERT INTO {sink.name} would read its own table {written}")


def _with_prefix(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name[len(prefix) :]: value for name, value in options.items() if name.lower().startswith(prefix)}


def _number(options: Mapping[str, str], name: str, least: int) -> int | None:
    text = options.get(name)
    if text is None or has_reference(text):
        return None
    if not text.isdecimal() or int(text) < least:
        raise PanesError("stream-options", f"{name} is '{text}'", None, f"It is a whole number, at least {least}.")
    return int(text)
