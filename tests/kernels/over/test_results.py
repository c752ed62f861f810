"""Results beside their rows: after a change they are those of a query over what is there now."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.frames import Unit
from panes.kernels.over.calls import Frame, OverCall
from panes.kernels.over.results import Results
from panes.kernels.over.resume import POSITION, is_carried

from .test_functions import TIE, Row, aggregate
from .test_merged import BY_Y, CALLS, CHANGES, COMES, FATES, GOES, NOW, STAYS, Table, arrow, table, values
from .test_stages import START


def computed(changes: Table, results: Results) -> pa.Table:
    """Rows before a micro-batch with their results, and those that come, without."""
    old = Table([(row, COMES) for row in changes.before])
    known = results.recomputed(old.merged()).rows if old.rows else arrow([])
    new = [row for row, fate in changes.both if fate == COMES]
    order = [(row[TIE], fate == COMES) for row, fate in changes.both]
    places = [(row[TIE], False) for row in changes.before] + [(row[TIE], True) for row in new]
    both = pa.concat_tables([known, arrow(new)], promote_options="permissive").combine_chunks()
    return both.take(pa.array([places.index(one) for one in order], pa.int64()))


@settings(max_examples=120)
@given(FATES, CALLS, st.booleans())
def test_results_are_those_of_the_rows_that_are_left(
    drawn: list[tuple[Row, int | None, str]], call: OverCall, beside_a_rank: bool
) -> None:
    """A call alone, or beside one that goes on from the row before."""
    changes = table(drawn, call)
    if not changes.rows:
        return
    call = replace(call, output="result" if call.accumulator is None else call.output)
    calls = (call, OverCall("rank", (), "rank beside")) if beside_a_rank else (call,)
    results = Results(calls, BY_Y)
    done = results.recomputed(changes.merged(computed(changes, results)))
    before, after = (values(rows, call) for rows in (changes.before, changes.after))
    found = dict(zip(done.rows[TIE].to_pylist(), done.rows[call.output].to_pylist(), strict=True))
    assert found == {row: pytest.approx(one) if isinstance(one, float) else one for row, one in after.items()}
    fresh = {row[TIE] for row, fate in changes.both if fate == COMES}
    other = fresh | {row for row in after if row not in fresh and before[row] != after[row]}
    changed = {row for row, one in zip(found, done.changed, strict=True) if one}
    assert other <= changed <= {row for row, one in zip(found, done.again, strict=True) if one}
    if not any(is_carried(one) for one in results.all_calls):
        assert changed == other


def test_results_that_no_change_reaches_are_not_computed_again() -> None:
    call = aggregate("max", Frame(Unit.ROWS, START, NOW))
    rows = [({"k": "a", "x": 9 - at, "old x": 0, "y": at, TIE: at}, STAYS) for at in range(5)]
    fates = [rows[0], rows[1], (rows[2][0], CHANGES), rows[3], (rows[4][0], GOES)]
    results = Results((call,), BY_Y)
    done = results.recomputed(Table(fates).merged(computed(Table(fates), results)))
    assert done.again.tolist() == [False, False, True, True]
    assert done.changed.tolist() == [False, False, True, False]


def test_a_position_is_kept_where_a_rank_goes_on_from_it() -> None:
    rank, number = OverCall("rank", (), "rank"), OverCall("row_number", (), "number")
    assert Results((rank,), BY_Y).columns == ("rank", POSITION)
    assert Results((number,), BY_Y).columns == ("number",)
    total = aggregate("sum", Frame(Unit.ROWS, START, NOW))
    assert Results((total,), BY_Y).columns == ("sum", "sum accumulator")
