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

LOCK, LEASE = "panes-lock", "panes-lease"  # on this machine a lock is a file, and a lease a folder beside it


@contextmanager
def locked(folders: Sequence[StorePath]) -> Iterator[Callable[[], None]]:
    """Hold the locks of the folders of INSERTs. The function that it gives fails when one of them has been lost."""
    with ExitStack() as stack:
        elsewhere = [one / LOCK for one in folders if not isinstance(one, LocalPath)]
        for one in folders:
            if isinstance(one, LocalPath):
                one.make_folder()
                if not stack.enter_context(_locked(one.path)):
                    elsewhere.append(one / LEASE)
        yield stack.enter_context(leased(elsewhere)) if elsewhere else lambda: None


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Hold the lock of a folder of this machine; False where the file system knows no locks, as some of a network."""
    with reached(folder / LOCK):
        file = (folder / LOCK).open("a")
    with file:
        try:
            if sys.platform != "win32":
                flock(file, LOCK_EX | LOCK_NB)
            holds = sys.platform != "win32"
        except BlockingIOError:
            raise PanesError("checkpoint-in-use", f"a query is running on {folder}", None, "Stop it first.") from None
        except OSError:
            holds = False
        yield holds
