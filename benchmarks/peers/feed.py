"""Files that come at a fixed rate."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.data import Shape

WARM_UP = 5.0  # seconds whose results do not count
GRACE = 5.0  # seconds between the last file and the end


@dataclass(frozen=True)
class Feed:
    """`rate` rows a second in a file every `interval` seconds, for so many seconds."""

    keys: int
    rate: int
    seconds: float
    interval: float = 0.5

    @property
    def shape(self) -> Shape:
        return Shape(self.keys, int(self.rate * self.seconds), int(self.rate * self.interval))

    def first(self, rows: Path, inbox: Path) -> None:
        """The first file is there before a peer starts: none has to guess a schema or wait for its folder."""
        os.link(self.files(rows)[0], inbox / self.files(rows)[0].name)

    def files(self, rows: Path) -> list[Path]:
        return sorted(rows.glob("*.parquet"))

    def run(self, rows: Path, inbox: Path, arrivals: dict[str, int], process: subprocess.Popen[str]) -> None:
        """Let the others come, each in its time; `arrivals` says when it was, in nanoseconds since 1970."""
        began = time.monotonic()
        for number, file in enumerate(self.files(rows)[1:]):
            time.sleep(max(0.0, began + number * self.interval - time.monotonic()))
            if process.poll() is not None:
                return
            arrivals[file.name] = time.time_ns()
            os.link(file, inbox / f".{file.name}")
            os.utime(inbox / f".{file.name}")
            (inbox / f".{file.name}").rename(inbox / file.name)
        time.sleep(GRACE)
