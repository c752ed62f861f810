"""`panes explain`: the plans of a script's queries."""

from __future__ import annotations

from typing import Annotated, assert_never

import typer

from panes.catalog import Catalog
from panes.cli.script_file import File, Set, console, load_script, print_listing, reported_errors
from panes.compile import Compiled
from panes.functions import Functions
from panes.script import Done, Explanation, Listing, steps


def explain(
    file: File,
    assignments: Set = None,
    json: Annotated[bool, typer.Option("--json", help="Print the plans as JSON.")] = False,
) -> None:
    """Show the logical and the physical plan of every query in a script. Starts no Spark."""
    script = load_script(file, assignments)
    with reported_errors(script):
        for step in steps(script.text, Catalog(), Functions(), str(file)):
            match step:
                case Compiled():
                    console.print(step.explain_json() if json else step.explain() + "\n", markup=False)
                case Explanation(text=text):
                    console.print(text + "\n", markup=False)
                case Listing():
                    print_listing(step)
                case Done():
                    pass
                case _:
                    assert_never(step)
