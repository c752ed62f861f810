"""`panes demo`: the product in a minute."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import typer
from rich.syntax import Syntax

from panes.cli.init import make_project
from panes.cli.output.choice import Wanted
from panes.cli.script_file import console, reported_errors
from panes.cli.supervise import Supervised, supervise
from panes.spark.installed import check_spark


def demo() -> None:
    """Run the project that panes init makes on an embedded Spark, and show what comes out.

    [bold]Example[/bold]: panes demo
    """
    with tempfile.TemporaryDirectory(prefix="panes-demo-") as folder:
        make_project(Path(folder))
        script = Path(folder, "script.sql").read_text(encoding="utf-8")
        query = script[script.index("CREATE STREAM") :]
        console.print(Syntax(query, "sql", background_color="default"))
        with reported_errors():
            check_spark()
        console.print("Starting Spark …\n", style="dim")
        with contextlib.chdir(folder):
            stopped_by = supervise(Supervised(query, "demo", once=True, flush=True, wanted=Wanted(quiet=True)))
    if stopped_by is not None:
        raise typer.Exit(128 + stopped_by)
    console.print("Next: panes init visits makes a folder with this script and its data.", style="dim")
