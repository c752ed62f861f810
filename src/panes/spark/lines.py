"""Files of JSON or CSV: each line is a record, and one that is malformed is not read as a row of NULLs.

All columns are read, whatever a query reads of them: else a line would be malformed for one query and not for another.
`inline` sees to that, and keeps Spark from leaving out a line by a condition before it has been judged.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamReader

from panes.catalog import Column, Stream
from panes.connectors import malformed
from panes.spark.expressions import quoted
from panes.spark.malformed import Judged, judgement
from panes.spark.text_values import BROKEN, SPACE, VALUE, ddl, decode_json

FILE = "panes_file"
PLACE = f"concat('a line of ', {FILE})"
NOT_LINES = ("multiline", "encoding", "charset")  # options of JSON files whose lines only Spark's reader finds


def judged_lines(stream: Stream, columns: Sequence[Column], reader: DataStreamReader, path: str) -> Judged:
    """The lines of a stream's files with these columns."""
    if stream.options["connector"] == "json" and not any(name.lower() in NOT_LINES for name in stream.options):
        return Judged(_json(stream, columns, reader.format("text"), path), PLACE, VALUE, {malformed.FILE: FILE})
    fields = [quoted(column.name) for column in columns]
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": BROKEN}
    lines = reader.options(**options).schema(f"{ddl(columns)}, {BROKEN} string").load(path)
    rows = _with_files(lines, [*fields, BROKEN])
    judged = rows.selectExpr("*", judgement(f"{BROKEN} IS NOT NULL", stream.options["connector"]))
    return Judged(judged, PLACE, BROKEN, {malformed.FILE: FILE})


def _json(stream: Stream, columns: Sequence[Column], reader: DataStreamReader, path: str) -> DataFrame:
    """Read as texts: Spark's reader of JSON files does not say what stands behind the object of a line.

    Folders such as `day=2024-01-01` are columns.
    """
    known = {name.lower() for name in reader.schema("value string").load(path).columns} - {"value"}
    of_folders = [column for column in columns if column.name.lower() in known]
    schema = ", ".join(["value string", *([ddl(of_folders)] if of_folders else [])])
    lines = reader.schema(schema).load(path)
    rows = _with_files(lines, [f"value AS {VALUE}", *(quoted(column.name) for column in of_folders)])
    others = [column for column in columns if column not in of_folders]
    return decode_json(rows.where(f"ltrim({SPACE}, {VALUE}) <> ''"), ddl(others), stream.options)


def _with_files(lines: DataFrame, fields: Sequence[str]) -> DataFrame:
    return lines.selectExpr(f"inline(array(struct({', '.join(fields)}, _metadata.file_path AS {FILE})))")
