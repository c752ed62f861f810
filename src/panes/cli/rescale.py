"""`panes rescale`: spread the state of a checkpoint over another number of partitions."""

from __future__ import annotations

from typing import Annotated

import typer

from panes.cli.script_file import console, reported_errors
from panes.cli.spark_options import Checkpoint, Conf, Packages, check_folder, packages_of, settings_of
from panes.spark.installed import check_spark


def rescale(
    checkpoint: Checkpoint,
    partitions: Annotated[int, typer.Option(min=1, help="The new number of partitions, at most that of the shards.")],
    sink: Annotated[
        str | None,
        typer.Option(help="The folder of files that a writeStream of your own writes: its log needs an entry."),
    ] = None,
    conf: Conf = None,
    packages: Packages = None,
) -> None:
    """Spread the state of a checkpoint over another number of partitions, while no query runs on it.

    [bold]Example[/bold]: panes rescale checkpoint --partitions 8
    """
    check_folder(checkpoint)
    with reported_errors():
        check_spark()
    from panes.spark.rescale import rescale as rescaled
    from panes.spark.session import embedded

    with reported_errors():
        spark = embedded(packages=packages_of(packages), settings=settings_of(conf))
        for one in rescaled(checkpoint, partitions, spark, sink):
            query = f"{one.query}: " if one.query else ""
            console.print(f"{query}{one.before} → {one.after} partitions")
