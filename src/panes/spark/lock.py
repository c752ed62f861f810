"""A checkpoint has one user at a time.

On this machine a lock does it that is gone with the process that holds it. No other store has such a lock: there each
user has a file of its own beside the checkpoint, and writes to it every few seconds as a sign of life (`lease`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from panes.errors import PanesError
from panes.spark.lease import leased
from panes.spark.store import LocalPath, StorePath, reached

if sys.platform != "win32":
    from fcntl import LOCK_EX, LOCK_NB, flock

LOCK = "panes-lock"


@contextmanager
def locked(folders: Sequence[StorePath]) -> Iterator[Callable[[], None]]:
    """Hold the locks of the folders of INSERTs. The function that it gives fails when one of them has been lost."""
    with ExitStack() as stack:
        for one in folders:
            if isinstance(one, LocalPath):
                one.make_folder()
                stack.enter_context(_locked(one.path))
        elsewhere = [one / LOCK for one in folders if not isinstance(one, LocalPath)]
        yield stack.enter_context(leased(elsewhere)) if elsewhere else lambda: None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder of this machine. A file system that knows no locks has none."""
    with reached(folder / LOCK):
        file = (folder / LOCK).open("a")
    with file:
        try:
            if sys.platform != "win32":
                flock(file, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            raise PanesError("checkpoint-in-use", f"a query is running on {folder}", None, "Stop it first.") from None
        except OSError:
            pass
        yield
