"""A run of one peer: its process, its figures, and whether its results are right."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.check import answer, fault
from benchmarks.peers.data import Shape
from benchmarks.peers.environments import Peer
from benchmarks.peers.feed import Feed
from benchmarks.peers.latency import latencies
from benchmarks.peers.processes import Memory, end
from benchmarks.peers.task import FIGURES, READY, Task
from benchmarks.peers.workloads import Workload

FOLDER = Path("build/peers")


@dataclass(frozen=True)
class Outcome:
    """Figures, or why there are none: `cannot` say it, or `failed` (an error, a wrong result, the time limit)."""

    cold: float | None = None  # seconds, from the start of the process to the last result
    warm: float | None = None  # seconds, of the second run in the same process
    p50: float | None = None  # milliseconds from arrival to result
    p99: float | None = None
    memory: int | None = None  # bytes
    cannot: str | None = None
    failed: str | None = None


@dataclass(frozen=True)
class Runner:
    folder: Path = FOLDER
    limit: float = 300  # seconds for a process

    def throughput(self, peer: Peer, workload: Workload, shape: Shape) -> Outcome:
        """All rows at once, twice in one process."""
        rows = shape.write(workload.rows, self.folder / "data").resolve()
        expected = answer(workload, rows, self.folder / "answers")
        with self._scratch() as scratch:
            began = time.time()
            said = self._run(peer, workload, rows, scratch, self.limit, lambda process: None)
            if said.figures is None:
                return Outcome(cannot=said.cannot, failed=said.failed)
            for run in said.figures:
                wrong = fault(workload, scratch / run, expected)
                if wrong:
                    return Outcome(failed=f"{run} run: {wrong}")
        cold, warm = said.figures["cold"], said.figures["warm"]
        return Outcome(cold=cold[1] - began, warm=warm[1] - warm[0], memory=said.memory)

    def latency(self, peer: Peer, workload: Workload, feed: Feed) -> Outcome:
        """Rows at a fixed rate; the time from the arrival of the row that completes a result to the result."""
        rows = feed.shape.write(workload.rows, self.folder / "data").resolve()
        expected = answer(workload, rows, self.folder / "answers")
        with self._scratch() as scratch:
            inbox = scratch / "inbox"
            inbox.mkdir()
            feed.first(rows, inbox)
            arrivals: dict[str, int] = {}

            def deliver(process: subprocess.Popen[str]) -> None:
                feed.run(rows, inbox, arrivals, process)
                (scratch / "stop").touch()

            limit = self.limit + feed.seconds
            said = self._run(peer, workload, inbox, scratch, limit, deliver, stop=scratch / "stop")
            if said.figures is None:
                return Outcome(cannot=said.cannot, failed=said.failed)
            wrong = fault(workload, scratch / "rate", expected)
            if wrong:
                return Outcome(failed=f"at a fixed rate: {wrong}")
            p50, p99 = latencies(workload, scratch / "rate", arrivals, feed)
        return Outcome(p50=p50, p99=p99, memory=said.memory)

    def _scratch(self) -> _Scratch:
        (self.folder / "runs").mkdir(parents=True, exist_ok=True)
        return _Scratch(self.folder / "runs")

    def _run(
        self,
        peer: Peer,
        workload: Workload,
        rows: Path,
        scratch: Path,
        limit: float,
        when_ready: Callable[[subprocess.Popen[str]], None],
        stop: Path | None = None,
    ) -> _Said:
        python = peer.python(self.folder).absolute()
        jars = peer.jar_folder(self.folder).resolve()
        task = Task(peer.name, workload.name, str(rows), str(scratch), str(jars), str(stop or ""))
        command = [str(python), "-m", f"benchmarks.peers.engines.{peer.script}", task.encode()]
        log = scratch / "log"
        with log.open("w", encoding="utf-8") as errors:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=peer.surroundings(python)
            )
        with Memory(process.pid) as memory, _Limit(process, limit) as watch:
            lines = []
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                if line.startswith(READY):
                    when_ready(process)
            process.wait()
        return _said(lines, process.returncode, log, watch, memory.peak)


@dataclass(frozen=True)
class _Said:
    figures: dict[str, list[float]] | None = None
    memory: int = 0
    cannot: str | None = None
    failed: str | None = None


def _said(lines: list[str], code: int, log: Path, watch: _Limit, peak: int) -> _Said:
    found = [json.loads(line.removeprefix(FIGURES)) for line in lines if line.startswith(FIGURES)]
    if watch.passed:
        return _Said(failed=f"not done after {watch.seconds:.0f} s")
    if code or not found:
        kept = log.parent.parent / "failed.log"
        shutil.copy(log, kept)
        return _Said(failed=f"exit code {code}: {_error(log)}")
    if "cannot" in found[0]:
        return _Said(cannot=found[0]["cannot"])
    return _Said(figures=found[0]["runs"], memory=peak)


def _error(log: Path) -> str:
    """The line that tells most: the last one that names an error or an exception."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8").splitlines() if line.strip()]
    named = [line for line in lines if ("Error" in line or "Exception" in line) and not line.startswith("at ")]
    return (named or lines or [""])[-1][:300]


class _Limit:
    """Ends a process that takes longer than it may."""

    def __init__(self, process: subprocess.Popen[str], seconds: float) -> None:
        import threading

        self.seconds = seconds
        self.passed = False
        self._process = process
        self._timer = threading.Timer(seconds, self._end)

    def __enter__(self) -> _Limit:
        self._timer.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._timer.cancel()
        if kind is not None:
            end(self._process.pid)

    def _end(self) -> None:
        self.passed = True
        end(self._process.pid)


class _Scratch:
    """A folder for one run."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent

    def __enter__(self) -> Path:
        self._path = Path(tempfile.mkdtemp(dir=self._parent)).resolve()
        return self._path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._path, ignore_errors=True)
