"""`panes check`: compile a script without running it."""

from __future__ import annotations

from panes.catalog import Catalog
from panes.cli.script_file import File, Set, console, load_script, reported_errors
from panes.compile import Compiled
from panes.functions import Functions
from panes.physical.plan import spark_keeps_state
from panes.script import steps


def check(
    file: File,
    assignments: Set = None,
) -> None:
    """Compile every statement of a script: errors are shown in place, and nothing is run.

    [bold]Example[/bold]: panes check orders.sql --set topic=orders
    """
    queries: list[Compiled] = []
    script = load_script(file, assignments)
    with reported_errors(script):
        for step in steps(script.text, Catalog(), Functions(), str(file)):
            queries += [step] if isinstance(step, Compiled) else []
    console.print(f"{file}: OK ({len(queries)} quer{'y' if len(queries) == 1 else 'ies'})")
    for query in queries:
        span = query.statement.span
        if span is not None and spark_keeps_state(query.physical):
            console.print(f"line {span.line}: Spark keeps state for this query, bounded by the watermark")
