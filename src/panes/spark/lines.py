"""Files of JSON or CSV: each line is a record, and one that is malformed is not read as a row of NULLs.

All columns are read, whatever a query reads of them: else a line would be malformed for one query and not for another.
`inline` sees to that, and keeps Spark from leaving out a line by a condition before it has been judged.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.streaming.readwriter import DataStreamReader

from panes.catalog import Column, Stream
from panes.connectors import malformed
from panes.spark.expressions import quoted
from panes.spark.malformed import Judged, judgement

BROKEN, FILE = "panes_broken", "panes_file"


def judged_lines(stream: Stream, columns: Sequence[Column], reader: DataStreamReader, path: str) -> Judged:
    """The lines of a stream's files with these columns."""
    fields = [quoted(column.name) for column in columns]
    schema = [*(f"{quoted(column.name)} {column.type}" for column in columns), f"{BROKEN} string"]
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": BROKEN}
    lines = reader.options(**options).schema(", ".join(schema)).load(path)
    rows = lines.selectExpr(f"inline(array(struct({', '.join(fields)}, {BROKEN}, _metadata.file_path AS {FILE})))")
    connector = stream.options["connector"]
    judged = rows.selectExpr("*", judgement(f"{BROKEN} IS NOT NULL", connector))
    return Judged(judged, f"concat('a line of ', {FILE})", BROKEN, {malformed.FILE: FILE})
