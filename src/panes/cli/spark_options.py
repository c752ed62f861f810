"""The options of commands that start Spark: the same words as spark-submit's, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from panes.cli.script_file import errors
from panes.spark.folders import folder, is_local

Checkpoint = Annotated[
    str, typer.Argument(help="The folder of --checkpoint, or of Spark's checkpointLocation: a path or a URI.")
]
Conf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark, as for spark-submit; may be repeated."),
]
Packages = Annotated[
    str | None, typer.Option("--packages", help="Comma-separated Maven coordinates of jars that Spark needs.")
]
Master = Annotated[
    str | None,
    typer.Option("--master", help="Where Spark runs: local[4], spark://…, yarn; by default, on this machine."),
]
Remote = Annotated[str | None, typer.Option("--remote", help="The address of a Spark Connect server: sc://….")]


def settings_of(conf: Sequence[str] | None, master: str | None = None, remote: str | None = None) -> dict[str, str]:
    """Settings for a session, by name; a later one of the same name wins.

    >>> settings_of(["spark.ui.port=4050", "spark.x=a=b"], master="local[1]")
    {'spark.ui.port': '4050', 'spark.x': 'a=b', 'spark.master': 'local[1]'}
    """
    found: dict[str, str] = {}
    for one in conf or ():
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"{one} is not NAME=VALUE", param_hint="--conf")
        found[name.strip()] = value.strip()
    if master is not None and remote is not None:
        raise typer.BadParameter("a session has a --master or is --remote, not both")
    named = {"spark.master": master, "spark.remote": remote}
    return found | {name: value for name, value in named.items() if value is not None}


def packages_of(packages: str | None) -> list[str]:
    """The coordinates of --packages.

    >>> packages_of("a:b:1, c:d:2"), packages_of(None)
    (['a:b:1', 'c:d:2'], [])
    """
    return [one.strip() for one in (packages or "").split(",") if one.strip()]


def check_folder(checkpoint: str) -> None:
    """Refuse a folder of this machine that is not there; what is elsewhere, Spark has to say."""
    if is_local(checkpoint) and not Path(folder(checkpoint)).is_dir():
        errors.print(f"there is no folder {checkpoint}")
        raise typer.Exit(1)
