"""`panes status`: what runs, and what it does."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, replace
from typing import Annotated, Any

import typer
from rich.table import Table

from panes.cli.output.board import RECENT
from panes.cli.output.figures import length, moment, rate, size
from panes.cli.output.tables import figures_table, width_of
from panes.cli.output.watch import WHY
from panes.cli.run_file import RunFile, runs_on
from panes.cli.script_file import console, errors

COLUMNS = (
    *("query", "state", "batches", "rows in", "rows out", "in/s", "last batch"),
    *("watermark", "open", "late", "state size", "backlog"),
)
# Where the terminal is narrow, the first of these goes first.
EXPENDABLE = ("backlog", "rows out", "batches", "last batch", "state size", "open", "late", "watermark", "rows in")


def status(
    checkpoint: Annotated[str | None, typer.Argument(help="The --checkpoint of a run; without it, all runs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per run.")] = False,
) -> None:
    """Show the scripts that you run on this machine, and what each query did last.

    panes status   [dim]all of them[/dim]

    panes status checkpoint   [dim]the one on this checkpoint; exit code 1 if there is none[/dim]
    """
    now = time.time()
    found = [replace(run, queries=[at(query, now) for query in run.queries]) for run in runs_on(checkpoint)]
    for one in found:
        if as_json:
            typer.echo(json.dumps(asdict(one)))
        else:
            show(one, now)
    if not found:
        errors.print("nothing is running" + (f" on {checkpoint}" if checkpoint is not None else ""))
        raise typer.Exit(1 if checkpoint is not None else 0)


def at(query: dict[str, Any], now: float) -> dict[str, Any]:
    """A query as it is now: a run writes down its rates after a micro-batch, and nothing while none comes."""
    query = {name: value for name, value in query.items() if name != WHY}
    last = query["last_batch_at"]
    if last is None or now - last <= RECENT:
        return query
    return {**query, "rows_in_per_second": 0.0, "rows_out_per_second": 0.0}


def show(run: RunFile, now: float) -> None:
    where = f" on {run.checkpoint}" if run.checkpoint is not None else ""
    heard = length(now - run.written)
    console.print(f"{run.script}{where}: process {run.pid}, for {length(now - run.began)}, last update {heard} ago")
    if run.ui is not None:
        console.print(f"Spark UI: {run.ui}")
    console.print(runs_table(run.queries, now, width_of(console)))
    for query in run.queries:
        if query["error"] is not None:
            console.print(f"{query['query']}: {query['error']}")


def runs_table(queries: list[dict[str, Any]], now: float, width: int | None) -> Table:
    return figures_table(COLUMNS, [cells(query, now) for query in queries], width, words=2, expendable=EXPENDABLE)


def cells(query: dict[str, Any], now: float) -> list[str]:
    """A query's line of the table."""
    last = query["last_batch_at"]
    windows, held, backlog = query["open_windows"], query["state_bytes"], query["backlog"]
    return [
        query["query"],
        query["state"],
        f"{query['batches']:,}",
        f"{query['rows_in']:,}",
        f"{query['rows_out']:,}",
        rate(query["rows_in_per_second"]),
        f"{length(now - last)} ago" if last is not None else "",
        moment(query["watermark"]).partition(".")[0],
        f"{windows:,}" if windows is not None else "",
        f"{query['late_rows']:,}",
        size(held) if held is not None else "",
        f"{backlog:,}" if backlog is not None else "",
    ]
