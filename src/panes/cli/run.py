"""`panes run`: run a script."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from panes.cli.output.choice import Wanted
from panes.cli.script_file import File, Set, console, errors, read_script, variables_of
from panes.cli.spark_options import Conf, Master, Packages, Remote, packages_of, settings_of
from panes.cli.supervise import Supervised, supervise, with_ui
from panes.sql.duration import microseconds

LOCAL = "127.0.0.1"
AVAILABLE_NOW = "available-now"
MILLISECOND = 1000  # microseconds


class OnError(Enum):
    STOP = "stop"
    CONTINUE = "continue"


def run(
    file: File,
    assignments: Set = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="Folder for state and progress: a run with the same folder resumes there.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Stop once all available input has been read.")] = False,
    flush: Annotated[
        bool, typer.Option("--flush", help="Like --once, then end the input, so that every open window is emitted.")
    ] = False,
    trigger: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH", help="How often a micro-batch begins, such as '10 seconds'; available-now is --once."
        ),
    ] = None,
    on_error: Annotated[
        OnError, typer.Option(help="When a query fails, stop all, or let the others continue.")
    ] = OnError.STOP,
    rows: Annotated[int, typer.Option(min=1, help="How many rows of a SELECT are shown per micro-batch.")] = 20,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Everything as JSON on standard output, one object a line.")
    ] = False,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Progress and errors as JSON on standard error, one object a line.")
    ] = False,
    metrics_port: Annotated[
        int | None, typer.Option(min=1, max=65_535, help="Serve metrics for Prometheus on this port.")
    ] = None,
    metrics_host: Annotated[str, typer.Option(help="The address that metrics are served on.")] = LOCAL,
    ui: Annotated[
        bool | None, typer.Option("--ui/--no-ui", help="Spark's web pages; by default only on a terminal.")
    ] = None,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    packages: Packages = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show errors with full Python and Java stack traces.")] = False,
) -> None:
    """Run every INSERT and SELECT of a script.

    [bold]Examples[/bold]

    panes run orders.sql   [dim]until Ctrl-C[/dim]

    panes run orders.sql --checkpoint state   [dim]resumes where the last run stopped[/dim]

    panes run orders.sql --flush --json   [dim]what is there, to its end, as JSON[/dim]

    panes run orders.sql --set topic=orders --trigger '10 seconds' --metrics-port 9464

    [bold]Exit codes[/bold]: 0; 1 if something is refused or fails; 2 if the command line is wrong or the file cannot be
    read; 128 + n after signal n.
    """
    once, every = trigger_of(trigger, once or flush)
    values = variables_of(assignments)
    settings = settings_of(conf, master, remote)
    wants_ui = console.is_terminal and errors.is_terminal if ui is None else ui
    stopped_by = supervise(
        Supervised(
            text=read_script(file),
            name=str(file),
            values=values,
            checkpoint=checkpoint,
            once=once,
            flush=flush,
            every=every,
            on_error=on_error.value,
            wanted=Wanted(quiet, as_json, log_json, rows),
            metrics=(metrics_port, metrics_host) if metrics_port is not None else None,
            settings=with_ui(settings) if wants_ui else settings,
            packages=tuple(packages_of(packages)),
            debug=debug,
        )
    )
    if stopped_by is not None:
        raise typer.Exit(128 + stopped_by)


def trigger_of(trigger: str | None, once: bool) -> tuple[bool, str | None]:
    """Whether a run ends with its input, and else how often a micro-batch begins.

    >>> trigger_of("10 seconds", once=False), trigger_of("available-now", once=False), trigger_of(None, once=True)
    ((False, '10 seconds'), (True, None), (True, None))
    """
    if trigger is None:
        return once, None
    if trigger == AVAILABLE_NOW:
        return True, None
    try:
        length = microseconds(trigger)
    except ValueError:
        raise typer.BadParameter(
            f"{trigger!r} is neither a length of time, such as '10 seconds', nor {AVAILABLE_NOW}",
            param_hint="--trigger",
        ) from None
    if length < MILLISECOND:
        raise typer.BadParameter("the time between micro-batches is at least 1 millisecond", param_hint="--trigger")
    if once:
        raise typer.BadParameter(
            f"a run with --once or --flush has no time between micro-batches: leave --trigger {trigger!r} out",
            param_hint="--trigger",
        )
    return False, f"{length // MILLISECOND} milliseconds" if length % 1_000_000 else f"{length // 1_000_000} seconds"
