"""`panes doctor`: is all there that Panes needs?"""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Column, Table
from rich.text import Text

from panes.cli.checks import Check, Grade, with_spark, without_spark
from panes.cli.java_prints import java_prints_to
from panes.cli.output.tables import fitted, width_of
from panes.cli.run_file import state_folder
from panes.cli.script_file import console
from panes.cli.spark_options import Conf, Master, Packages, Remote, packages_of, settings_of

LOOKS = {Grade.OK: "green", Grade.WARN: "yellow", Grade.FAIL: "bold red"}


def doctor(
    checkpoint: Annotated[
        str | None, typer.Argument(help="A folder for checkpoints: is there room, and may it be written?")
    ] = None,
    no_spark: Annotated[bool, typer.Option("--no-spark", help="Only what can be told without starting Spark.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per check.")] = False,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    packages: Packages = None,
) -> None:
    """Look at Java, Spark, Python workers, connectors, the state store, settings and disks.

    Each line says ok, warn or fail, and how to fix it. The exit code is 1 if something fails.

    [bold]Example[/bold]: panes doctor checkpoint
    """
    settings = settings_of(conf, master, remote)
    found = list(without_spark(checkpoint))
    if not no_spark and all(one.grade is not Grade.FAIL for one in found):
        from pyspark.sql import SparkSession

        from panes.spark.session import embedded

        def start() -> SparkSession:
            log = state_folder() / "doctor.log"
            with java_prints_to(log):
                spark = embedded(packages=packages_of(packages), settings=settings)
            return spark

        found += with_spark(start, checkpoint)
    if as_json:
        for one in found:
            typer.echo(
                json.dumps({"what": one.what, "grade": one.grade.value, "found": one.found, "remedy": one.remedy})
            )
    else:
        console.print(table(found, width_of(console)))
    if any(one.grade is Grade.FAIL for one in found):
        raise typer.Exit(1)


def table(found: list[Check], width: int | None) -> Table:
    shown = Table("", Column("check", no_wrap=True), box=SIMPLE_HEAD, pad_edge=False)
    for name in ("found", "what to do"):
        shown.add_column(name, overflow="fold")
    for one in found:
        shown.add_row(Text(one.grade.value, style=LOOKS[one.grade]), Text(one.what), Text(one.found), Text(one.remedy))
    return fitted(shown, width)
