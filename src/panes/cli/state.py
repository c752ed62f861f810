"""`panes state`: what a checkpoint holds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from panes.cli.output.tables import fitted, width_of
from panes.cli.script_file import console, reported_errors
from panes.cli.spark_options import Checkpoint, Conf, Packages, check_folder, packages_of, settings_of
from panes.spark.installed import check_spark

if TYPE_CHECKING:
    from panes.spark.state_report import OperatorState

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def state(
    checkpoint: Checkpoint,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, with all that each operator depends on.")] = False,
    conf: Conf = None,
    packages: Packages = None,
) -> None:
    """Show whose state a checkpoint holds, and how much of it each shard has.

    [bold]Example[/bold]: panes state checkpoint
    """
    check_folder(checkpoint)
    with reported_errors():
        check_spark()
    from panes.spark.session import embedded
    from panes.spark.state_report import state_of

    with reported_errors():
        spark = embedded(packages=packages_of(packages), settings=settings_of(conf))
        operators = list(state_of(checkpoint, spark))
    if as_json:
        typer.echo(json.dumps([_as_json(one) for one in operators], indent=2))
        return
    if not operators:
        console.print("no state yet")
    for one in operators:
        console.print(_table(one, width_of(console)))


def _as_json(one: OperatorState) -> dict[str, Any]:
    shards = {
        str(shard): {
            "version": held.version,
            "rows": held.rows,
            "bytes": held.size,
            "chunks": len(held.chunks),
            **held.gauges,
        }
        for shard, held in sorted(one.shards.items())
    }
    columns = dict(one.identity.columns.values())
    whose = {"depends_on": one.identity.depends_on, "columns": columns}
    return {"query": one.query, "operator": one.number, **whose, "shards": shards}


def _table(one: OperatorState, width: int | None) -> Table:
    depends_on = one.identity.depends_on
    query = f"{one.query}, " if one.query else ""
    title = Text(f"{query}operator {one.number}: {depends_on.get('operator')}")
    table = Table(title=title, title_justify="left", box=SIMPLE)
    for name in ("shard", "rows", "chunks", "bytes", "open", "buffered"):
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("oldest open window", no_wrap=True)
    for shard, held in sorted(one.shards.items()):
        gauges = (held.gauges.get(name, 0) for name in ("open_windows", "buffered_rows"))
        numbers = (shard, held.rows, len(held.chunks), held.size, *gauges)
        table.add_row(*(f"{number:,}" for number in numbers), _moment(held.gauges.get("oldest_open_window")))
    return fitted(table, width)


def _moment(micros: int | None) -> str:
    """A time as SQL writes it; one that Python does not have, as a number."""
    if micros is None:
        return ""
    try:
        return (EPOCH + timedelta(microseconds=micros)).strftime("%Y-%m-%d %H:%M:%S.%f").rstrip("0").rstrip(".")
    except OverflowError:
        return f"{micros} µs"
