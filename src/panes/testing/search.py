"""Looks for a way in which the same rows give another result, and for the smallest one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from panes.testing.sameness import Row, only_in_either
from panes.testing.shrink import smallest
from panes.testing.variants import Variant

AT_ONCE = 4  # variants that are one query of Spark's


@dataclass(frozen=True)
class Failed:
    """A run that ended in an error."""

    text: str


Result: TypeAlias = list[Row] | Failed


class Runner(Protocol):
    """Runs variants that restart and die together, and says what the promise has them give."""

    def streams(self, variants: Sequence[Variant]) -> list[Result]: ...

    def promised(self, variants: Sequence[Variant]) -> list[Result]: ...


@dataclass(frozen=True)
class Counterexample:
    """The smallest variant that was found, what it gives, and what it should."""

    variant: Variant
    result: Result
    promised: list[Row]
    tries: int  # how many variants had been tried when the first one failed


@dataclass(frozen=True)
class NotComparable:
    """Rows whose result is an error by themselves, so that there is nothing to compare."""

    text: str


def search(
    groups: Sequence[Sequence[Variant]],
    runner: Runner,
    progress: Callable[[int], None] = lambda tried: None,
    shrinking: Callable[[int], None] = lambda tried: None,
) -> Counterexample | NotComparable | None:
    """The smallest counterexample, if any variant gives another result than is promised."""
    tried = 0
    for group in groups:
        (promised,) = runner.promised(group[:1])
        if isinstance(promised, Failed):
            return NotComparable(promised.text)
        for variant, result in zip(group, runner.streams(group), strict=True):
            tried += 1
            if differs(result, promised):
                return _counterexample(variant, result, promised, runner, tried, shrinking)
        progress(tried)
    return None


def _counterexample(
    variant: Variant,
    result: Result,
    promised: list[Row],
    runner: Runner,
    tried: int,
    shrinking: Callable[[int], None],
) -> Counterexample:
    count = 0

    def first_failing(candidates: Sequence[Variant]) -> int | None:
        nonlocal count
        for start in range(0, len(candidates), AT_ONCE):
            some = candidates[start : start + AT_ONCE]
            count += len(some)
            shrinking(count)
            pairs = zip(runner.streams(some), runner.promised(some), strict=True)
            failing = (at for at, (found, wanted) in enumerate(pairs) if differs(found, wanted))
            at = next(failing, None)
            if at is not None:
                return start + at
        return None

    small = smallest(variant, first_failing)
    if small == variant:
        return Counterexample(variant, result, promised, tried)
    (wanted,), (found,) = runner.promised([small]), runner.streams([small])
    if isinstance(wanted, Failed) or not differs(found, wanted):  # it fails at times only, or beside others only
        return Counterexample(variant, result, promised, tried)
    return Counterexample(small, found, wanted, tried)


def differs(result: Result, promised: Result) -> bool:
    """Whether a result is not the promised one; where an error is promised, nothing is."""
    if isinstance(promised, Failed):
        return False
    return isinstance(result, Failed) or any(only_in_either(promised, result))
