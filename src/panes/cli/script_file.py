"""What the commands share: a script from a file or standard input, errors as text, tables."""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from panes.cli.output.failure_text import in_short
from panes.cli.output.tables import listing_table, width_of
from panes.errors import PanesError
from panes.explain import PlanText
from panes.script import Listing
from panes.source import Source
from panes.sql.variables import Script, with_variables

console = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)  # text is shown as it is
errors = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)

File = Annotated[Path, typer.Argument(help="A script of SQL statements; - reads standard input.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="The value of ${NAME} in the script; may be repeated."),
]
UTF_8 = "utf-8-sig"  # with or without a byte order mark
NAME = re.compile(r"[A-Za-z_]\w*")


def load_script(file: Path, assignments: Sequence[str] | None = None) -> Script:
    """A script with its variables replaced."""
    values = variables_of(assignments)
    with reported_errors():
        return with_variables(Source(read_script(file), str(file)), values)


def variables_of(assignments: Sequence[str] | None) -> dict[str, str]:
    """The values of --set; a later one of the same name wins.

    >>> variables_of(["shop=north", "where=a = 'b'"])
    {'shop': 'north', 'where': "a = 'b'"}
    """
    found: dict[str, str] = {}
    for one in assignments or ():
        name, equals, value = one.partition("=")
        if not equals or NAME.fullmatch(name.strip()) is None:
            raise typer.BadParameter(f"{one} is not NAME=VALUE", param_hint="--set")
        found[name.strip()] = value
    return found


def read_script(file: Path) -> str:
    """The text of a script; `-` is standard input."""
    if str(file) == "-":
        return "".join(standard_input())
    with _readable(str(file)):
        return file.read_text(encoding=UTF_8)


def standard_input() -> Iterator[str]:
    """Its lines, as they come."""
    decode = codecs.getincrementaldecoder(UTF_8)().decode
    with _readable("standard input"):
        for line in sys.stdin.buffer:
            yield decode(line).replace("\r\n", "\n")  # as in a file
        yield decode(b"", final=True)


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """What cannot be read is told, with exit code 2."""
    try:
        yield
    except OSError as error:
        problem = error.strerror
    except UnicodeDecodeError:
        problem = "it is not UTF-8 text"
    else:
        return
    errors.print(f"cannot read {name}: {problem}")
    raise typer.Exit(2)


def print_error(error: Exception) -> None:
    errors.print(in_short(error))


@contextmanager
def reported_errors(
    script: Script | None = None, tell: Callable[[Exception], None] = print_error, debug: bool = False
) -> Iterator[None]:
    """Tell what Panes or Spark finds wrong as it is meant to be read, and leave with exit code 1.

    With `debug` it is raised, with all that Python and Java say of it.
    """
    try:
        yield
    except Exception as error:
        if debug or not (isinstance(error, PanesError) or _of_spark(error)):
            raise
        tell(script.as_written(error) if script is not None else error)
        raise typer.Exit(1) from None


def _of_spark(error: Exception) -> bool:
    """Whether PySpark or its bridge to Java raised it; neither is imported to tell."""
    return type(error).__module__.partition(".")[0] in ("pyspark", "py4j")


def print_plan(text: str) -> None:
    """A plan in lines that fit the terminal, or its JSON."""
    width = width_of(console)
    console.print(text.fitted(width) if isinstance(text, PlanText) and width is not None else text)


def print_listing(listing: Listing) -> None:
    console.print(listing_table(listing.header, listing.rows, width_of(console)))
