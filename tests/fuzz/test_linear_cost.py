"""The compiler's work grows with the length of a query, and with nothing worse.

Work is counted, not timed: the lines of Panes that run. With W(n) lines for n items, W(4n) - W(2n) is twice
W(2n) - W(n) where the cost is linear, and four times where it is quadratic.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import panes
from benchmarks.large_queries import HIGH, HIGH_KINDS, KINDS, declared, explained
from panes.errors import PanesError

ROOT = str(Path(panes.__file__).parent)
CATALOG = declared()


def work(sql: str) -> int:
    """How many lines of Panes run to explain a query."""
    lines = 0

    def on_line(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        nonlocal lines
        lines += 1
        return on_line

    def on_call(frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        return on_line if frame.f_code.co_filename.startswith(ROOT) else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        explained(sql, CATALOG)
    finally:
        sys.settrace(before)
    return lines


def growth(make: Callable[[int], str], largest: int) -> float:
    small, middle, large = (work(make(largest // divisor)) for divisor in (4, 2, 1))
    return (large - middle) / (middle - small)


@pytest.mark.parametrize("kind", KINDS)
def test_work_is_linear(kind: str) -> None:
    assert growth(KINDS[kind], 200) < 2.1


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_work_is_linear_up_to_a_thousand(kind: str) -> None:
    assert growth(KINDS[kind], 1_000) < 2.1


@pytest.mark.parametrize("kind", HIGH_KINDS)
def test_work_is_at_most_quadratic_in_depth(kind: str) -> None:
    assert growth(HIGH_KINDS[kind], HIGH) < 4.2


@pytest.mark.parametrize("kind", HIGH_KINDS)
def test_a_thousand_operators_are_refused(kind: str) -> None:
    with pytest.raises(PanesError) as caught:
        explained(HIGH_KINDS[kind](1_000), CATALOG)
    assert caught.value.code in ("parse-error", "unsupported-clause")
