"""Kafka out: each row of a result as a record, at least once, with an id that is the same when it comes again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame

from panes.compile import Compiled
from panes.connectors.kafka import Changes, KafkaSink
from panes.errors import PanesError, suggestion
from panes.kernels.changelog.changes import CHANGE
from panes.logical.result_key import missing_of_key
from panes.spark.expressions import quoted
from panes.spark.kafka.record_ids import by_content, by_place, header
from panes.spark.last_of_key import DELETED, last_of_key
from panes.spark.text_values import literal

HEADERS = "array<struct<key: string, value: binary>>"
JSON = {  # what Spark would leave out: NULLs, and what is below a millisecond
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def check_result(sink: KafkaSink, name: str, compiled: Compiled) -> None:
    """Refuse columns that the result has not, and a key that does not tell its rows apart."""
    check_columns(sink, name, compiled.physical.columns)
    if sink.changes == Changes.UPSERT and compiled.physical.changelog:
        missing = missing_of_key(compiled.logical, sink.key)
        if missing is not None:
            hint = "Select what identifies a row, and name all of it in the sink's key."
            raise PanesError("stream-options", f"the key of the sink {name} lacks {missing}", None, hint)


def check_columns(sink: KafkaSink, name: str, columns: Sequence[str]) -> None:
    """Refuse a key or a header that is no column of what the sink gets."""
    known = [column.lower() for column in columns]
    for column in (*sink.key, *sink.headers):
        if column.lower() not in known:
            hint = suggestion(column, columns)
            raise PanesError("unknown-column", f"the sink {name} names {column}, which the result has not", None, hint)


def put_kafka(rows: DataFrame, batch: int, sink: KafkaSink, changelog: bool, sink_id: Callable[[], str]) -> None:
    """Write one micro-batch."""
    found = records(rows, sink, changelog, f"{sink_id()}/{batch}")
    found.write.format("kafka").options(**sink.spark).save()


def records(rows: DataFrame, sink: KafkaSink, changelog: bool, batch: str) -> DataFrame:
    """Key, value and headers of a micro-batch's records; `batch` is its checkpoint and its number."""
    if changelog and sink.changes == Changes.UPSERT:
        value = _json([name for name in rows.columns if name != CHANGE], sink.parser)
        last = last_of_key(rows, sink.key)  # sorted by key
        return by_place(_records(last, sink, f"CASE WHEN NOT {DELETED} THEN {value} END"), batch)
    return by_content(_records(rows, sink, _json(rows.columns, sink.parser)), batch)


def _records(rows: DataFrame, sink: KafkaSink, value: str) -> DataFrame:
    key = [f"{_key(sink)} AS key"] if sink.key else []
    headers = ", ".join(header(name, quoted(name)) for name in sink.headers)
    return rows.selectExpr(*key, f"{value} AS value", f"CAST(array({headers}) AS {HEADERS}) AS headers")


def _json(columns: Sequence[str], options: Mapping[str, str]) -> str:
    given = {**JSON, **options}
    pairs = ", ".join(f"{literal(name)}, {literal(text)}" for name, text in given.items())
    return f"to_json(struct({', '.join(quoted(name) for name in columns)}), map({pairs}))"


def _key(sink: KafkaSink) -> str:
    """The text of one column, or an object of several."""
    if len(sink.key) > 1:
        return _json(sink.key, sink.parser)
    return f"CAST({quoted(sink.key[0])} AS STRING)"
