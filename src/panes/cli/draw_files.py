"""The files of `panes draw`: a script with rows, a page, or a trace."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import typer

from panes.cli.script_file import read_script
from panes.errors import PanesError
from panes.picture import Theme, svg
from panes.trace import Trace, from_json
from panes.trace.given import Given, read_rows
from panes.trace.page import PageExample, examples_of


def drawing_of(file: Path, script: str | None, rows: Sequence[str], flush: bool, whole: bool = False) -> Trace:
    """The trace of a script over rows from files, of the only example of a page, or from a file.

    Its SQL is the query that is drawn, or the `whole` script, which `panes play` needs to run it again.
    """
    if script is not None:
        return _traced(script, given_of(rows), str(file), flush, whole)
    if file.suffix.lower() == ".json":
        return from_json(read_script(file))
    examples = examples_of(read_script(file))
    if len(examples) != 1:
        lines = ", ".join(str(one.line) for one in examples) or "none"
        hint = "Without --output each picture is drawn that the page names below an example."
        raise PanesError(
            "parse-error", f"one example with input blocks is wanted, at these lines are: {lines}", None, hint
        )
    return _traced(examples[0].script, examples[0].given, str(file), flush, whole)


def pictures_of(page: Path, theme: Theme = Theme.AUTO) -> Iterator[tuple[Path, str]]:
    """Each picture that a page names: its file, and what is to be in it."""
    for example in named_pictures(page):
        assert example.picture is not None
        path = Path(posixpath.normpath(posixpath.join(page.parent.as_posix(), example.picture)))
        yield path, svg(_traced(example.script, example.given, str(page), flush=True), theme=theme)


def named_pictures(page: Path) -> list[PageExample]:
    """The examples of a page below which a picture stands."""
    examples = [one for one in examples_of(read_script(page)) if one.picture is not None]
    if not examples:
        hint = "Write ![what it shows](pictures/name.svg) below an example with input blocks, or give --output."
        raise PanesError("parse-error", f"{page.name} names no picture", None, hint)
    return examples


def given_of(rows: Sequence[str]) -> dict[str, Given]:
    """The rows in the files of `--rows name=file`."""
    found: dict[str, Given] = {}
    for one in rows:
        name, equals, file = one.partition("=")
        if not equals or not name or not file:
            raise typer.BadParameter(f"{one} is not NAME=FILE", param_hint="--rows")
        path = Path(file)
        if not path.is_file():
            raise typer.BadParameter(f"there is no file {file}", param_hint="--rows")
        found[name.strip()] = read_rows(path)
    return found


def _traced(script: str, given: dict[str, Given], name: str, flush: bool, whole: bool = False) -> Trace:
    from panes.trace.script import trace_script  # which imports PySpark

    found = trace_script(script, given, name=name, flush=flush)
    return replace(found, sql=script) if whole else found
