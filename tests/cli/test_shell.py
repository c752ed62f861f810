"""The shell without Spark: lines to statements, backslashes, completion."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
import typer
from present import present
from typer.testing import CliRunner

from panes.catalog import Catalog
from panes.cli.main import app
from panes.cli.output.lines import Lines
from panes.cli.run_file import announced
from panes.cli.shell import FIRST, MORE, Session, history_file, piped, typed
from panes.cli.shell_text import completions, known_words, needs_spark
from panes.engine import Engine
from panes.errors import PanesError
from panes.functions import Functions
from panes.script import steps

STREAM = "CREATE STREAM clicks (user_id STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 SECOND);"


@pytest.mark.parametrize(
    ("lines", "texts"),
    [
        (["SELECT 1;\n"], ["SELECT 1;\n"]),
        (["SELECT\n", "1\n", ";\n", "\\d\n"], ["SELECT\n1\n;\n", "\\d\n"]),
        (["SELECT ';\n", "';\n"], ["SELECT ';\n';\n"]),
        (["/* a;\n", "*/ SELECT 1;\n"], ["/* a;\n*/ SELECT 1;\n"]),
        (["SELECT 1"], ["SELECT 1"]),
        (["\n", "\n"], []),
    ],
)
def test_statements_end_with_a_semicolon(lines: list[str], texts: list[str]) -> None:
    assert list(piped(lines)) == texts


def answers(said: list[str | type[BaseException]], prompts: list[str]) -> Callable[[str], str]:
    turns: Iterator[str | type[BaseException]] = iter(said)

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        turn = next(turns)
        if isinstance(turn, str):
            return turn
        raise turn

    return ask


def test_ctrl_c_forgets_what_was_typed_and_ctrl_d_ends() -> None:
    prompts: list[str] = []
    said: list[str | type[BaseException]] = ["SELECT 'oh", KeyboardInterrupt, "", "SELECT", "1;", "\\d", EOFError]
    assert list(typed(answers(said, prompts))) == ["SELECT\n1;\n", "\\d\n"]
    assert prompts == [FIRST, MORE, FIRST, FIRST, MORE, FIRST, FIRST]


def shell(text: str) -> tuple[int, str, str]:
    done = CliRunner(env={"COLUMNS": "100"}).invoke(app, ["shell"], input=text)
    return done.exit_code, done.stdout, done.stderr


def test_what_is_declared_stays() -> None:
    code, out, _ = shell(f"{STREAM}\n\\d\n\\d clicks\nEXPLAIN SELECT user_id\nFROM clicks;\n")
    assert code == 0
    assert "stream clicks created" in out
    assert "user_id string, ts timestamp" in out
    assert "ts - 1 s" in out
    assert "DataSource" in out


def test_an_error_is_told_and_the_next_statement_runs() -> None:
    code, out, err = shell(f"{STREAM}\nSELECT nosuch FROM clicks;\n\\x\n\\?\n\\d\n")
    assert code == 1
    assert "unknown-column" in err
    assert "unknown command \\x; \\? lists the commands\n" in err
    assert "stream clicks created" in out
    assert "leave" in out


def test_nothing_is_done_after_leaving() -> None:
    code, out, _ = shell(f"\\q\n{STREAM}\n")
    assert (code, out) == (0, "")


def test_what_is_typed_is_for_nobody_else_to_read(state_home: Path) -> None:
    path = present(history_file())
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("+SELECT 1")
    path.chmod(0o644)  # as it was made once
    assert present(history_file()).stat().st_mode & 0o777 == 0o600
    assert path.read_text() == "+SELECT 1"


def test_a_history_that_cannot_be_kept(state_home: Path) -> None:
    (state_home / "panes" / "history").mkdir(parents=True)
    assert history_file() is None


class Interrupted:
    """An engine whose first run is interrupted; it may fail of that, too."""

    def __init__(self, number: signal.Signals, error: Exception | None) -> None:
        self.number, self.error = number, error
        self.statements: list[str] = []

    def run(self, statement: str, **how: object) -> None:
        self.statements.append(statement)
        if len(self.statements) == 1:
            os.kill(os.getpid(), self.number)
            if self.error is not None:
                raise self.error


@pytest.mark.parametrize("error", [None, PanesError("store-failed", "no disk")])
@pytest.mark.parametrize(
    ("number", "interactive", "goes_on"),
    [
        (signal.SIGINT, True, True),
        (signal.SIGINT, False, False),
        (signal.SIGTERM, True, False),
        (signal.SIGTERM, False, False),
    ],
)
def test_a_signal_ends_all_but_a_prompt(
    number: signal.Signals, interactive: bool, goes_on: bool, error: Exception | None
) -> None:
    engine = Interrupted(number, error)
    with announced("shell", None) as file:
        session = Session(cast("Engine", engine), Lines(), file, flush=True, debug=False, interactive=interactive)
        if goes_on:
            assert session.answer_all(["SHOW SINKS;", "SHOW VIEWS;"]) is (error is None)
            assert engine.statements == ["SHOW SINKS;", "SHOW VIEWS;"]
            return
        with pytest.raises(typer.Exit) as caught:
            session.answer_all(["SHOW SINKS;", "SHOW VIEWS;"])
    assert caught.value.exit_code == 128 + number
    assert engine.statements == ["SHOW SINKS;"]


def test_words_are_completed() -> None:
    catalog, functions = Catalog(), Functions()
    list(steps(f"{STREAM} CREATE SINK board WITH (connector = 'noop')", catalog, functions))
    words = known_words(catalog, functions)

    def after(text: str) -> list[str]:
        return [word for word, _ in completions(text, words)]

    assert after("SELECT use") == ["user_id"]
    assert after("FROM CLI") == ["clicks"]
    assert after("INSERT INTO bo") == ["board", "bool_and", "bool_or"]
    assert after("GROUP BY tum") == ["tumblingwindow"]
    assert "WATERMARK" in after("w")
    assert after("SELECT ") == []


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("SELECT 1;", True),
        ("-- x\nwith a AS (SELECT 1) SELECT * FROM a;", True),
        ("INSERT INTO x SELECT 1;", True),
        (f"{STREAM} SELECT * FROM clicks;", True),
        ("SHOW STREAMS; SHOW SINKS;", False),
        ("SHOW STREAMS;", False),
        (f"{STREAM} SELECT 1;", True),
        ("SHOW STREAMS;; /* x */ (SELECT 1);", True),
        ("CREATE VIEW v AS SELECT 1; EXPLAIN SELECT 1;", False),
        (STREAM, False),
        ("'", False),
        ("", False),
    ],
)
def test_which_statements_need_spark(text: str, needed: bool) -> None:
    assert needs_spark(text) is needed
