"""Records that are not what their format and columns say: they stop the query, or they are left out and counted.

    records ─ judged, `panes_error` says what is wrong ─┬─ stopped at ─── rows          on_error = 'fail'
                                                        ├─ left out ───── rows          on_error = 'dead_letter'
                                                        └─ only these ─── dead letters

Every reader of a stream judges alike: what one leaves out is what another keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from panes.catalog import Stream
from panes.connectors import malformed
from panes.spark.expressions import quoted
from panes.spark.progress import malformed_name

ERROR = "panes_error"
SHOWN = 100  # letters of a malformed value that an error shows
# A terminal would obey control characters: each becomes its picture, the end of a line a space.
CONTROLS = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
PICTURES = {**CONTROLS, ord("\r"): ord(" "), ord("\n"): ord(" ")}


@dataclass(frozen=True)
class Judged:
    """Records with `panes_error`, and how to tell of one: its place, its value and its metadata, as SQL."""

    records: DataFrame
    place: str
    value: str
    metadata: Mapping[str, str]


def judgement(broken: str, format_: str) -> str:
    """What is wrong with a record, as SQL; NULL if nothing is."""
    return f"CASE WHEN {broken} THEN 'not {format_} of the declared columns' END AS {ERROR}"


def sound(judged: Judged, stream: Stream) -> DataFrame:
    """The records that are not malformed; the others stop the query, or are counted and become dead letters."""
    return _stopped_at(judged) if stream.on_error == "fail" else _left_out(judged.records, stream)


def dead_letters(judged: Judged, stream: Stream) -> DataFrame:
    """The malformed records alone."""
    kept = judged.records.where(f"{ERROR} IS NOT NULL")
    error, value = ERROR, judged.value
    held = stream.column(malformed.VALUE)
    if held is not None and held.type == "string":
        error = f"concat({ERROR}, CASE WHEN {no_text(value)} THEN '; _value is in hexadecimal' ELSE '' END)"
        value = as_text(value)
    metadata = dict(judged.metadata)
    if "headers" in metadata:  # their names are texts, too
        metadata["headers"] = f"transform({metadata['headers']}, h -> struct({as_text('h.key')} AS key, h.value))"
    letters = kept.selectExpr(
        f"{error} AS {malformed.ERROR}",
        f"{value} AS {malformed.VALUE}",
        *(f"{sql} AS {quoted(name)}" for name, sql in metadata.items()),
    )
    return letters.observe(malformed_name(stream.name), expr("count(1)").alias("malformed_rows"))


def no_text(sql: str) -> str:
    """Whether a string holds what no text can: bytes that are not UTF-8, or U+0000, which databases refuse."""
    return f"nvl(NOT is_valid_utf8({sql}) OR contains({sql}, char(0)), false)"


def as_text(sql: str) -> str:
    """A string as a text that every sink takes; what is none in hexadecimal, so that nothing is lost."""
    return rf"CASE WHEN {no_text(sql)} THEN concat('\\x', hex({sql})) ELSE {sql} END"


def _stopped_at(judged: Judged) -> DataFrame:
    controls, pictures = ("".join(f"\\u{code:04x}" for code in codes) for codes in (PICTURES, PICTURES.values()))
    shown = f"nvl(translate(substr(CAST({judged.value} AS STRING), 1, {SHOWN}), '{controls}', '{pictures}'), 'NULL')"
    text = f"concat('PanesError: malformed-record: ', {judged.place}, ' is ', {ERROR}, ': ', {shown})"
    return judged.records.where(f"CASE WHEN {ERROR} IS NOT NULL THEN raise_error({text}) ELSE true END")


def _left_out(records: DataFrame, stream: Stream) -> DataFrame:
    counted = records.observe(malformed_name(stream.name), expr(f"count({ERROR})").alias("malformed_rows"))
    return counted.where(f"{ERROR} IS NULL")
