"""The rows of a SELECT, as a table or as JSON; Spark writes the values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from panes.spark.rows import Rows


def table_of(rows: Rows, most: int) -> Group:
    """The first rows of a micro-batch."""
    from pyspark.sql.functions import col

    names = [_quoted(name) for name in rows.df.columns]
    texts = rows.df.limit(most).select(*(col(name).cast("string") for name in names)).collect()
    return table(rows.query, rows.batch, rows.df.columns, [list(row) for row in texts], rows.count)


def table(query: str, batch: int | None, columns: list[str], texts: list[list[str | None]], count: int) -> Group:
    title = query if batch is None else f"{query} batch {batch}"
    more = [Text(f"… and {count - len(texts):,} more rows", style="dim")] if count > len(texts) else []
    shown = Table()
    for name in columns:
        shown.add_column(Text(name))
    for row in texts:
        shown.add_row(*(Text("NULL", style="dim") if cell is None else Text(cell) for cell in row))
    return Group(Text(title, style="italic"), shown, *more)


def documents_of(rows: Rows) -> Iterator[dict[str, Any]]:
    """All rows of a micro-batch."""
    from pyspark.sql.functions import col, struct, to_json

    columns = struct(*(col(_quoted(name)) for name in rows.df.columns))
    texts = rows.df.select(to_json(columns, {"ignoreNullFields": "false"}))
    for (text,) in texts.toLocalIterator():
        yield json.loads(text)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
