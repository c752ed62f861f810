"""A trace is the same after a way through JSON, and what is no trace is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.errors import PanesError
from panes.trace import (
    Fate,
    FrameTrace,
    Growth,
    Level,
    Point,
    Result,
    Row,
    StreamTrace,
    Trace,
    WindowTrace,
    from_json,
    to_json,
)

NUMBERS = st.integers(-(10**15), 10**15)
VALUES = st.one_of(st.none(), st.booleans(), NUMBERS, st.floats(allow_nan=False, allow_infinity=False), st.text())
NESTED = st.one_of(VALUES, st.lists(VALUES, max_size=2), st.dictionaries(st.text(max_size=3), VALUES, max_size=2))
TUPLES = st.lists(NESTED, max_size=3).map(tuple)
IDS = st.lists(st.integers(1, 9), max_size=3).map(tuple)
MAYBE = st.none() | NUMBERS


def some(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(strategy, max_size=2).map(tuple)


ROWS = st.builds(Row, st.integers(1, 9), NUMBERS, NUMBERS, MAYBE, TUPLES, st.sampled_from(Fate), MAYBE)
STREAMS = st.builds(
    StreamTrace, st.text(), some(st.text()), some(ROWS), st.none() | st.text(), MAYBE, st.booleans(), some(MAYBE)
)
POINTS = st.builds(Point, st.integers(1, 9), TUPLES, MAYBE, MAYBE, IDS, TUPLES)
WINDOWS = st.builds(
    WindowTrace, NUMBERS, TUPLES, some(st.builds(Growth, NUMBERS, MAYBE, MAYBE, IDS)), MAYBE, MAYBE, MAYBE, MAYBE
)
FRAMES = st.builds(FrameTrace, NUMBERS, NUMBERS, NUMBERS, IDS)
LEVELS = st.builds(
    Level, st.text(), st.text(), some(st.text()), some(POINTS), MAYBE, some(st.text()), some(WINDOWS), some(FRAMES)
)
RESULTS = st.builds(
    Result, NUMBERS, NUMBERS, TUPLES, st.none() | st.text(), st.none() | IDS, MAYBE, MAYBE, MAYBE, TUPLES
)
TRACES = st.builds(
    Trace, st.text(), some(STREAMS), NUMBERS, st.booleans(), some(LEVELS), some(st.text()), some(RESULTS)
)


@given(TRACES)
def test_a_trace_is_the_same_after_a_way_through_json(trace: Trace) -> None:
    assert from_json(to_json(trace)) == trace


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"streams": [], "version": 2}', '{"streams": [{"nane": 1}]}', '{"streams": 3}']
)
def test_what_is_no_trace_is_refused(text: str) -> None:
    with pytest.raises(PanesError) as refused:
        from_json(text)
    assert refused.value.code == "parse-error"
