"""`panes run`: run a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from panes.cli.script_file import console, errors, print_listing, read_script, reported_errors
from panes.script import Done, Explanation, Listing, Step

if TYPE_CHECKING:
    from panes.spark.runner import Report


def run(
    file: Annotated[Path, typer.Argument(help="A script of SQL statements; - reads standard input.")],
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder for state and progress: a run with the same folder goes on there.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Stop when the input that is there has been read.")] = False,
    flush: Annotated[
        bool, typer.Option("--flush", help="Like --once, and end the input: every open window comes out.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress lines.")] = False,
) -> None:
    """Run every INSERT of a script on an embedded Spark, with a progress line per micro-batch."""
    script = read_script(file)
    from panes.engine import Engine

    with reported_errors():
        Engine().run(
            script,
            checkpoint=checkpoint,
            once=once,
            flush=flush,
            show=_show,
            report=(lambda report: None) if quiet else _report,
            name=str(file),
        )


def _show(step: Step) -> None:
    match step:
        case Done(message=message):
            console.print(message, markup=False)
        case Explanation(text=text):
            console.print(text, markup=False)
        case Listing():
            print_listing(step)


def _report(report: Report) -> None:
    counters = " ".join(f"{name}={value}" for name, value in report.counters.items())
    errors.print(f"{report.sink} batch {report.batch} {report.seconds:.2f} s {counters}", markup=False, style="dim")
