"""Run a dose of the tests on every Spark that Panes supports, and on the lowest versions of all that it needs.

Each environment is made under build/ once, and anew when what it needs has changed. Prints versions × suites with the
seconds that each took:

    run_matrix.py                   all environments, all suites
    run_matrix.py lowest --small    one environment, and a dose of each suite
    run_matrix.py 4.1.1 --install   make the environment, and run nothing
    run_matrix.py --small --page    write the rows of this run to docs/internals/matrix.md, too
    run_matrix.py 4.3.0 --python python3.13
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import matrix_page

ROOT = Path(__file__).resolve().parents[1]
SPARKS = ("4.1.1", "4.2.0", "4.3.0")
LOWEST = "lowest"  # with the oldest Spark
TOOLS = ("pytest", "hypothesis")
EXTRAS = "spark,connect,delta,metrics,play,postgres,shell"
UV = str(Path(sys.executable).with_name("uv"))
BOUND = re.compile(r"(?P<name>[\w-]+)(?:\[[\w,-]+\])?>=(?P<version>[\d.]+)")


@dataclass(frozen=True)
class Suite:
    """Some tests, by what pytest is told."""

    name: str
    chosen: tuple[str, ...]


ON_SPARK = tuple(f"tests/spark/test_{name}.py" for name in ("conformance", "restart", "laws"))
CLOSING = (
    "tumbling: only the first window closes at first",
    "hopping: one window is still open",
    "session: a long gap makes one",
)
SHOWN = ("state window", "sliding", "stateful", "over")  # with restarts
BLOCKS = ("sorted_blocks/test_blocks", "sorted_blocks/test_search", "sorted_blocks/test_sort_keys")
SUITES = (
    Suite("language", ("tests/sql", "tests/logical", "tests/physical", "tests/cli", "-m", "not slow and not spark")),
    Suite("kernels", ("tests/kernels", "-m", "not slow and not spark")),
    *(Suite(Path(path).stem.removeprefix("test_"), (path,)) for path in ON_SPARK),
)
# A start of Spark costs as much as several tests, so that there is one.
SMALL = (
    Suite("language", ("tests/sql", "tests/cli/test_main.py", "tests/cli/output")),
    Suite("kernels", (*(f"tests/kernels/{name}.py" for name in BLOCKS), "tests/kernels/test_duck.py")),
    Suite(
        "on Spark",
        (
            *(f"{ON_SPARK[0]}::test_windows_close_by_the_watermark[{name}]" for name in CLOSING),
            f"{ON_SPARK[0]}::test_having_on_a_count_window",
            f"{ON_SPARK[1]}::test_it_goes_on_with_another_folder",
            *(f"{ON_SPARK[2]}::test_nothing_shows[{name}]" for name in SHOWN),
            f"{ON_SPARK[2]}::test_changes_add_up[over]",
        ),
    ),
)


@dataclass(frozen=True)
class Dose:
    """Suites, and the heading of the page under which their times stand."""

    heading: str
    suites: tuple[Suite, ...]

    @property
    def header(self) -> tuple[str, ...]:
        return "Spark", "Python", *(one.name for one in self.suites), "with"


DOSES = {"small": Dose("A small dose", SMALL), "whole": Dose("All suites", SUITES)}


@dataclass(frozen=True)
class Environment:
    """What is installed beside Panes, in a folder of its own."""

    name: str
    pins: tuple[str, ...]
    base: str = sys.executable  # the interpreter that it is made with

    @cached_property
    def base_version(self) -> str:
        """Python's, such as 3.13."""
        code = "import sys; print('{}.{}'.format(*sys.version_info))"
        return subprocess.run([self.base, "-c", code], check=True, capture_output=True, text=True).stdout.strip()

    @property
    def folder(self) -> Path:
        name = self.name if self.name == LOWEST else f"spark-{self.name}"
        return ROOT / "build" / (name if self.base == sys.executable else f"{name}-python{self.base_version}")

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


def lower_bounds(project: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The lowest version of each requirement that has one.

    >>> lower_bounds({"": ["numpy>=1.26", "sqlglot>=30.0,<31"], "spark": ["pyspark>=4.1,<4.4"]})
    {'numpy': '1.26', 'sqlglot': '30.0', 'pyspark': '4.1'}
    """
    found = (BOUND.match(one) for requirements in project.values() for one in requirements)
    return {one["name"]: one["version"] for one in found if one is not None}


def requirements() -> dict[str, Sequence[str]]:
    """Those of Panes itself and of its extra for Spark."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"": project["dependencies"], "spark": project["optional-dependencies"]["spark"]}


def environments(base: str = sys.executable) -> list[Environment]:
    bounds = {**lower_bounds(requirements()), "pyspark": SPARKS[0]}
    lowest = Environment(LOWEST, tuple(f"{name}=={version}" for name, version in bounds.items()), base)
    return [*(Environment(version, (f"pyspark=={version}",), base) for version in SPARKS), lowest]


def install(environment: Environment) -> None:
    """Make the environment, unless it is there and as it should be."""
    wanted = "\n".join([environment.base, *environment.pins, *TOOLS, *(str(one) for one in requirements().items())])
    stamp = environment.folder / ".installed"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    print(f"Installing into {environment.folder.relative_to(ROOT)}: {', '.join(environment.pins)}", flush=True)
    subprocess.run([environment.base, "-m", "venv", "--clear", "--without-pip", str(environment.folder)], check=True)
    # PySpark is built once for all of them.
    into = [UV, "pip", "install", "--quiet", "--python", str(environment.python)]
    subprocess.run([*into, "--editable", f"{ROOT}[{EXTRAS}]", *TOOLS, *environment.pins], check=True)
    stamp.write_text(wanted, encoding="utf-8")


def run(environment: Environment, suite: Suite) -> tuple[bool, float]:
    """Whether the tests pass, and the seconds that they take; what pytest prints goes to a file."""
    command = [str(environment.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *suite.chosen]
    env = {**os.environ, "PYSPARK_PYTHON": str(environment.python), "PYTHONPATH": ""}
    env.pop("SPARK_HOME", None)
    log = environment.folder / f"{suite.name.replace(' ', '-')}.log"
    began = time.monotonic()
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(command, cwd=ROOT, env=env, stdout=file, stderr=subprocess.STDOUT)
    if done.returncode:
        print(f"{environment.name}, {suite.name}: failed; see {log.relative_to(ROOT)}")
        print("".join(log.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)[-30:]))
    return done.returncode == 0, time.monotonic() - began


def versions(environment: Environment) -> str:
    """What is installed there."""
    names = list(lower_bounds(requirements()))
    code = f"import importlib.metadata as m; print(*(f'{{n}} {{m.version(n)}}' for n in {names!r}), sep=', ')"
    return subprocess.run([environment.python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Columns as wide as what is in them.

    >>> print(table(["on", "laws"], [["4.1.1", "93 s"]]))
    on     laws
    4.1.1  93 s
    """
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="environment", help=f"{', '.join(SPARKS)}, {LOWEST}; all by default"
    )
    parser.add_argument("--small", action="store_true", help="a dose of each suite")
    parser.add_argument("--page", action="store_true", help="write the rows to the page with the matrix, too")
    parser.add_argument("--install", action="store_true", help="make the environments, and run nothing")
    parser.add_argument("--python", default=sys.executable, help="the interpreter; by default the one that runs this")
    given = parser.parse_args(arguments)
    known = {one.name: one for one in environments(given.python)}
    if unknown := set(given.names) - set(known):
        parser.error(f"no environment is called {', '.join(sorted(unknown))}; these are: {', '.join(known)}")
    chosen = [known[name] for name in given.names or known]
    for environment in chosen:
        install(environment)
    if given.install:
        return 0
    dose = DOSES["small" if given.small else "whole"]
    rows, all_passed = [], True
    for environment in chosen:
        row = [environment.name, environment.base_version]
        for suite in dose.suites:
            passed, seconds = run(environment, suite)
            all_passed = all_passed and passed
            row.append(f"{seconds:.0f} s" if passed else f"FAILED, {seconds:.0f} s")
        rows.append([*row, versions(environment)])
        print(table(dose.header, rows), flush=True)
        if given.page:
            page = matrix_page.PAGE.read_text(encoding="utf-8")
            page = matrix_page.with_rows(page, dose.heading, list(dose.header), rows, list(known))
            matrix_page.PAGE.write_text(page, encoding="utf-8")
    return 0 if all_passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
