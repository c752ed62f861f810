"""Declarations: from `CREATE STREAM` and from Python to one checked Stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from panes.catalog import Column, Stream, check_stream, without_change_type
from panes.connectors.checks import check_stream as check_connector
from panes.connectors.kafka import is_debezium
from panes.connectors.malformed import check_malformed
from panes.connectors.postgres import is_table
from panes.errors import PanesError
from panes.options import StreamOptions, read_options
from panes.options.stream import WITH, Length
from panes.source import Span
from panes.sql.duration import microseconds
from panes.sql.statements import ColumnDef, CreateStream

# Options of CREATE STREAM … WITH that are Panes'; all others are the connector's. The last two are about its records.
OWN_OPTIONS = frozenset((*WITH, "on_error", "dead_letter"))

NO_OPTIONS = StreamOptions()


def declare(
    name: str,
    columns: Sequence[Column],
    given: StreamOptions = NO_OPTIONS,
    *,
    streaming: bool,
    options: Mapping[str, str] | None = None,
) -> Stream:
    """A checked stream; `options` are those of its connector."""
    beat, timeout = length("heartbeat", given.heartbeat), length("idle_timeout", given.idle_timeout)
    return check_stream(
        Stream(
            name,
            without_change_type(columns) if given.changelog else tuple(columns),
            time=given.time,
            delay=length("watermark", given.watermark),
            key=(given.key,) if isinstance(given.key, str) else tuple(given.key),
            changelog=given.changelog,
            sequence=given.sequence,
            state_ttl=length("state_ttl", given.state_ttl),
            heartbeat=beat if beat is not None or timeout is None else _default_beat(timeout),
            idle_timeout=timeout,
            on_inconsistency=given.on_inconsistency,
            preimages=given.preimages,
            streaming=streaming,
            options=dict(options or {}),
        )
    )


def _default_beat(timeout: int) -> int:
    """A stream that may be idle has a heartbeat: four times while it waits."""
    return max(timeout // 4, 1000)


def length(what: str, given: Length | None) -> int | None:
    """A length of time in microseconds."""
    if given is None:
        return None
    try:
        return microseconds(_text(given) if isinstance(given, timedelta) else given)
    except (ValueError, TypeError, AttributeError) as error:
        raise PanesError("stream-options", f"{what}: {error}", None, f"Write {what}='10 seconds'.") from None


def _text(given: timedelta) -> str:
    return f"{given // timedelta(microseconds=1)} microseconds"


def declare_from(statement: CreateStream) -> Stream:
    """The stream of a CREATE STREAM; what is wrong with it is underlined there, or at its WATERMARK."""
    with underlined(statement.span):
        written = read_options(statement.options, OWN_OPTIONS)
    others = {name: value for name, value in written.items() if name not in OWN_OPTIONS}
    given = _given(statement, written, others)
    columns = [_column(column) for column in statement.columns]
    declared = partial(declare, statement.name, columns, streaming=not is_table(others), options=others)
    with underlined(statement.span):
        stream = declared(replace(given, time=None, watermark=None, idle_timeout=None))
        on_error, dead_letter = written.get("on_error", "fail").lower(), written.get("dead_letter")
        check_malformed(replace(stream, on_error=on_error, dead_letter=dead_letter))
    if statement.watermark is not None:
        with underlined(statement.watermark.span):
            declared(replace(given, idle_timeout=None))
    with underlined(statement.span):
        stream = replace(declared(given), on_error=on_error, dead_letter=dead_letter)
        check_connector(stream)
    return stream


def _given(statement: CreateStream, written: Mapping[str, str], others: Mapping[str, str]) -> StreamOptions:
    """The options that clauses and WITH say."""
    changelog = written.get("changelog", "false").lower()
    if changelog not in ("true", "false"):
        raise PanesError("stream-options", "changelog is 'true' or 'false'", statement.span)
    watermark = statement.watermark
    said: dict[str, Any] = {name: written[name] for name in WITH if name in written}
    return StreamOptions(
        **{**said, "changelog": changelog == "true" or is_debezium(others)},
        time=watermark.column if watermark is not None else None,
        watermark=timedelta(microseconds=watermark.delay) if watermark is not None else None,
        key=statement.key,
    )


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
