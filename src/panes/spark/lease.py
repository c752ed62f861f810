"""Leases: who uses the folders of a store that knows no locks.

Each user writes a file of its own into `panes-lock`, and only then looks who else has one: so of two users at least one
sees the other. It writes to its file again every few seconds. Another user that sees it change is refused; a user whose
file stays as it is for a while is taken for dead, and the file removed. A user whose own file is gone has to stop. No
clocks are compared. Two users that begin at the same moment may both be refused.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from uuid import uuid4

from panes.errors import PanesError
from panes.spark.store import StorePath

BEAT = 5.0  # seconds between two signs of life
SILENT = 30.0  # seconds without one after which a user is dead for others
LOST = 20.0  # seconds without a sign that could be written, after which a user has to stop: well before it is dead
LOOK = 0.5  # seconds between two looks at another one's file


def _now() -> float:
    """Seconds, also those in which the machine sleeps: others count on then."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class _Lease:
    """The files of one user, and the thread that writes to them."""

    def __init__(self, folders: Sequence[StorePath]) -> None:
        name = uuid4().hex
        self.files = [folder / name for folder in folders]
        self.number = 0
        self.written = _now()
        self.problem: str | None = None
        self.released = threading.Event()
        self.thread = threading.Thread(target=self._beat, name="panes-lease", daemon=True)

    def take(self) -> None:
        """Write the files and look for those of others."""
        for file in self.files:
            file.parent.make_folder()
        self._write()
        self.thread.start()
        self._outlive(self._others())

    def check(self) -> None:
        """Fail if another one may be using the folders by now."""
        if self._is_lost():
            assert self.problem is not None
            hint = "This run has stopped, so that no two run on one checkpoint. Start it again."
            raise PanesError("checkpoint-in-use", self.problem, None, hint)

    def release(self) -> None:
        """Remove the files; those that stay are removed by the next user, a little later."""
        self.released.set()
        if self.thread.is_alive():
            self.thread.join(LOST)  # a store that hangs does not keep a run from ending
        for file in self.files:
            with suppress(PanesError):
                file.remove()

    def _others(self) -> dict[str, tuple[StorePath, str]]:
        """The files of others, and what is in them."""
        found: dict[str, tuple[StorePath, str]] = {}
        for own in self.files:
            for name in own.parent.names():
                text = _text(own.parent / name) if name != own.name else None
                if text is not None:
                    found[str(own.parent / name)] = own.parent / name, text
        return found

    def _outlive(self, others: dict[str, tuple[StorePath, str]]) -> None:
        """Wait until all others are gone, or silent for so long that they are dead."""
        until = _now() + SILENT
        while others and _now() < until:
            time.sleep(LOOK)
            for key, (file, before) in list(others.items()):
                now = _text(file)
                if now is None:
                    del others[key]
                elif now != before:
                    text = f"a query is running on {file.parent.parent}{_who(now) or _who(before)}"
                    raise PanesError("checkpoint-in-use", text, None, "Stop it first.")
        for file, _ in others.values():
            file.remove()
        self.check()

    def _is_lost(self) -> bool:
        """Whether others may take this user for dead, or do; once they may, that stays so."""
        silent = _now() - self.written
        if self.problem is None and silent > LOST:
            self.problem = f"{self.files[0].parent.parent} could not be written for {silent:.0f} seconds"
        return self.problem is not None

    def _beat(self) -> None:
        while not self.released.wait(BEAT) and not self._is_lost():
            try:
                if not all(file.exists() for file in self.files):
                    where = self.files[0].parent.parent
                    self.problem = f"another run has taken over {where} because this one stopped renewing its lease"
                    return
                self._write()
            except PanesError:
                continue  # `check` tells when that has lasted too long

    def _write(self) -> None:
        """A sign of life; it counts from when it was begun, and only if it came in time."""
        self.number += 1
        begun = _now()
        text = json.dumps({"host": socket.gethostname(), "process": os.getpid(), "beat": self.number})
        for file in self.files:
            file.write_text(text)
        if not self._is_lost():
            self.written = begun


@contextmanager
def leased(folders: Sequence[StorePath]) -> Iterator[Callable[[], None]]:
    """Be the only user of folders; the function that it gives fails when that can no longer be told."""
    lease = _Lease(folders)
    try:
        lease.take()
        yield lease.check
    finally:
        lease.release()


def _text(file: StorePath) -> str | None:
    """What is in a file; None when it is gone."""
    try:
        return file.read_text()
    except PanesError:
        if file.exists():
            raise
        return None


def _who(text: str) -> str:
    """The user of a file that may be half written."""
    try:
        found = json.loads(text)
    except ValueError:
        return ""
    return f", by process {found['process']} on {found['host']}"
