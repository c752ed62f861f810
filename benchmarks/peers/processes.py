"""A process and all that it starts: their memory, and their end."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass, field
from pathlib import Path

EVERY = 0.2  # seconds between two looks


def tree(root: int) -> list[int]:
    """A process and its descendants, as far as they are still there."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children.setdefault(_parent(entry), []).append(int(entry.name))
    found = [root]
    for one in found:
        found.extend(children.get(one, []))
    return found


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return 0


def proportional_set_size(process: int) -> int:
    """Bytes: what is shared with other processes counts in proportion, so that it is counted once over all of them."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024


def end(root: int) -> None:
    """End a process and its descendants."""
    for one in reversed(tree(root)):
        try:
            os.kill(one, signal.SIGKILL)
        except ProcessLookupError:  # it has ended meanwhile
            continue


@dataclass
class Memory:
    """The most that a process and its descendants had at once, while the block ran."""

    root: int
    peak: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Memory:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(EVERY):
            self.peak = max(self.peak, sum(proportional_set_size(one) for one in tree(self.root)))
