"""`panes check`: compile a script without running it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panes.catalog import Catalog
from panes.cli.script_file import console, read_script, reported_errors
from panes.compile import Compiled
from panes.functions import Functions
from panes.script import steps


def check(
    file: Annotated[Path, typer.Argument(help="A script of SQL statements; - reads standard input.")],
) -> None:
    """Compile every statement of a script: errors are shown where they stand, nothing is run."""
    queries = 0
    with reported_errors():
        for step in steps(read_script(file), Catalog(), Functions(), str(file)):
            queries += isinstance(step, Compiled)
    console.print(f"{file}: fine, {queries} quer{'y' if queries == 1 else 'ies'}")
