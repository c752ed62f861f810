"""Runs that others can see: `panes status` and `panes stop` with processes that say that they run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from panes.cli.main import app
from panes.cli.run_file import announced, running, runs_on

from .reports import report

RUN = """
import sys
from panes.cli.run_file import announced
from panes.cli.signals import Stop
from panes.spark.report import Report

with Stop() as stop, announced("orders.sql", sys.argv[1]) as file:
    file.started(["totals"], None)
    file.batch(Report("totals", 7, 0.5, {"rows_in": 12_345, "open_windows": 3, "late_rows": 2}, backlog=99))
    file.write()
    print("up", flush=True)
    while not (stop.asked() and sys.argv[2] == "obeys"):
        __import__("time").sleep(0.02)
"""


@contextmanager
def process(checkpoint: Path, manner: str = "obeys") -> Iterator[subprocess.Popen[str]]:
    """A process that says that it runs a script on a checkpoint."""
    started = subprocess.Popen([sys.executable, "-c", RUN, str(checkpoint), manner], stdout=subprocess.PIPE, text=True)
    try:
        assert started.stdout is not None
        assert started.stdout.readline() == "up\n"
        yield started
    finally:
        started.kill()
        started.wait()
        assert started.stdout is not None
        started.stdout.close()


def test_a_run_is_seen_while_it_runs(tmp_path: Path) -> None:
    with announced("a.sql", str(tmp_path / "x"), clock=lambda: 5.0) as file:
        file.batch(report(rows_in=3))
        file.write()
        (run,) = running()
        assert (run.script, run.began, run.checkpoint) == ("a.sql", 5.0, str(tmp_path / "x"))
        assert run.queries[0]["rows_in"] == 3
        assert runs_on(f"{tmp_path}/y/../x/") == [run]  # however it is spelled
        assert runs_on(str(tmp_path / "y")) == []
    assert running() == []


def test_a_failure_is_written_at_once(tmp_path: Path) -> None:
    with announced("a.sql", None) as file:
        file.failed("out", RuntimeError("no disk"))
        assert running()[0].queries[0]["error"] == "no disk"


def test_what_a_killed_run_left_is_removed(tmp_path: Path, state_home: Path) -> None:
    with process(tmp_path / "x") as started:
        assert len(running()) == 1
        started.kill()
        started.wait()
        assert list(state_home.rglob("*.json")) != []
        assert running() == []
        assert list(state_home.rglob("*.*")) == []


def test_without_a_home_it_is_among_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file" / "below"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with announced("a.sql", None):
        assert [one.script for one in running()] == ["a.sql"]
        assert len(list(tmp_path.glob("panes-*/runs/*.json"))) == 1


def test_a_file_that_cannot_be_written_stops_nothing(tmp_path: Path, state_home: Path) -> None:
    with announced("a.sql", None) as file:
        shutil.rmtree(state_home)
        file.failed("out", RuntimeError("no disk"))
    assert running() == []


def test_status(tmp_path: Path) -> None:
    wide = CliRunner(env={"COLUMNS": "200"})
    assert wide.invoke(app, ["status"]).exit_code == 0
    assert wide.invoke(app, ["status", str(tmp_path)]).exit_code == 1
    with process(tmp_path / "x") as started:
        for arguments in (["status"], ["status", str(tmp_path / "x")]):
            done = wide.invoke(app, arguments)
            assert done.exit_code == 0
            assert f"process {started.pid}" in done.output
            assert "12,345" in done.output
        told = json.loads(wide.invoke(app, ["status", "--json"]).output)
        assert (told["pid"], told["queries"][0]["backlog"]) == (started.pid, 99)


@pytest.mark.parametrize("named", ["checkpoint", "process"])
def test_stop(tmp_path: Path, named: str) -> None:
    with process(tmp_path / "x") as started, process(tmp_path / "y") as other:
        done = CliRunner().invoke(app, ["stop", str(tmp_path / "x") if named == "checkpoint" else str(started.pid)])
        assert (done.exit_code, done.output) == (0, "stopped orders.sql\n")
        assert started.wait() == 0
        assert other.poll() is None


def test_a_run_that_does_not_stop_is_told(tmp_path: Path) -> None:
    with process(tmp_path / "x", "does not obey") as started:
        done = CliRunner().invoke(app, ["stop", str(tmp_path / "x"), "--timeout", "0.1"])
        assert done.exit_code == 1
        assert f"running still: process {started.pid}" in done.output


def test_there_is_nothing_to_stop(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["stop", str(tmp_path)])
    assert done.exit_code == 1
    assert "nothing runs" in done.output
