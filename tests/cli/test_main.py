"""The commands as a whole: every option is on the page, and help starts nothing."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from panes.cli.main import app
from panes.cli.output.board import QueryState
from panes.cli.output.watch import WHY
from panes.cli.run_file import RunFile

PAGE = (Path(__file__).parents[2] / "docs/reference/command-line.md").read_text(encoding="utf-8")
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
OPTIONS = [
    (name, option)
    for name, command in COMMANDS.items()
    for parameter in command.params
    for option in (*parameter.opts, *parameter.secondary_opts)
    if option.startswith("--") and option != "--help"
]


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_every_option_is_on_the_page(command: str, option: str) -> None:
    section = PAGE.partition(f"\n## panes {command}")[2].partition("\n## ")[0]
    if command == "stop":  # they share a section
        section = PAGE.partition("\n## panes status and panes stop")[2].partition("\n## ")[0]
    assert option in section


def test_every_field_of_status_is_on_the_page() -> None:
    section = PAGE.partition("\n## panes status and panes stop")[2].partition("\n## ")[0]
    named = [field.name for field in fields(RunFile)] + list(QueryState("q", 0.0).document(0.0).keys() - {WHY})
    assert [name for name in named if f"`{name}`" not in section] == []


@pytest.mark.parametrize("command", [["state"], ["rescale", "--partitions", "2"]])
def test_a_checkpoint_that_is_not_there_is_code_1(tmp_path: Path, command: list[str]) -> None:
    done = CliRunner().invoke(app, [*command, str(tmp_path / "nowhere")])
    assert (done.exit_code, done.stderr) == (1, f"there is no folder {tmp_path}/nowhere\n")


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_has_an_example(command: str) -> None:
    assert f"panes {command}" in (COMMANDS[command].help or "")


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_has_help(command: str) -> None:
    done = CliRunner().invoke(app, [command, "--help"])
    assert done.exit_code == 0
    assert f"panes {command}" in PAGE
