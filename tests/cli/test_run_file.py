"""Runs that others can see: `panes status` and `panes stop` with processes that say that they run."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from typer.testing import CliRunner

from panes.cli import run_file
from panes.cli.main import app
from panes.cli.run_file import RunFile, announced, running, runs_on, state_folder

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


def test_a_run_whose_lock_is_removed_before_it_holds_it(
    tmp_path: Path, state_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`panes status` clears away what a run with the same process id has left."""
    (state_home / "panes" / "runs").mkdir(parents=True)
    (state_home / "panes" / "runs" / f"{socket.gethostname()}-{os.getpid()}.json").write_text("{}")
    seen: list[list[RunFile]] = []

    def look_first(file: IO[str], how: int) -> None:
        if how == fcntl.LOCK_EX and not seen:
            seen.append([])
            seen.append(running())
        fcntl.flock(file, how)

    monkeypatch.setattr("panes.cli.run_file.flock", look_first)
    with announced("a.sql", None):
        assert seen == [[], []]
        assert [one.script for one in running()] == ["a.sql"]
        assert [one.script for one in running()] == ["a.sql"]
    assert list(state_home.rglob("*.*")) == []


def test_no_run_begins_while_what_is_left_is_removed(state_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lock is held for that long: a run that begins waits, and finds that it needs a new one."""
    runs = state_home / "panes" / "runs"
    runs.mkdir(parents=True)
    (runs / f"{socket.gethostname()}-1.json").write_text("{}")
    (runs / f"{socket.gethostname()}-1.lock").touch()
    remove, held = run_file._remove, []

    def look(path: Path) -> None:
        with path.with_suffix(".lock").open() as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held.append(path)
        remove(path)

    monkeypatch.setattr(run_file, "_remove", look)
    assert running() == []
    assert len(held) == 1
    assert list(runs.iterdir()) == []


def test_without_a_home_it_is_among_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file" / "below"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with announced("a.sql", None):
        assert [one.script for one in running()] == ["a.sql"]
        assert len(list(tmp_path.glob("panes-*/runs/*.json"))) == 1


def no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file" / "below"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_what_others_made_among_temporary_files_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_home(tmp_path, monkeypatch)
    made = tmp_path / f"panes-{os.getuid()}"
    made.mkdir()
    monkeypatch.setattr(os, "getuid", lambda: made.stat().st_uid + 1)
    (tmp_path / f"panes-{os.getuid()}").mkdir()
    with pytest.raises(OSError, match="not a folder of yours"):
        state_folder()


def test_a_link_among_temporary_files_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_home(tmp_path, monkeypatch)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"panes-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="not a folder of yours"):
        state_folder()


def test_the_folder_is_the_users_alone(tmp_path: Path, state_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert state_folder().stat().st_mode & 0o777 == 0o700
    state_folder().chmod(0o755)  # as it was made once
    assert state_folder().stat().st_mode & 0o777 == 0o700
    no_home(tmp_path, monkeypatch)
    assert state_folder().stat().st_mode & 0o777 == 0o700


def file_for_a_folder(state_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (state_home / "panes").mkdir()
    (state_home / "panes" / "runs").touch()


def no_permission(state_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *arguments: object, **more: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("panes.cli.run_file.runs_folder", lambda: refuse(state_home))


def no_locks(state_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: object, how: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("panes.cli.run_file.flock", refuse)


@pytest.mark.parametrize("trouble", [file_for_a_folder, no_permission, no_locks])
def test_a_run_that_cannot_be_announced_runs(
    trouble: Callable[[Path, pytest.MonkeyPatch], None],
    state_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trouble(state_home, monkeypatch)
    with announced("a.sql", None) as file:
        file.batch(report(rows_in=3))
        file.write()
        file.log.write_text("what Java prints")
        assert running() == []
    assert "panes status will not show this run" in capsys.readouterr().err
    assert not file.log.exists()


def test_an_error_of_the_run_is_none_of_its_file(state_home: Path) -> None:
    with pytest.raises(OSError, match="no disk"), announced("a.sql", None):
        raise OSError("no disk")


@pytest.mark.parametrize("content", ['{"pid": 1, "colour": "red"}', '{"pid": 1}', "[]", "1", "", '{"pid"', b"\xff"])
def test_a_file_of_another_version_is_passed_over(content: str | bytes, state_home: Path, tmp_path: Path) -> None:
    with announced("a.sql", None), process(tmp_path / "x") as other:
        (path,) = state_home.rglob(f"*-{other.pid}.json")
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        assert [one.script for one in running()] == ["a.sql"]
        assert CliRunner().invoke(app, ["status"]).exit_code == 0


def test_a_later_version_may_say_more(state_home: Path) -> None:
    with announced("a.sql", None):
        (path,) = state_home.rglob("*.json")
        path.write_text(json.dumps({**json.loads(path.read_text()), "colour": "red"}))
        assert [one.script for one in running()] == ["a.sql"]


def test_a_machine_whose_name_begins_as_ours(state_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "web-2")
    with announced("a.sql", None):
        monkeypatch.setattr(socket, "gethostname", lambda: "web")
        assert running() == []
        monkeypatch.setattr(socket, "gethostname", lambda: "web-[2]")
        assert running() == []
        monkeypatch.setattr(socket, "gethostname", lambda: "web-2")
        assert len(running()) == 1


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


@pytest.mark.parametrize(("waited", "rate", "ago"), [(5.0, 10.0, "5.0 s ago"), (3720.0, 0.0, "1 h 2 min ago")])
def test_a_run_that_has_not_read_for_a_while(
    waited: float, rate: float, ago: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file is written with micro-batches only, so that it still says what the rate was then."""
    wide = CliRunner(env={"COLUMNS": "200"})
    with announced("a.sql", None, clock=lambda: 1000.0) as file:
        file.started(["out", "idle"], None)
        file.batch(report(rows_in=10))
        file.write()
        monkeypatch.setattr(time, "time", lambda: 1000.0 + waited)
        told = json.loads(wide.invoke(app, ["status", "--json"]).output)["queries"]
        assert [(one["rows_in_per_second"], one["last_batch_at"]) for one in told] == [(rate, 1000.0), (0.0, None)]
        shown = wide.invoke(app, ["status"]).output
        assert ago in shown.partition("idle")[0].partition("\n")[2]


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
        assert f"process {started.pid}" in done.output


def test_a_run_that_has_just_ended_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    send = os.kill
    with process(tmp_path / "x") as started, monkeypatch.context() as patched:

        def kill(pid: int, number: int) -> None:
            send(pid, signal.SIGKILL)
            started.wait()
            raise ProcessLookupError

        patched.setattr(os, "kill", kill)
        done = CliRunner().invoke(app, ["stop", str(tmp_path / "x")])
        assert (done.exit_code, done.output) == (0, "stopped orders.sql\n")


def test_a_run_of_another_user_is_told_and_the_others_are_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = os.kill
    with process(tmp_path / "x") as theirs, process(tmp_path / "x") as ours, monkeypatch.context() as patched:

        def kill(pid: int, number: int) -> None:
            if pid == theirs.pid:
                raise PermissionError
            send(pid, number)

        patched.setattr(os, "kill", kill)
        done = CliRunner().invoke(app, ["stop", str(tmp_path / "x")])
        assert done.exit_code == 1
        assert done.stdout == "stopped orders.sql\n"
        assert f"process {theirs.pid} " in done.stderr
        assert "Traceback" not in done.output
        assert ours.wait() == 0
        assert theirs.poll() is None


def test_there_is_nothing_to_stop(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["stop", str(tmp_path)])
    assert done.exit_code == 1
    assert "nothing is running" in done.output
