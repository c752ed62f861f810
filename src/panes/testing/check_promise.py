"""`panes test --cuts`: the promise for the query and the rows of a case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from pyspark.sql import SparkSession

from panes.physical.chain import reads_through_spark
from panes.testing.cases import Case
from panes.testing.counterexample import as_file
from panes.testing.differences import rows_differ
from panes.testing.promise import Covered, Freedom, covered
from panes.testing.results import Options, inexact_columns, prepared, rows_text
from panes.testing.run_case import Runnable
from panes.testing.search import AT_ONCE, Counterexample, Failed, NotComparable, search
from panes.testing.setup import Setup
from panes.testing.spark_runner import SparkRunner, arrivals, timeless
from panes.testing.variants import Wish, groups

FIRST = "2024-01-01 00:{:02}:{:02}"  # of a clock for rows that have no time of their own


@dataclass(frozen=True)
class Verdict:
    """What was tried of a case and what came of it; `difference` and `file` show a counterexample."""

    tried: int
    note: str = ""
    difference: str | None = None
    file: str = ""


def check_promise(
    case: Case,
    options: Options,
    setups: Sequence[Setup],
    wish: Wish,
    spark: SparkSession,
    progress: Callable[[str], None] = lambda text: None,
) -> Verdict:
    """Try other ways for the rows of a case to come, as far as the promise covers them."""
    if case.refused:
        return Verdict(0, "an error is expected, so there is no result to compare")
    with prepared(case, options, setups, spark) as ready:
        if not ready.streams:
            return Verdict(0, "the query reads no stream")
        return _checked(case, ready, wish, spark, progress)


def _checked(case: Case, ready: Runnable, wish: Wish, spark: SparkSession, progress: Callable[[str], None]) -> Verdict:
    written = arrivals(ready, spark)
    delays = {name: given.stream.delay for name, given in ready.streams.items()}
    plan = ready.query.compiled.physical
    what = covered(plan, written, delays)
    if what.freedom is Freedom.RESTARTS and not _can_repeat(ready):
        return Verdict(0, f"{what.why}, whose clock cannot be given here")
    ready = replace(ready, clock=_clock(ready, written) if what.freedom is Freedom.RESTARTS else ())
    if what.freedom is not Freedom.ORDER:
        written = timeless(written)
    runner = SparkRunner(ready, what.freedom, spark)
    tries = groups(
        written,
        wish,
        delays,
        cut=what.freedom is not Freedom.RESTARTS,
        shuffle=what.freedom is Freedom.ORDER,
        size=AT_ONCE,
    )
    found = search(
        tries,
        runner,
        lambda tried: progress(f"{tried} of {wish.count} variants"),
        lambda tried: progress(f"a difference: looking for the smallest, {tried} tried"),
    )
    match found:
        case None:
            return Verdict(wish.count, _note(what))
        case NotComparable(text=text):
            return Verdict(0, f"the query fails by itself: {text.splitlines()[0]}")
        case Counterexample():
            return _told(case, ready, found, wish, what)
        case _:
            assert_never(found)


def _can_repeat(ready: Runnable) -> bool:
    """Whether a run can be repeated: rows without a time get that of their micro-batch, which has to be given."""
    timed = all(given.stream.time is not None for given in ready.streams.values())
    return timed or not reads_through_spark(ready.query.compiled.physical)


def _clock(ready: Runnable, written: Sequence[object]) -> tuple[str, ...]:
    if ready.clock or all(given.stream.time is not None for given in ready.streams.values()):
        return ready.clock
    return tuple(FIRST.format(number // 60, number % 60) for number in range(len(written)))


def _note(what: Covered) -> str:
    match what.freedom:
        case Freedom.ORDER:
            return ""
        case Freedom.CUTS:
            return f"rows not shuffled: {what.why}"
        case Freedom.RESTARTS:
            return f"restarts, kills and shards only: {what.why}"
        case _:
            assert_never(what.freedom)


def _told(case: Case, ready: Runnable, found: Counterexample, wish: Wish, what: Covered) -> Verdict:
    promised = rows_text([found.promised])
    if isinstance(found.result, Failed):
        difference = f"the query fails: {found.result.text}"
    else:
        inexact = inexact_columns([*found.promised, *found.result])
        difference = rows_differ(promised, rows_text([found.result]), inexact) or "the rows differ in types"
    return Verdict(found.tries, _note(what), difference, as_file(case, ready, found, promised, wish.seed))
