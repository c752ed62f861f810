"""Runs that others can see: each has a file in the user's state folder, locked while it runs.

~/.local/state/panes/runs/HOST-PID.json     script, checkpoint, and what each query did last
~/.local/state/panes/runs/HOST-PID.lock     held by the run; one that nobody holds is of a run that was killed
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from panes.cli.output.board import Board
from panes.cli.output.failure_text import in_short
from panes.spark.folders import folder
from panes.spark.report import Report

if sys.platform != "win32":
    from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock

OFTEN = 1.0  # seconds between two writings of a file


@dataclass(frozen=True)
class RunFile:
    """A run as others see it; times are seconds since 1970."""

    pid: int
    host: str
    script: str
    checkpoint: str | None
    began: float
    written: float
    ui: str | None = None
    queries: list[dict[str, Any]] = field(default_factory=list)


def state_folder() -> Path:
    """Where Panes keeps what belongs to the user and to no checkpoint; without a home, among temporary files."""
    given = os.environ.get("XDG_STATE_HOME")
    try:
        found = (Path(given) if given else Path.home() / ".local" / "state") / "panes"
        found.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        found = Path(tempfile.gettempdir()) / f"panes-{os.getuid() if sys.platform != 'win32' else 'user'}"
        found.mkdir(mode=0o700, exist_ok=True)
    return found


class Writer:
    """Keeps the file of a run up to date."""

    def __init__(self, path: Path, run: RunFile, clock: Callable[[], float]) -> None:
        self._path, self._run, self._clock = path, run, clock
        self.board = Board()
        self.log = path.with_suffix(".log")
        self.write()

    def started(self, queries: list[str], ui: str | None) -> None:
        for name in queries:
            self.board.query(name, self._clock())
        self._run = replace(self._run, ui=ui)
        self.write()

    def batch(self, report: Report) -> None:
        now = self._clock()
        self.board.batch(report, now)
        if now - self._run.written >= OFTEN:
            self.write()

    def failed(self, query: str, error: Exception) -> None:
        self.board.failed(query, in_short(error), self._clock())
        self.write()

    def write(self) -> None:
        now = self._clock()
        self._run = replace(self._run, written=now, queries=self.board.document(now))
        hidden = self._path.with_suffix(".new")
        with suppress(OSError):  # a full disk: no pipeline stops for this file
            hidden.write_text(json.dumps(asdict(self._run)), encoding="utf-8")
            hidden.replace(self._path)


@contextmanager
def announced(script: str, checkpoint: str | None, clock: Callable[[], float] = time.time) -> Iterator[Writer]:
    """The file of this process's run, there until the end of the block."""
    runs = state_folder() / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    host, pid = socket.gethostname(), os.getpid()
    path = runs / f"{host}-{pid}.json"
    where = folder(checkpoint) if checkpoint is not None else None
    with path.with_suffix(".lock").open("w") as lock:
        if sys.platform != "win32":
            flock(lock, LOCK_EX)
        try:
            yield Writer(path, RunFile(pid, host, script, where, clock(), clock()), clock)
        finally:
            _remove(path)


def running() -> list[RunFile]:
    """The runs of this user on this machine; what a killed one left is removed."""
    found: list[RunFile] = []
    for path in sorted((state_folder() / "runs").glob(f"{socket.gethostname()}-*.json")):
        if not _is_held(path.with_suffix(".lock")):
            _remove(path)
            continue
        try:
            found.append(RunFile(**json.loads(path.read_text(encoding="utf-8"))))
        except FileNotFoundError:  # it has ended since
            continue
    return sorted(found, key=lambda one: one.began)


def runs_on(checkpoint: str | None) -> list[RunFile]:
    """Those on one checkpoint, or all."""
    return [one for one in running() if checkpoint is None or one.checkpoint == folder(checkpoint)]


def _is_held(lock: Path) -> bool:
    if sys.platform == "win32":
        return lock.exists()
    try:
        with lock.open() as file:
            flock(file, LOCK_SH | LOCK_NB)
            flock(file, LOCK_UN)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def _remove(path: Path) -> None:
    for suffix in (".json", ".lock", ".log", ".new"):
        path.with_suffix(suffix).unlink(missing_ok=True)
