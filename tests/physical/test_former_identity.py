"""Identities in checkpoints of former versions are those that the same query has today."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planning import compiled, physical_nodes

from panes.physical import plan as physical
from panes.physical.former_identity import today
from panes.physical.identity import Identity
from panes.physical.lineage import source_of
from panes.physical.plan import Window
from panes.sql.window_kinds import kind_info

NUMBERS = st.integers(1, 100)
TWO = st.lists(NUMBERS, min_size=2, max_size=2)
UNITS = st.sampled_from(["ms", "ss", "mi", "hh", "dd"])
SHARES = st.sampled_from([0, 0, 0.5, -0.5, 0.25, -0.875, 0.1])  # of the hop
MILLISECONDS = {"ms": 1, "ss": 1_000, "mi": 60_000, "hh": 3_600_000, "dd": 86_400_000}


def aligned(name: str, unit: str, lengths: list[int], share: float, zone: bool) -> str:
    """The call of a window with options; a zone goes with days."""
    offset = int(share * lengths[-1] * MILLISECONDS[unit])
    options = [f"offset => INTERVAL {offset} MILLISECONDS"] if offset else []
    options += ["zone => 'Asia/Tokyo'"] if zone and unit == "dd" else []
    written = ", ".join([f"'{unit}'", *map(str, lengths), *options])
    return f"{name}({written})"


CALLS = st.one_of(
    st.builds(aligned, st.just("tumblingwindow"), UNITS, NUMBERS.map(lambda one: [one]), SHARES, st.booleans()),
    st.builds(aligned, st.just("hoppingwindow"), UNITS, TWO, SHARES, st.booleans()),
    st.builds("sessionwindow('{}', {})".format, UNITS, NUMBERS),
    st.builds("countwindow({}) OVER (PARTITION BY k)".format, NUMBERS),
    st.builds("countwindow({}, {}) OVER (PARTITION BY k)".format, NUMBERS, NUMBERS),
    st.builds("slidingwindow('{}', {})".format, UNITS, NUMBERS),
    st.builds("slidingwindow('{}', {}, {}) OVER (WHEN a > 1)".format, UNITS, NUMBERS, NUMBERS),
    st.just("statewindow(a > 1, b > 2) OVER (PARTITION BY k)"),
)


@given(CALLS)
def test_a_window_as_explain_shows_it_is_the_same_today(call: str) -> None:
    """As it was kept: conditions written out, lengths as they are spelled."""
    sink = compiled(f"SELECT k, count(*) AS n FROM t GROUP BY {call}, k").physical
    assert isinstance(sink, physical.DataSink)
    (window,) = (node for node in physical_nodes(sink) if isinstance(node, Window))
    now = source_of(sink)
    former: dict[str, Any] = {"source": {**now, "window": kind_info(window.kind)}}
    assert today(former) == {"source": now}
    assert today(today(former)) == today(former)
    assert Identity.decode(Identity(former, {}).encode()) == Identity({"source": now}, {})


@pytest.mark.parametrize(
    "former",
    [
        {"kind": "tumbling", "unit": "mi", "length": 2, "offset": "1 min"},
        {"kind": "tumbling", "unit": "ss", "length": 120, "offset": "-60 s"},
        {"kind": "tumbling", "length": "120 s", "offset": "60 s"},
    ],
)
def test_an_offset_is_less_than_a_hop(former: dict[str, Any]) -> None:
    assert today(former) == {"kind": "tumbling", "length": "120 s", "offset": "60 s"}
