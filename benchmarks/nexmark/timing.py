"""Rows a second of Nexmark's window queries; `tests/test_nexmark.py` has checked their results."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

import panes
from benchmarks.nexmark.generator import write
from benchmarks.nexmark.queries import QUERIES, files
from benchmarks.streams import FILES_PER_BATCH, bench

EVENTS, FILES = 4_000_000, 10


def run(console: Console) -> dict[str, object]:
    table = Table("query", "rows/s", title="Nexmark", title_justify="left")
    figures: dict[str, object] = {}
    with bench() as on:
        write(EVENTS, FILES, on.folder)
        for query in QUERIES:
            engine = panes.Engine(on.spark)
            query.declare(engine, files(on.spark, on.folder, FILES_PER_BATCH))
            df = engine.sql(query.sql)
            on.rate(df)  # the first run compiles
            figures[query.name] = rate = on.rate(df)
            table.add_row(query.name, f"{rate:,.0f}")
            console.print(f"{query.name}: {rate:,.0f} rows/s")
    console.print(table)
    return figures
