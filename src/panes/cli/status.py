"""`panes status`: what runs, and what it does."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from panes.cli.output.figures import length, moment, rate, size
from panes.cli.output.tables import figures_table, width_of
from panes.cli.run_file import RunFile, runs_on
from panes.cli.script_file import console, errors

COLUMNS = (
    *("query", "state", "batches", "rows in", "rows out", "in/s"),
    *("watermark", "open", "late", "state size", "backlog"),
)
# Where the terminal is narrow, the first of these goes first.
EXPENDABLE = ("backlog", "rows out", "batches", "state size", "open", "late", "watermark", "rows in")


def status(
    checkpoint: Annotated[str | None, typer.Argument(help="The --checkpoint of a run; without it, all runs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per run.")] = False,
) -> None:
    """Show the scripts that you run on this machine, and what each query did last.

    panes status   [dim]all of them[/dim]

    panes status checkpoint   [dim]the one on this checkpoint; exit code 1 if there is none[/dim]
    """
    found = runs_on(checkpoint)
    for one in found:
        if as_json:
            typer.echo(json.dumps(asdict(one)))
        else:
            show(one, time.time())
    if not found:
        errors.print("nothing is running" + (f" on {checkpoint}" if checkpoint is not None else ""))
        raise typer.Exit(1 if checkpoint is not None else 0)


def show(run: RunFile, now: float) -> None:
    where = f" on {run.checkpoint}" if run.checkpoint is not None else ""
    heard = length(now - run.written)
    console.print(f"{run.script}{where}: process {run.pid}, for {length(now - run.began)}, last update {heard} ago")
    if run.ui is not None:
        console.print(f"Spark UI: {run.ui}")
    console.print(runs_table(run.queries, width_of(console)))
    for query in run.queries:
        if query["error"] is not None:
            console.print(f"{query['query']}: {query['error']}")


def runs_table(queries: list[dict[str, Any]], width: int | None) -> Table:
    return figures_table(COLUMNS, [cells(query) for query in queries], width, words=2, expendable=EXPENDABLE)


def cells(query: dict[str, Any]) -> list[str]:
    """A query's line of the table."""
    windows, held, backlog = query["open_windows"], query["state_bytes"], query["backlog"]
    return [
        query["query"],
        query["state"],
        f"{query['batches']:,}",
        f"{query['rows_in']:,}",
        f"{query['rows_out']:,}",
        rate(query["rows_in_per_second"]),
        moment(query["watermark"]).partition(".")[0],
        f"{windows:,}" if windows is not None else "",
        f"{query['late_rows']:,}",
        size(held) if held is not None else "",
        f"{backlog:,}" if backlog is not None else "",
    ]
