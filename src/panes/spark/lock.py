"""A checkpoint has one user at a time: a lock that is gone with the process that holds it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from panes.errors import PanesError

if sys.platform != "win32":
    from fcntl import LOCK_EX, LOCK_NB, flock

LOCK = "panes-lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of an INSERT's folder. A file system that knows no locks has none."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a") as file:
        try:
            if sys.platform != "win32":
                flock(file, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            raise PanesError("checkpoint-in-use", f"a query is running on {folder}", None, "Stop it first.") from None
        except OSError:
            pass
        yield
