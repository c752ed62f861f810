"""`panes init`: a small project that runs as it is."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from panes.cli.script_file import console, errors


def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make.")]) -> None:
    """Make a folder with a script, some data and a README. What is there already is not overwritten.

    [bold]Example[/bold]: panes init visits && cd visits && panes run script.sql --flush
    """
    try:
        made = make_project(folder)
    except OSError as error:
        errors.print(f"cannot make {folder}: {error.strerror}")
        raise typer.Exit(1) from None
    if not made:
        errors.print(f"{folder} has files already: choose a folder that is new or empty")
        raise typer.Exit(1)
    for path in made:
        console.print(str(path))
    console.print(f"\ncd {folder}\npanes run script.sql --flush")


def make_project(folder: Path) -> list[Path]:
    """The files that were made; none if the folder has some."""
    if folder.is_dir() and any(folder.iterdir()):
        return []
    made: list[Path] = []
    for name, text in _template(files("panes.cli").joinpath("project")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        made.append(path)
    return made


def _template(at: Traversable, below: str = "") -> Iterator[tuple[str, str]]:
    for one in sorted(at.iterdir(), key=lambda one: one.name):
        name = f"{below}{one.name}"
        if one.is_dir():
            yield from _template(one, f"{name}/")
        else:
            yield name, one.read_text(encoding="utf-8")
