"""`panes`: the commands."""

from __future__ import annotations

import logging
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from panes import __version__
from panes.cli import (
    check,
    demo,
    doctor,
    draw,
    explain,
    init,
    play,
    rescale,
    run,
    shell,
    state,
    status,
    stop,
    test,
    why,
)

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # a text that is refused needs no second message

app = typer.Typer(
    help="Streaming SQL windows for Spark.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"panes {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Streaming SQL windows for Spark."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")  # a letter that a terminal does not have stops nothing


app.command("init")(init.init)
app.command("check")(check.check)
app.command("explain")(explain.explain)
app.command("draw")(draw.draw)
app.command("run")(run.run)
app.command("shell")(shell.shell)
app.command("status")(status.status)
app.command("stop")(stop.stop)
app.command("why")(why.why)
app.command("state")(state.state)
app.command("rescale")(rescale.rescale)
app.command("test")(test.test)
app.command("play")(play.play)
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)
