"""`panes run`: run a script."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from panes.catalog import Catalog
from panes.cli.script_file import console, errors, print_listing, read_script, reported_errors
from panes.compile import Compiled
from panes.functions import Functions
from panes.script import Done, Explanation, Listing, Step, steps

if TYPE_CHECKING:
    from panes.spark.runner import Report


def run(
    file: Annotated[Path, typer.Argument(help="A script of SQL statements; - reads standard input.")],
    checkpoint: Annotated[
        str | None, typer.Option(help="Folder for state and progress: a run with the same folder goes on there.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Stop when the input that is there has been read.")] = False,
    flush: Annotated[
        bool, typer.Option("--flush", help="Like --once, and end the input: every open window comes out.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress lines.")] = False,
) -> None:
    """Run every INSERT of a script on an embedded Spark, with a progress line per micro-batch."""
    script = read_script(file)
    catalog = Catalog()
    with reported_errors():
        compiled = list(steps(script, catalog, Functions(), str(file)))  # mistakes are found before Spark starts
    from panes.engine import Engine
    from panes.spark.packages import needed_packages

    engine = Engine(packages=needed_packages([*catalog.streams, *catalog.sinks]))
    if any(isinstance(step, Compiled) and step.physical.sink is not None for step in compiled):
        with reported_errors():
            engine.spark.sparkContext.setLogLevel("OFF")  # what fails is told once, below
    with reported_errors(), _reported_failures(), _Stop() as stop:
        engine.run(
            script,
            checkpoint=checkpoint,
            once=once,
            flush=flush,
            show=_show,
            report=(lambda report: None) if quiet else _report,
            stopped=lambda: stop.signal is not None,
            name=str(file),
        )
    if stop.signal is not None:
        raise typer.Exit(128 + stop.signal)


class _Stop:
    """Ctrl-C and SIGTERM stop a run between two looks at its queries; the second one ends the process at once."""

    signal: int | None = None

    def __enter__(self) -> _Stop:
        self._before = {one: signal.signal(one, self._receive) for one in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *error: object) -> None:
        for one, before in self._before.items():
            signal.signal(one, before)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def _reported_failures() -> Iterator[None]:
    """Print what Spark says of a query that failed, without its plan, and leave with exit code 1."""
    from pyspark.errors import StreamingQueryException

    try:
        yield
    except StreamingQueryException as error:
        errors.print(str(error).split("\n=== Streaming Query ===")[0].strip(), markup=False)
        raise typer.Exit(1) from None


def _show(step: Step) -> None:
    match step:
        case Done(message=message):
            console.print(message, markup=False)
        case Explanation(text=text):
            console.print(text, markup=False)
        case Listing():
            print_listing(step)
        case Compiled():
            if step.physical.sink is None:
                errors.print("a SELECT without INSERT INTO is checked and not run", markup=False)
        case _:
            assert_never(step)


def _report(report: Report) -> None:
    counters = " ".join(f"{name}={value}" for name, value in report.counters.items())
    errors.print(f"{report.sink} batch {report.batch} {report.seconds:.2f} s {counters}", markup=False, style="dim")
