"""What the commands share: a script from a file or standard input, errors as text, tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from panes.errors import PanesError
from panes.script import Listing

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


def read_script(file: Path) -> str:
    """The text of a script; `-` is standard input."""
    if str(file) == "-":
        return sys.stdin.read()
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        errors.print(f"[red]cannot read {file}:[/red] {error}", markup=True)
        raise typer.Exit(2) from None


@contextmanager
def reported_errors() -> Iterator[None]:
    """Print a Panes error as it is meant to be read, and leave with exit code 1."""
    try:
        yield
    except PanesError as error:
        errors.print(str(error), markup=False)
        raise typer.Exit(1) from None


def print_listing(listing: Listing) -> None:
    table = Table(*listing.header, show_edge=False)
    for row in listing.rows:
        table.add_row(*row)
    console.print(table)
