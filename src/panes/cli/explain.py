"""`panes explain`: the plans of a script's queries."""

from __future__ import annotations

import json
from typing import Annotated, assert_never

import typer

from panes.catalog import Catalog
from panes.cli.script_file import File, Set, console, load_script, print_listing, print_plan, reported_errors
from panes.compile import Compiled
from panes.functions import Functions
from panes.script import Done, Explanation, Listing, Step, steps


def explain(
    file: File,
    assignments: Set = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all plans as one JSON array.")] = False,
) -> None:
    """Show the logical and the physical plan of every query in a script. Starts no Spark.

    [bold]Example[/bold]: panes explain orders.sql
    """
    script = load_script(file, assignments)
    documents: list[dict[str, object]] = []
    with reported_errors(script):
        for step in steps(script.text, Catalog(), Functions(), str(file)):
            if as_json:
                documents += _documents(step)
            else:
                _print(step)
    if as_json:
        typer.echo(json.dumps(documents, indent=2))


def _print(step: Step) -> None:
    match step:
        case Compiled():
            print_plan(step.explain())
            console.print()
        case Explanation(text=text):
            print_plan(text)
            console.print()
        case Listing():
            print_listing(step)
        case Done():
            pass
        case _:
            assert_never(step)


def _documents(step: Step) -> list[dict[str, object]]:
    """What --json has of a statement: nothing of a declaration."""
    match step:
        case Compiled():
            return [step.plans()]
        case Explanation(compiled=compiled):
            return [compiled.plans()]
        case Listing():
            return [{"rows": step.documents()}]
        case Done():
            return []
        case _:
            assert_never(step)
