"""`panes play`: a page on which one sees what a query makes of rows."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from panes.cli.output.failure_text import in_short
from panes.cli.script_file import console, errors, read_script, reported_errors
from panes.play.document import Document
from panes.play.row_files import RowFileError, named_file, stream_rows
from panes.play.serve import check_extra, listening, serve
from panes.play.token import Gate
from panes.spark.installed import check_spark

if TYPE_CHECKING:
    from panes.play.app import Play
    from panes.trace.model import Trace

SAVED = ".panes.json"


def play(
    file: Annotated[
        Path | None,
        typer.Argument(help=f"A script of SQL statements, or a {SAVED} file; without one, an example."),
    ] = None,
    rows: Annotated[
        list[str] | None,
        typer.Option(
            "--rows", metavar="NAME=FILE", help="The rows of a stream, from a .csv or .json file; may be repeated."
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where the page is served; 0 takes any free port.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open no browser.")] = False,
) -> None:
    """Open a page that draws what a query makes of rows, both of which can be edited there.

    The page is on this machine alone, and nothing leaves it.

    [bold]Example[/bold]: panes play orders.sql --rows orders=orders.csv
    """
    with reported_errors():
        check_extra()
        check_spark()
        document, trace = begin(file, rows or ())
        app = page(document, trace, file.name if file is not None else "")
    try:
        at = listening(port)
    except OSError as error:
        errors.print(f"port {port} cannot be used: {error.strerror}")
        raise typer.Exit(1) from None
    gate = Gate.at(at.getsockname()[1])
    app.session.begin()
    serve(app.app(gate), at, lambda: _announce(gate.url, not no_browser))
    app.session.stop()


def begin(file: Path | None, rows: Sequence[str]) -> tuple[Document, Trace | None]:
    """What the page begins with: a script with its rows, or what was saved from a page; without a file an example."""
    from panes.play.answers import document_of_trace
    from panes.play.examples import FIRST
    from panes.trace import from_json

    trace = None
    if file is None:
        document = FIRST
    elif file.name.endswith(SAVED):
        trace = from_json(read_script(file))
        document = document_of_trace(trace)
    else:
        document = Document(read_script(file))
    if not rows:
        return document, trace
    try:
        given = [stream_rows(*named_file(one)) for one in rows]
    except RowFileError as error:
        errors.print(str(error))
        raise typer.Exit(2) from None
    names = {one.name.lower() for one in given}
    others = [one for one in document.streams if one.name.lower() not in names]
    return replace(document, streams=(*given, *others)), None


def page(document: Document, trace: Trace | None, name: str) -> Play:
    """The page, with a Spark that has not started yet."""
    from panes.play.app import Play
    from panes.play.pictures import pictures
    from panes.play.spark import session

    return Play(document, session(in_short), pictures, in_short, trace, name)


def _announce(url: str, with_browser: bool) -> None:
    console.print(f"panes play: {url}\nCtrl-C ends it.")
    if with_browser:
        webbrowser.open(url)
