"""`panes run` before Spark starts: its options, and what is refused with one clear message."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from panes.cli.main import app
from panes.cli.run import trigger_of
from panes.cli.script_file import variables_of
from panes.cli.signals import Stop
from panes.cli.supervise import with_ui
from panes.engine import Engine

DECLARED = "CREATE STREAM ${name} (a INT); CREATE SINK out WITH (connector = 'noop');"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.sql"
    path.write_text(DECLARED, encoding="utf-8")
    return path


def test_a_script_without_queries_starts_no_spark(script: Path) -> None:
    done = CliRunner().invoke(app, ["run", str(script), "--set", "name=clicks"])
    assert (done.exit_code, done.output) == (0, "stream clicks created\nsink out created\n")


def test_the_same_as_json(script: Path) -> None:
    done = CliRunner().invoke(app, ["run", str(script), "--set", "name=clicks", "--json"])
    assert [json.loads(line)["event"] for line in done.output.splitlines()] == ["statement", "statement", "ended"]


@pytest.mark.parametrize("command", ["run", "check", "explain"])
def test_an_unknown_variable(script: Path, command: str) -> None:
    done = CliRunner().invoke(app, [command, str(script), "--set", "nmae=clicks"])
    assert done.exit_code == 1
    assert "unknown-variable: the variable name is not set" in done.stderr
    assert "^^^^^^^" in done.stderr
    assert "Did you mean nmae?" in done.stderr


@pytest.mark.parametrize("command", ["run", "check", "explain"])
def test_an_error_is_shown_in_what_was_written(script: Path, command: str) -> None:
    script.write_text(f"{DECLARED}\nINSERT INTO out SELECT b FROM ${{name}} WHERE ${{name}}.a > 1;", encoding="utf-8")
    done = CliRunner().invoke(app, [command, str(script), "--set", "name=a_stream_with_a_long_name"])
    assert done.exit_code == 1
    assert "   2 | INSERT INTO out SELECT b FROM ${name} WHERE ${name}.a > 1;\n" in done.stderr
    assert "     |                        ^\n" in done.stderr


def test_a_sink_that_prints_tables_is_refused_with_json(script: Path) -> None:
    """Nobody could read the JSON between them; one that nothing is written to does no harm."""
    declared = DECLARED.replace("noop", "console").replace("${name}", "t")
    script.write_text(declared, encoding="utf-8")
    assert CliRunner().invoke(app, ["run", str(script), "--json"]).exit_code == 0
    script.write_text(f"{declared} INSERT INTO out SELECT a FROM t", encoding="utf-8")
    done = CliRunner().invoke(app, ["run", str(script), "--json"])
    assert done.exit_code == 1
    (line,) = done.output.splitlines()
    assert json.loads(line)["code"] == "stream-options"


def test_a_refusal_as_json(script: Path) -> None:
    done = CliRunner().invoke(app, ["run", str(script), "--json"])
    assert done.exit_code == 1
    refused = json.loads(done.stdout)
    assert (refused["event"], refused["code"], refused["text"]) == ("refused", "unknown-variable", "${name}")
    logged = CliRunner().invoke(app, ["run", str(script), "--log-json"])
    assert json.loads(logged.stderr)["level"] == "error"


@pytest.mark.parametrize("moment", ["before Spark has started", "while it runs"])
def test_ctrl_c_stops_a_run_and_is_no_failure(script: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """Spark has a way of its own with Ctrl-C: it raises KeyboardInterrupt."""

    def ctrl_c() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    def start(*arguments: object) -> None:
        if moment == "before Spark has started":
            ctrl_c()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def run(engine: object, text: str, wanted: object, telling: object, stop: Stop) -> None:
        if moment == "while it runs":
            ctrl_c()
        assert stop.asked()
        assert signal.getsignal(signal.SIGINT) == signal.SIG_DFL  # the second one ends the process

    monkeypatch.setattr("panes.cli.supervise._start", start)
    monkeypatch.setattr("panes.cli.supervise._run", run)
    script.write_text(f"{DECLARED} INSERT INTO out SELECT a FROM ${{name}};", encoding="utf-8")
    done = CliRunner().invoke(app, ["run", str(script), "--set", "name=clicks", "--json"])
    assert done.exit_code == 128 + signal.SIGINT
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"event": "ended", "reason": "stopped"}]


@pytest.mark.parametrize(
    "options",
    [
        ["--set", "name"],
        ["--set", "=x"],
        ["--set", "a b=x"],
        ["--conf", "spark.x"],
        ["--trigger", "often"],
        ["--trigger", "0 seconds"],
        ["--trigger", "500 microseconds"],
        ["--trigger", "10 seconds", "--once"],
        ["--on-error", "ignore"],
        ["--metrics-port", "70000"],
        ["--master", "local[1]", "--remote", "sc://here"],
        ["--rows", "0"],
    ],
)
def test_a_wrong_command_line_is_code_2(script: Path, options: list[str]) -> None:
    done = CliRunner().invoke(app, ["run", str(script), "--set", "name=clicks", *options])
    assert done.exit_code == 2
    assert "Traceback" not in done.output


def test_a_file_that_is_not_there_is_code_2(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["run", str(tmp_path / "nowhere.sql")])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"cannot read {tmp_path}/nowhere.sql: ")


def test_a_port_in_use_is_code_1(script: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = CliRunner().invoke(app, ["run", str(script), "--set", "name=clicks", "--metrics-port", port])
    assert done.exit_code == 1
    assert "Address already in use" in done.stderr


@pytest.mark.parametrize(
    ("trigger", "once", "expected"),
    [
        (None, False, (False, None)),
        (None, True, (True, None)),
        ("available-now", False, (True, None)),
        ("available-now", True, (True, None)),
        ("2 minutes", False, (False, "120 seconds")),
        ("1000 microseconds", False, (False, "1 milliseconds")),
        ("1500 milliseconds", False, (False, "1500 milliseconds")),
    ],
)
def test_triggers(trigger: str | None, once: bool, expected: tuple[bool, str | None]) -> None:
    assert trigger_of(trigger, once) == expected


def test_a_package_that_is_named_is_asked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    started: list[Sequence[str]] = []

    def start(engine: Engine, *others: object) -> None:
        started.append(engine._packages)

    monkeypatch.setattr("panes.cli.supervise._start", start)
    monkeypatch.setattr("panes.cli.supervise._run", lambda *arguments: None)
    kafka = "connector = 'kafka', bootstrap_servers = 'h:9092', topic = 't'"
    script = tmp_path / "script.sql"
    declared = f"CREATE STREAM s (a INT) WITH ({kafka}, format = 'json'); CREATE SINK o WITH ({kafka});"
    script.write_text(f"{declared} INSERT INTO o SELECT a FROM s", encoding="utf-8")
    named = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
    done = CliRunner().invoke(app, ["run", str(script), "--packages", f"a:b:1,{named}"])
    assert done.exit_code == 0
    assert started == [("a:b:1", named)]


def test_a_value_may_hold_anything() -> None:
    assert variables_of(["a=b=c", "empty=", "a=d e"]) == {"a": "d e", "empty": ""}
    with pytest.raises(typer.BadParameter):
        variables_of(["1a=x"])


def test_the_ui_of_a_local_spark_is_seen_from_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    assert with_ui({"spark.remote": "sc://here"}) == {"spark.remote": "sc://here"}
    assert with_ui({"spark.ui.enabled": "false"})["spark.ui.enabled"] == "false"
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    assert with_ui({"spark.master": "yarn"})["spark.ui.enabled"] == "true"
    assert "SPARK_LOCAL_IP" not in os.environ
    with_ui({})
    assert os.environ["SPARK_LOCAL_IP"] == "127.0.0.1"
