"""Runs that others can see: each has a file in the user's state folder, locked while it runs.

~/.local/state/panes/runs/HOST-PID.json     script, checkpoint, and what each query did last
~/.local/state/panes/runs/HOST-PID.lock     held by the run; one that nobody holds is of a run that was killed
"""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import IO, Any

from panes.cli.output.board import Board, QueryState
from panes.cli.output.failure_text import in_short
from panes.cli.output.watch import WHY
from panes.cli.script_file import errors
from panes.spark.folders import folder
from panes.spark.report import Report
from panes.why.plan import QueryPlan

if sys.platform != "win32":
    from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock

OFTEN = 1.0  # seconds between two writings of a file
PRIVATE = 0o700
QUERY_FIELDS = QueryState("", 0).document(0).keys() - {WHY}


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
        found.mkdir(PRIVATE, parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        found = _temporary_folder()
    with suppress(OSError):  # one that was there before
        found.chmod(PRIVATE)
    return found


def _temporary_folder() -> Path:
    """One that belongs to this user: anybody may make a folder of this name first."""
    if sys.platform == "win32":
        found = Path(tempfile.gettempdir()) / "panes-user"
        found.mkdir(exist_ok=True)
        return found
    found = Path(tempfile.gettempdir()) / f"panes-{os.getuid()}"
    found.mkdir(PRIVATE, exist_ok=True)
    status = found.lstat()  # a link is followed nowhere
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise PermissionError(f"{found} is not a folder of yours")
    return found


def runs_folder() -> Path:
    found = state_folder() / "runs"
    found.mkdir(exist_ok=True)
    return found


class Writer:
    """Keeps the file of a run up to date."""

    def __init__(self, path: Path, run: RunFile, clock: Callable[[], float]) -> None:
        self._path, self._run, self._clock = path, run, clock
        self.board = Board()
        self.log = path.with_suffix(".log")
        self._behind = False
        self.write()

    def started(self, queries: list[str], ui: str | None) -> None:
        for name in queries:
            self.board.query(name, self._clock())
        self._run = replace(self._run, ui=ui)
        self.write()

    def plans(self, plans: Mapping[str, QueryPlan]) -> None:
        self.board.plans(plans, self._clock())

    def batch(self, report: Report) -> None:
        self.board.batch(report, self._clock())
        self._behind = True
        self.catch_up()

    def catch_up(self) -> None:
        """Write what has been left out because the last writing was too short a time ago."""
        if self._behind and self._clock() - self._run.written >= OFTEN:
            self.write()

    def failed(self, query: str, error: Exception) -> None:
        self.board.failed(query, in_short(error), self._clock())
        self.write()

    def write(self) -> None:
        now = self._clock()
        self._behind = False
        self._run = replace(self._run, written=now, queries=self.board.document(now))
        hidden = self._path.with_suffix(".new")
        with suppress(OSError):  # a full disk: no pipeline stops for this file
            hidden.write_text(json.dumps(asdict(self._run)), encoding="utf-8")
            hidden.replace(self._path)


def print_warning(message: str) -> None:
    errors.print(message, markup=False)


@contextmanager
def announced(
    script: str,
    checkpoint: str | None,
    clock: Callable[[], float] = time.time,
    warn: Callable[[str], None] = print_warning,
) -> Iterator[Writer]:
    """The file of this process's run, there until the end of the block; if nobody can see it, that is no error."""
    where = folder(checkpoint) if checkpoint is not None else None
    run = RunFile(os.getpid(), socket.gethostname(), script, where, clock(), clock())
    with ExitStack() as stack:
        try:
            path = stack.enter_context(_held_file(run))
        except OSError as error:
            warn(f"panes status will not show this run: {error}")
            path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="panes-run-"))) / "run.json"
        yield Writer(path, run, clock)


@contextmanager
def _held_file(run: RunFile) -> Iterator[Path]:
    path = runs_folder() / f"{run.host}-{run.pid}.json"
    with _own_lock(path.with_suffix(".lock")):
        try:
            yield path
        finally:
            _remove(path)


def _own_lock(path: Path) -> IO[str]:
    """A lock that is held until it is closed; the file may be removed while it is waited for, see `_has_ended`."""
    while True:
        lock = path.open("w")
        if sys.platform == "win32":
            return lock
        try:
            flock(lock, LOCK_EX)
        except OSError:
            lock.close()
            _remove(path)
            raise
        if _is_at(lock, path):
            return lock
        lock.close()


def _is_at(file: IO[str], path: Path) -> bool:
    """Whether an open file is the one that is found there now."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    return False


def running() -> list[RunFile]:
    """The runs of this user on this machine; what a killed one left is removed."""
    ours = re.compile(rf"{re.escape(socket.gethostname())}-\d+\.json")
    found: list[RunFile] = []
    try:
        paths = [path for path in runs_folder().iterdir() if ours.fullmatch(path.name)]
    except OSError:  # no run can be seen there
        return found
    for path in paths:
        try:
            if not _has_ended(path):
                found.append(_run_of(path.read_text(encoding="utf-8")))
        except (OSError, ValueError):  # it has ended since, or is of another version of Panes
            continue
    return sorted(found, key=lambda one: one.began)


def _run_of(text: str) -> RunFile:
    """A run as it was written; a later version of Panes may say more, and is understood, but not less."""
    told = json.loads(text)
    try:
        known = {one.name: told[one.name] for one in fields(RunFile)}
        complete = isinstance(known["pid"], int) and all(one.keys() >= QUERY_FIELDS for one in known["queries"])
    except (KeyError, TypeError, AttributeError):
        complete = False
    if not complete:
        raise ValueError("this is not the file of a run")
    return RunFile(**known)


def runs_on(checkpoint: str | None) -> list[RunFile]:
    """Those on one checkpoint, or all."""
    return [one for one in running() if checkpoint is None or one.checkpoint == folder(checkpoint)]


def _has_ended(path: Path) -> bool:
    """Whether nobody holds the lock of a run; then what it left is removed, while no other run can take the lock."""
    lock = path.with_suffix(".lock")
    if sys.platform == "win32":
        return not lock.exists()
    with lock.open("a") as file:
        try:
            flock(file, LOCK_SH | LOCK_NB)  # others may look at the same time
        except BlockingIOError:
            return False
        with suppress(BlockingIOError):  # one of them removes it
            flock(file, LOCK_EX | LOCK_NB)
            if _is_at(file, lock):
                _remove(path)
    return True


def _remove(path: Path) -> None:
    for suffix in (".json", ".lock", ".log", ".new"):
        with suppress(OSError):
            path.with_suffix(suffix).unlink(missing_ok=True)
