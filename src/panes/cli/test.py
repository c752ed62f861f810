"""`panes test`: run test files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.status import Status

from panes.cli.java_prints import java_prints_to
from panes.cli.script_file import Set, console, errors, reported_errors, variables_of
from panes.cli.spark_options import Conf, Master, Packages, packages_of, settings_of
from panes.spark.installed import check_spark

if TYPE_CHECKING:
    from panes.testing.cases import Case
    from panes.testing.results import Options
    from panes.testing.suite import Outcome
    from panes.testing.variants import Wish

Progress = Callable[[str], None]
FEW = {"spark.sql.shuffle.partitions": "2"}  # tests have few rows, and each partition costs time


def test(
    paths: Annotated[list[Path], typer.Argument(help="Test files, or folders with files test_*.md and *_test.md.")],
    update: Annotated[
        bool, typer.Option("--update", help="Rewrite the output, counters and error blocks that differ.")
    ] = False,
    word: Annotated[str, typer.Option("-k", metavar="WORD", help="Only cases with this in their name or path.")] = "",
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the outcomes as JUnit XML.")
    ] = None,
    cuts: Annotated[
        int, typer.Option("--cuts", min=0, help="Let the rows of each case come in so many other ways.")
    ] = 0,
    kills: Annotated[
        int, typer.Option("--kills", min=0, help="In so many of them, a micro-batch dies and runs again.")
    ] = 0,
    shards: Annotated[str, typer.Option("--shards", metavar="1,2,7", help="Numbers of shards to try.")] = "1,2,7",
    seed: Annotated[int | None, typer.Option("--seed", help="Repeat what a run with this seed has tried.")] = None,
    setup: Annotated[
        list[str] | None,
        typer.Option("--setup", metavar="MODULE:FUNCTION", help="Called with each engine, to register functions."),
    ] = None,
    assignments: Set = None,
    master: Master = None,
    conf: Conf = None,
    packages: Packages = None,
) -> None:
    """Run the cases of test files, and compare what comes out with what they expect.

    [bold]Examples[/bold]

    panes test tests

    panes test tests/test_totals.md --update   [dim]writes what comes out into the file: read the diff[/dim]

    panes test tests --cuts 100 --kills 5   [dim]other micro-batches, orders, restarts, shards[/dim]

    [bold]Exit codes[/bold]: 0 if all cases pass; 1 if any fails; 2 if the command line is wrong or there is no case.
    """
    missing = [path for path in paths if not path.exists()]
    if missing:
        errors.print(f"cannot read {missing[0]}: no such file or folder")
        raise typer.Exit(2)
    numbers = numbers_of(shards)
    values, settings = variables_of(assignments), settings_of(conf, master)
    with reported_errors():
        check_spark()
    from panes.testing.junit import write_junit
    from panes.testing.told import summary
    from panes.testing.variants import Wish

    wish = Wish(cuts, kills, numbers, seed if seed is not None else _any_seed()) if cuts or kills else None
    cases, outcomes = _read(paths, word)
    if cases:
        outcomes += _run(cases, wish, update, setup or [], values, settings, packages_of(packages))
    if junit is not None:
        write_junit(junit, outcomes)
    if wish is not None:
        console.print(f"\nseed {wish.seed}: --seed {wish.seed} tries the same again")
    console.print(f"\n{summary(outcomes)}")
    if not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(1)


def numbers_of(shards: str) -> tuple[int, ...]:
    """The numbers of --shards.

    >>> numbers_of("1, 2,7")
    (1, 2, 7)
    """
    words = [word.strip() for word in shards.split(",")]
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise typer.BadParameter(f"{shards} is not a list of numbers such as 1,2,7", param_hint="--shards")
    return tuple(map(int, words))


def _any_seed() -> int:
    import random

    return random.SystemRandom().randrange(10**6)


def _read(paths: Sequence[Path], word: str) -> tuple[list[Case], list[Outcome]]:
    """The cases of all files, and those files that cannot be read as failures."""
    from panes.testing.suite import files_in, read_cases
    from panes.testing.told import in_one_line, told

    cases: list[Case] = []
    unreadable: list[Outcome] = []
    for path in files_in(paths):
        found, wrong = read_cases(path, word)
        cases += found
        if wrong is not None:
            unreadable.append(wrong)
            console.print(f"{path}\n  {in_one_line(wrong)}\n\n{told(wrong)}\n")
    if not cases and not unreadable:
        errors.print(f"no test cases in {', '.join(map(str, paths))}{f' with {word} in their name' if word else ''}")
        raise typer.Exit(2)
    return cases, unreadable


def _run(
    cases: Sequence[Case],
    wish: Wish | None,
    update: bool,
    setups: Sequence[str],
    values: Mapping[str, str],
    settings: Mapping[str, str],
    packages: Sequence[str],
) -> list[Outcome]:
    from panes.testing.suite import run_case
    from panes.testing.told import in_one_line, told

    options = _options(values, setups)
    outcomes: list[Outcome] = []
    with _progress() as progress, reported_errors():
        progress("Starting Spark …")
        spark = _spark(settings, packages)
        for case in cases:
            if not outcomes or outcomes[-1].path != case.path:
                console.print(str(case.path))
            progress(case.name)
            tell = _about(progress, case.name)
            outcome = run_case(case, spark, options, update, wish, tell)
            outcomes.append(outcome)
            console.print(f"  {in_one_line(outcome)}")
            if not outcome.passed:
                console.print(f"\n{_indented(told(outcome))}\n")
    return outcomes


def _about(progress: Progress, name: str) -> Progress:
    return lambda text: progress(f"{name}: {text}")


def _options(values: Mapping[str, str], setups: Sequence[str]) -> Options:
    from panes.testing.inputs import CaseError
    from panes.testing.results import Options
    from panes.testing.setup import load_setup

    try:
        return Options(values, tuple(load_setup(one, (Path.cwd(),)) for one in setups))
    except CaseError as error:
        raise typer.BadParameter(error.text, param_hint="--setup") from None


def _spark(settings: Mapping[str, str], packages: Sequence[str]) -> Any:
    """One Spark for all cases; what Java and its workers print goes to a file."""
    from panes.spark.session import embedded

    with java_prints_to(Path(tempfile.gettempdir()) / "panes-test.log"):
        spark = embedded(packages=packages, settings={**FEW, **settings})
    spark.sparkContext.setLogLevel("OFF")  # what fails is told once, by Panes
    return spark


@contextmanager
def _progress() -> Iterator[Progress]:
    """What is being done, in a line of a terminal that goes away."""
    if not errors.is_terminal:
        yield lambda text: None
        return
    with Status("", console=errors) as status:
        yield status.update


def _indented(text: str) -> str:
    """Markdown stays at the margin, so that it can be copied."""
    before, fence, after = text.partition("\n\n# ")
    return "\n".join(f"    {line}".rstrip() for line in before.split("\n")) + fence + after
