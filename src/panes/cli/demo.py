"""`panes demo`: the product in a minute."""

from __future__ import annotations

import json
import os
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.syntax import Syntax
from rich.table import Table

from panes.cli.script_file import console, reported_errors
from panes.spark.installed import check_spark

# A minute of orders from three shops: (second, shop, amount), in two files; the second one is a little out of order.
ORDERS = (
    ((1, "north", 20.0), (3, "south", 5.0), (7, "north", 12.5), (12, "south", 30.0), (14, "north", 8.0)),
    ((11, "east", 40.0), (21, "north", 3.5), (26, "south", 9.0), (41, "east", 11.0), (55, "south", 2.0)),
)


def demo() -> None:
    """Run a small pipeline on an embedded Spark and show what its windows emitted.

    [bold]Example[/bold]: panes demo
    """
    folder = Path(tempfile.mkdtemp(prefix="panes-demo-"))
    orders, totals = folder / "orders", folder / "totals"
    orders.mkdir()
    for number, rows in enumerate(ORDERS):
        lines = [json.dumps({"ts": f"2024-01-01T00:00:{s:02}Z", "shop": shop, "amount": a}) for s, shop, a in rows]
        file = orders / f"{number}.json"
        file.write_text("\n".join(lines))
        os.utime(file, (number, number))  # Spark reads files in the order of their times
    script = files("panes.cli").joinpath("demo.sql").read_text().format(orders=orders, totals=totals)
    console.print(Syntax(script, "sql", background_color="default"))
    with reported_errors():
        check_spark()
    console.print("Starting Spark …", style="dim")
    from panes.engine import Engine

    with reported_errors():
        engine = Engine()
        engine.run(script, flush=True, checkpoint=folder / "checkpoint")
    console.print(_table(engine.spark.read.parquet(str(totals)).toArrow().to_pylist()))
    console.print(f"The files are in {folder}. Next: panes init orders makes a project of your own.", style="dim")


def _table(rows: list[dict[str, Any]]) -> Table:
    """What the sink holds, one line per window and shop."""
    table = Table("window", "shop", "orders", "total", "largest", title="What the windows emitted")
    for row in sorted(rows, key=lambda row: (row["opens"], row["shop"])):
        window = f"{row['opens']:%H:%M:%S} – {row['closes']:%H:%M:%S}"
        table.add_row(window, row["shop"], str(row["orders"]), f"{row['total']:.2f}", f"{row['largest']:.2f}")
    return table
