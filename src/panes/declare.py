"""Declarations: from `CREATE STREAM` and from Python to one checked Stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from panes.catalog import Column, Stream, check_stream, without_change_type
from panes.connectors.checks import check_stream as check_connector
from panes.connectors.kafka import is_debezium
from panes.connectors.malformed import check_malformed
from panes.connectors.postgres import is_table
from panes.errors import PanesError
from panes.options import read_options
from panes.source import Span
from panes.sql.duration import microseconds
from panes.sql.statements import ColumnDef, CreateStream

# Options of CREATE STREAM … WITH that are Panes'; all others are the connector's.
OWN_OPTIONS = frozenset(
    (
        *("changelog", "sequence", "state_ttl", "heartbeat", "idle_timeout", "on_inconsistency", "preimages"),
        *("on_error", "dead_letter"),
    )
)


def declare(
    name: str,
    columns: Sequence[Column],
    *,
    streaming: bool,
    time: str | None = None,
    watermark: str | int | None = None,
    key: Sequence[str] = (),
    changelog: bool = False,
    sequence: str | None = None,
    state_ttl: str | None = None,
    heartbeat: str | None = None,
    idle_timeout: str | None = None,
    on_inconsistency: str = "fail",
    preimages: str = "maybe",
    options: dict[str, str] | None = None,
) -> Stream:
    """A checked stream; `watermark` is a text such as '10 seconds', or microseconds."""
    if isinstance(key, str):
        key = (key,)
    return check_stream(
        Stream(
            name,
            without_change_type(columns) if changelog else tuple(columns),
            time,
            _length("watermark", watermark),
            tuple(key),
            changelog,
            sequence,
            _length("state_ttl", state_ttl),
            *_beats(heartbeat, idle_timeout),
            on_inconsistency,
            preimages,
            streaming,
            options=options or {},
        )
    )


def _beats(heartbeat: str | None, idle_timeout: str | None) -> tuple[int | None, int | None]:
    """The lengths of both; a stream that may be idle has a heartbeat, by default four times while it waits."""
    beat, timeout = _length("heartbeat", heartbeat), _length("idle_timeout", idle_timeout)
    return beat if beat is not None or timeout is None else max(timeout // 4, 1000), timeout


def _length(what: str, text: str | int | None) -> int | None:
    if text is None or isinstance(text, int):
        return text
    try:
        return microseconds(text)
    except ValueError as error:
        raise PanesError("stream-options", f"{what}: {error}", None, f"Write {what}='10 seconds'.") from None


def declare_from(statement: CreateStream) -> Stream:
    """The stream of a CREATE STREAM; what is wrong with it is underlined there."""
    with underlined(statement.span):
        given = read_options(statement.options, OWN_OPTIONS)
    options = {name: value for name, value in given.items() if name in OWN_OPTIONS}
    others = {name: value for name, value in given.items() if name not in OWN_OPTIONS}
    changelog = options.get("changelog", "false").lower()
    if changelog not in ("true", "false"):
        raise PanesError("stream-options", "changelog is 'true' or 'false'", statement.span)
    with underlined(statement.span):
        stream = declare(
            statement.name,
            [_column(column) for column in statement.columns],
            streaming=not is_table(others),
            key=statement.key,
            changelog=changelog == "true" or is_debezium(others),
            sequence=options.get("sequence"),
            state_ttl=options.get("state_ttl"),
            on_inconsistency=options.get("on_inconsistency", "fail"),
            preimages=options.get("preimages", "maybe"),
            options=others,
        )
        on_error = options.get("on_error", "fail").lower()
        stream = replace(stream, on_error=on_error, dead_letter=options.get("dead_letter"))
        check_malformed(stream)
    watermark = statement.watermark
    if watermark is not None:
        with underlined(watermark.span):
            stream = check_stream(replace(stream, time=watermark.column, delay=watermark.delay))
    with underlined(statement.span):
        beat, timeout = _beats(options.get("heartbeat"), options.get("idle_timeout"))
        stream = check_stream(replace(stream, heartbeat=beat, idle_timeout=timeout))
        check_connector(stream)
    return stream


def _column(column: ColumnDef) -> Column:
    computed = column.computed.sql if column.computed is not None else None
    return Column(column.name, column.type, computed, column.metadata)


@contextmanager
def underlined(span: Span) -> Iterator[None]:
    """What is wrong, at the place where it was written."""
    try:
        yield
    except PanesError as error:
        raise PanesError(error.code, error.message, span, error.hint) from None
