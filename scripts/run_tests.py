"""Run the tests in two lanes side by side, each a process of pytest after the other.

One Spark leaves a core idle most of the time, and three would be in each other's way: so there are two at most. With
arguments, which choose some of the tests, there is one process: `run_tests.py -k session`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

PYTEST = (sys.executable, "-m", "pytest")
ON_SPARK = Path("tests/spark")
FOLDERS = tuple(f"--ignore={path}" for path in sorted(ON_SPARK.iterdir()) if path.is_dir())
FILES = tuple(f"--ignore={path}" for path in sorted(ON_SPARK.glob("test_*.py")))


@dataclass(frozen=True)
class Part:
    """Some of the tests, in a process of their own."""

    name: str
    chosen: tuple[str, ...]


LANES = (
    (Part("on Spark", ("-m", "not slow and spark", str(ON_SPARK), *FOLDERS)),),
    (
        Part("without Spark", ("-m", "not slow and not spark")),
        Part("systems, pages", ("-m", "not slow and spark", "tests", *FILES)),
    ),
)


def main(arguments: Sequence[str]) -> int:
    if arguments:
        return subprocess.run([*PYTEST, *arguments]).returncode
    codes: dict[str, int] = {}
    lanes = [Thread(target=run, args=(lane, codes)) for lane in LANES]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    for name, code in codes.items():
        print(f"{name}: {'passed' if code == 0 else f'failed (exit code {code})'}")
    return 0 if not any(codes.values()) else 1


def run(lane: Sequence[Part], codes: dict[str, int]) -> None:
    """One part after the other, also when one has failed."""
    for part in lane:
        codes[part.name] = show(part)


def show(part: Part) -> int:
    """Run the part and print each line as it comes; the last ones are as pytest wrote them."""
    command = [*PYTEST, *part.chosen]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            closing = line.startswith("=") and (" passed" in line or " failed" in line)
            print(line if closing else f"{part.name:>14} | {line}", end="", flush=True)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
