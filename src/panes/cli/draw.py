"""`panes draw`: the picture of a query over rows that are given."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panes.cli.draw_files import drawing_of, pictures_of
from panes.cli.script_file import Set, console, errors, load_script, reported_errors
from panes.picture import Theme, svg
from panes.trace import to_json

MARKDOWN, TRACE = (".md", ".markdown"), ".json"

Rows = Annotated[
    list[str] | None,
    typer.Option("--rows", metavar="NAME=FILE", help="The rows of a stream, as CSV or JSON; may be repeated."),
]


def draw(
    file: Annotated[
        Path,
        typer.Argument(help="A script, a Markdown page with input blocks, or a trace that --output has written."),
    ],
    rows: Rows = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to: picture.svg, or trace.panes.json."),
    ] = None,
    step: Annotated[
        int | None,
        typer.Option("--step", metavar="N", help="Draw what is so after micro-batch N, instead of the end."),
    ] = None,
    theme: Annotated[Theme, typer.Option(help="auto is as the reader's system has it.")] = Theme.AUTO,
    flush: Annotated[bool, typer.Option("--flush/--no-flush", help="End the input after the last row.")] = True,
    assignments: Set = None,
) -> None:
    """Draw what a script's last query makes of rows: windows that open, grow and emit, late rows, the watermark.

    A row of a file may say in _batch in which micro-batch it comes, from 1. Of a page without --output each picture is
    drawn that it names.

    [bold]Example[/bold]: panes draw orders.sql --rows orders=orders.csv -o orders.svg
    """
    _check_output(output)
    if file.suffix.lower() in MARKDOWN and output is None:
        with reported_errors():
            for path, picture in pictures_of(file, theme):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(picture, encoding="utf-8")
                console.print(str(path))
        return
    script = load_script(file, assignments) if file.suffix.lower() not in (*MARKDOWN, TRACE) else None
    with reported_errors(script):
        as_json = output is not None and output.suffix == TRACE
        trace = drawing_of(file, script.text if script is not None else None, rows or (), flush, whole=as_json)
        last = trace.steps - 1 if step is None else step - 1
        if not 0 <= last < trace.steps:
            raise typer.BadParameter(f"there are {trace.steps} steps, the end included", param_hint="--step")
        text = to_json(trace) if as_json else svg(trace, last, theme)
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
        console.print(str(output))


def _check_output(output: Path | None) -> None:
    if output is None or output.suffix in (".svg", TRACE):
        return
    errors.print(f"cannot draw {output.name}: a picture is an .svg file, a trace a .panes.json file")
    errors.print("hint: Browsers and many programs turn SVG into PNG, such as rsvg-convert and Inkscape.")
    raise typer.Exit(2)
