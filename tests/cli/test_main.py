"""The commands as a whole: every option is on the page, and help starts nothing."""

from __future__ import annotations

import re
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
    if option.startswith("-") and option != "--help"
]


def section_of(command: str) -> str:
    heading = {"status": "status and panes stop", "stop": "status and panes stop"}.get(command, command)
    return PAGE.partition(f"\n## panes {heading}\n")[2].partition("\n## ")[0]


def is_named(option: str, text: str) -> bool:
    """Whether it stands there alone: --conf is not --config, and -q not a part of --quiet."""
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_every_option_is_on_the_page(command: str, option: str) -> None:
    assert is_named(option, section_of(command))


def test_the_options_of_all_commands_are_on_the_page() -> None:
    before = PAGE.partition("\n## ")[0]
    options = [option for parameter in typer.main.get_command(app).params for option in parameter.opts]
    assert [option for option in options if not is_named(option, before)] == []


@pytest.mark.parametrize("command", list(COMMANDS))
def test_a_section_names_no_option_that_is_not_there(command: str) -> None:
    """Of its own table; elsewhere it may speak of other commands."""
    table = re.findall(r"^\| option \|.*\n\|---.*\n((?:\|.*\n)+)", section_of(command), re.MULTILINE)
    named = {option for row in "".join(table).splitlines() for option in re.findall(r"`(-[\w-]+)", row.split("|")[1])}
    assert named - {option for name, option in OPTIONS if name == command} == set()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("panes re", {"rescale"}),
        ("panes st", {"state", "status", "stop"}),
        ("panes run --metr", {"--metrics-port", "--metrics-host"}),
        ("panes run --on-error c", {"continue"}),
    ],
)
def test_a_shell_completes_commands_and_options(words: str, expected: set[str]) -> None:
    asked = {"_PANES_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = CliRunner(env=asked).invoke(app, [], prog_name="panes")
    assert set(done.stdout.split()) == expected


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
