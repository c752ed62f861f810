"""The commands as a whole: every option is on the page, and help starts nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from panes.cli.main import app

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


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_has_help(command: str) -> None:
    done = CliRunner().invoke(app, [command, "--help"])
    assert done.exit_code == 0
    assert f"panes {command}" in PAGE
