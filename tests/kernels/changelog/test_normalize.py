"""Normalised changes fit on their own, old rows whole, and add up to the table, however the changes are cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.kernels.changelog.changes import AFTER, BEFORE, CHANGE, DELETE, INSERT
from panes.kernels.changelog.normalize import Normalize
from panes.kernels.kernel import Clock, State

from ..harness import restarted, step_twice
from .test_table import CHANGES, CUTS, RESTARTS, Change, Table, arrow, cut

NORMALIZE = Normalize(("id",), ("v",), "word", ("batch", "place"), keep="keep")


def check_complete(kernel: Normalize, changes: Sequence[Change], cuts: Sequence[int], restarts: set[int]) -> None:
    """The law: what comes out fits on its own, old rows whole, and adds up to the table of the definition."""
    table, state = Table(kernel.sequence is not None), State()
    rows: dict[Any, Any] = {}
    for number, batch in enumerate(cut(changes, cuts)):
        step = step_twice(kernel, state, arrow(batch, number), Clock())
        for change in batch:
            table.apply(change)
        seen: list[Any] = []
        before: dict[str, Any] = {}
        for row in step.rows.to_pylist() if step.rows is not None else []:
            if row[CHANGE] in (DELETE, BEFORE):
                assert rows.pop(row["id"]) == row["v"]
            else:
                assert row["id"] not in rows
                rows[row["id"]] = row["v"]
            if row[CHANGE] == AFTER:
                assert (before[CHANGE], before["id"]) == (BEFORE, row["id"]) and before["v"] != row["v"]
            else:
                seen.append(row["id"])
            before = row
        assert len(seen) == len(set(seen))
        assert rows == table.result
        assert step_twice(kernel, step.state, None, Clock()).state is step.state
        state = restarted(step.state) if number in restarts else step.state


@settings(max_examples=40)
@given(CHANGES, CUTS, RESTARTS, st.booleans())
def test_normalized_changes_are_complete(
    changes: list[Change], cuts: list[int], restarts: set[int], in_sequence: bool
) -> None:
    more: dict[str, Any] = {"sequence": "seq", "time": "at"} if in_sequence else {}
    check_complete(replace(NORMALIZE, on_inconsistency="skip", **more), changes, cuts, restarts)


def test_a_change_writes_few_rows() -> None:
    kernel = NORMALIZE
    state = step_twice(kernel, State(), arrow([Change(INSERT, key, key) for key in range(2000)]), Clock()).state
    step = step_twice(kernel, state, arrow([Change(AFTER, 700, -1)], 1), Clock())
    assert [row[CHANGE] for row in present(step.rows).to_pylist()] == [BEFORE, AFTER]
    assert step.counters["groups"] == 2000
    known = {chunk.id for chunk in state.chunks}
    assert [chunk.rows for chunk in step.state.chunks if chunk.id not in known] == [1]
