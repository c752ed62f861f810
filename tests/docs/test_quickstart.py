"""The commands of the quickstart, in an empty folder and in their order, show what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from panes.testing.markdown import blocks_of

pytestmark = pytest.mark.spark
PAGE = (Path(__file__).parents[2] / "docs" / "quickstart.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent
CELLS = re.compile(r"[│┃|](.*)[│┃|]")

Table = tuple[tuple[str, ...], frozenset[tuple[str, ...]]]


def tables_of(text: str) -> Iterator[Table]:
    """Each table of a console: its header, and its rows in whatever order they came.

    >>> list(tables_of("┏━━━┓\\n┃ k ┃\\n┡━━━┩\\n│ a │\\n└───┘"))
    [(('k',), frozenset({('a',)}))]
    """
    rows: list[tuple[str, ...]] = []
    for line in [*map(str.strip, text.splitlines()), ""]:
        if (found := CELLS.fullmatch(line)) is not None:
            rows.append(tuple(cell.strip() for cell in re.split("[│┃|]", found[1])))
        elif rows and not (len(rows) == 1 and line.startswith(("┡", "+-"))):
            yield rows[0], frozenset(rows[1:])
            rows = []


def run(folder: Path, command: str) -> str:
    hidden = ("PYTHONPATH", "PYSPARK_PYTHON")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    program, *arguments = shlex.split(command)
    where = [str(BIN / program), *arguments]
    done = subprocess.run(where, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_what_the_page_shows(tmp_path: Path) -> None:
    folder, seen = tmp_path, 0
    for block in blocks_of(PAGE):
        if block.language == "python" and (name := block.option("file")) is not None:
            (folder / name).write_text(block.text + "\n", encoding="utf-8")
        if block.language != "text":
            continue
        printed = ""
        for command in re.findall(r"^\$ (.*)$", block.text, re.MULTILINE):
            if command.startswith("cd "):
                folder = folder / command.removeprefix("cd ")
            else:
                printed = run(folder, command)
        shown = set(tables_of(block.text))
        assert shown and shown <= set(tables_of(printed)), printed
        seen += len(shown)
    assert seen == 4
    assert folder == tmp_path / "visits"


def test_the_page_explains_the_script_that_init_makes() -> None:
    """The first query without its bounds, and the second as it is."""
    made = (Path(__file__).parents[2] / "src/panes/cli/project/script.sql").read_text(encoding="utf-8")
    made = made.replace(", window_start() AS login, window_end() AS logout", "").replace("\n\n", "\n")
    declared, second = [block.text for block in blocks_of(PAGE) if block.words == ("sql",)][:2]
    assert declared.replace("\n\n", "\n") in made
    assert second in made
