"""`python -m benchmarks [name …]`: run benchmarks by name, or all of them; `growth:hopping` is one case.

A benchmark is a module of this package with `run(console)`, which prints its tables and returns its figures; they are
written to `build/bench/<name>.json`. To add one, write the module and a row of `BENCHMARKS`.
"""

from __future__ import annotations

import json
import platform
import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console

from benchmarks.connectors import name_connectors
from benchmarks.growth_cases import CASES

BENCHMARKS = {
    "compile": "benchmarks.compile_time",
    "accumulators": "benchmarks.accumulators",
    "cold": "benchmarks.cold",
    "empty": "benchmarks.empty",
    "stateful": "benchmarks.stateful",
    "over": "benchmarks.over",
    "windows": "benchmarks.windows",
    "growth": "benchmarks.growth",
    "memory": "benchmarks.memory",
    "limited": "benchmarks.limited",
    "nexmark": "benchmarks.nexmark.timing",
    "kafka": "benchmarks.kafka",
}
RESULTS = Path("build/bench")


def main(names: list[str]) -> int:
    console = Console()
    known = [*BENCHMARKS, *(f"growth:{case.name}" for case in CASES)]
    unknown = [name for name in names if name not in known]
    if unknown:
        console.print(f"no benchmark is called {', '.join(unknown)}; there is {', '.join(known)}")
        return 2
    if not names or "kafka" in names:
        name_connectors()
    for name in names or BENCHMARKS:
        module, *case = name.split(":")
        figures = import_module(BENCHMARKS[module]).run(console, *case)
        write(name.replace(":", "-"), figures, console)
    return 0


def write(name: str, figures: dict[str, object], console: Console) -> None:
    """The figures with the machine they were measured on."""
    machine = {"python": platform.python_version(), "system": platform.system(), "machine": platform.machine()}
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine, **figures}, indent=2) + "\n", encoding="utf-8")
    console.print(f"written to {path}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
