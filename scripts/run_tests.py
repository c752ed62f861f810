"""Run the tests in two processes: those that need Spark, and all others.

Two Sparks would be in each other's way, and one leaves a core idle most of the time. With arguments, which choose some
of the tests, there is one process: `run_tests.py -k session`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from threading import Thread

PYTEST = (sys.executable, "-m", "pytest")
PARTS = {"with Spark": "not slow and spark", "without": "not slow and not spark"}


def main(arguments: Sequence[str]) -> int:
    if arguments:
        return subprocess.run([*PYTEST, *arguments]).returncode
    running = {part: start(marks) for part, marks in PARTS.items()}
    readers = [Thread(target=show, args=(part, process)) for part, process in running.items()]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    codes = {part: process.wait() for part, process in running.items()}
    for part, code in codes.items():
        print(f"{part}: {'passed' if code == 0 else f'failed (exit code {code})'}")
    return 0 if not any(codes.values()) else 1


def start(marks: str) -> subprocess.Popen[str]:
    command = [*PYTEST, "-m", marks]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")


def show(part: str, process: subprocess.Popen[str]) -> None:
    """Each line as it comes; the last ones are as pytest wrote them."""
    assert process.stdout is not None
    for line in process.stdout:
        closing = line.startswith("=") and (" passed" in line or " failed" in line)
        print(line if closing else f"{part:>10} | {line}", end="", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
