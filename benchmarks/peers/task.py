"""What a peer's script is told, and what it says. It runs in the peer's own environment: nothing else is imported here.

The script gets a task as JSON, runs it twice in one process, and prints the times of both runs as one line of JSON.
At a fixed rate (`stop` is set) it runs once: files come into the folder while it runs, each result is stamped with the
time at which it came (`stamped`), and the run ends when the file `stop` is there.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

FIGURES = "FIGURES "
READY = "READY"
RUNS = ("cold", "warm")


@dataclass(frozen=True)
class Task:
    peer: str
    workload: str
    rows: str  # the folder of the files
    result: str  # the folder for the results, one below it for each run
    jars: str = ""
    stop: str = ""

    def encode(self) -> str:
        return json.dumps(asdict(self))

    @property
    def stopped(self) -> bool:
        return Path(self.stop).exists()

    def files(self) -> Iterator[Path]:
        """The files in their order; at a fixed rate, each as it comes, until the run is stopped."""
        seen = 0
        while True:
            ended = not self.stop or self.stopped
            found = sorted(Path(self.rows).glob("*.parquet"))[seen:]
            seen += len(found)
            yield from found
            if ended:
                return
            time.sleep(0.005)


def told() -> Task:
    return Task(**json.loads(sys.argv[1]))


def ready() -> None:
    """Say that rows may come."""
    print(READY, flush=True)


def say(**figures: object) -> None:
    print(FIGURES + json.dumps(figures), flush=True)


def cannot(why: str) -> None:
    say(cannot=why)


def measure(task: Task, run: Callable[[Path], float | None]) -> None:
    """Run the task, and say when each run began and ended; `run` says so itself if it had to wait after its end."""
    runs = {}
    for name in ("rate",) if task.stop else RUNS:
        folder = Path(task.result) / name
        began = time.time()
        ended = run(folder)
        runs[name] = [began, time.time() if ended is None else ended]
    say(runs=runs)
