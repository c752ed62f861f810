"""The rows of a SELECT, as a table or as JSON; Spark writes the values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from panes.cli.output.tables import fitted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from panes.spark.rows import Rows

NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def table_of(rows: Rows, most: int, width: int | None) -> Group:
    """The first rows of a micro-batch; `width` is that of the terminal, if there is one."""
    from pyspark.sql.functions import col

    numbered = _numbered(rows.df.limit(most))
    texts = numbered.select(*(col(number).cast("string") for number in numbered.columns)).collect()
    return table(rows.query, rows.batch, rows.df.columns, [list(row) for row in texts], rows.count, width)


def table(
    query: str,
    batch: int | None,
    columns: Sequence[str],
    texts: Sequence[Sequence[str | None]],
    count: int,
    width: int | None,
) -> Group:
    title = query if batch is None else f"{query} batch {batch}"
    shown = Table()
    for name in columns:
        shown.add_column(Text(name), overflow="fold")
    for row in texts:
        shown.add_row(*(Text("NULL", style="dim") if cell is None else Text(cell) for cell in row))
    return Group(Text(title, style="italic"), fitted(shown, width), *_more(count - len(texts)))


def _more(rows: int) -> list[Text]:
    return [Text(f"… and {rows:,} more row{'' if rows == 1 else 's'}", style="dim")] if rows > 0 else []


def json_of(rows: Rows) -> Iterator[str]:
    """All rows of a micro-batch, each as a JSON object in ASCII."""
    from pyspark.sql.functions import col, struct, to_json

    numbered = _numbered(rows.df)
    names = zip(numbered.columns, distinct(rows.df.columns), strict=True)
    columns = struct(*(col(number).alias(name) for number, name in names))
    for (text,) in numbered.select(to_json(columns, {"ignoreNullFields": "false"})).toLocalIterator():
        yield escaped(text)


def _numbered(df: DataFrame) -> DataFrame:
    """With numbers for names: two columns may have the same one."""
    return df.toDF(*(f"c{number}" for number in range(len(df.columns))))


def distinct(names: Sequence[str]) -> list[str]:
    """Names for the keys of an object: another column of the same name gets a number.

    >>> distinct(["a", "a", "a_2", "b", "a"])
    ['a', 'a_3', 'a_2', 'b', 'a_4']
    """
    found: list[str] = []
    for name in names:
        key, number = name, 1
        while key in found or (number > 1 and key in names):
            number += 1
            key = f"{name}_{number}"
        found.append(key)
    return found


def escaped(text: str) -> str:
    r"""A text of JSON in ASCII alone: all else is inside of strings.

    >>> print(escaped('{"é": 1.10, "x": "→😀"}'))
    {"\u00e9": 1.10, "x": "\u2192\ud83d\ude00"}
    """
    return NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)
