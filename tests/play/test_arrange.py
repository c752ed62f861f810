"""Other arrangements have the same rows; shuffled ones make none late."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.play.arrange import arranged
from panes.play.document import Document, PlayRow, StreamRows
from panes.play.request import Arrangement
from panes.play.script import script_of

SQL = "CREATE STREAM t (n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 10 SECONDS);"
STREAMS = script_of(SQL).streams
FIRST = datetime(2024, 1, 1)
DELAY = timedelta(seconds=10)
# micro-batch and second of each row, None for a NULL
ROWS = st.lists(st.tuples(st.integers(0, 4), st.none() | st.integers(0, 60)), max_size=12)


def document(rows: list[tuple[int, int | None]]) -> Document:
    found = [
        PlayRow(batch, {"n": str(n), "TS": None if second is None else str(FIRST + timedelta(seconds=second))})
        for n, (batch, second) in enumerate(sorted(rows, key=lambda row: row[0]))
    ]
    return Document(SQL, (StreamRows("t", tuple(found)),))


def late(rows: tuple[PlayRow, ...]) -> set[str | None]:
    found = set()
    for row in rows:
        times = [one.values["TS"] for one in rows if one.batch < row.batch]
        known = [datetime.fromisoformat(one) for one in times if one is not None]
        own = row.values["TS"]
        if own is not None and known and datetime.fromisoformat(own) < max(known) - DELAY:
            found.add(row.values["n"])
    return found


@given(ROWS, st.integers(0, 1000))
def test_a_cut_keeps_the_order_and_leaves_no_gap(rows: list[tuple[int, int | None]], seed: int) -> None:
    before = document(rows)
    after = arranged(before, STREAMS, Arrangement.CUT, seed)
    (old,), (new,) = before.streams, after.streams
    assert [row.values for row in new.rows] == [row.values for row in old.rows]
    batches = [row.batch for row in new.rows]
    assert batches == sorted(batches)
    assert set(batches) == set(range(after.count))
    assert arranged(before, STREAMS, Arrangement.CUT, seed) == after


@given(ROWS, st.integers(0, 1000))
def test_a_shuffle_makes_no_row_late_that_was_not(rows: list[tuple[int, int | None]], seed: int) -> None:
    (old,) = document(rows).streams
    (new,) = arranged(document(rows), STREAMS, Arrangement.SHUFFLE, seed).streams
    assert Counter(row.values["n"] for row in new.rows) == Counter(row.values["n"] for row in old.rows)
    assert [row.batch for row in new.rows] == [row.batch for row in old.rows]
    assert late(new.rows) <= late(old.rows)


def test_a_shuffle_does_something() -> None:
    before = document([(0, second) for second in range(10)])
    assert any(arranged(before, STREAMS, Arrangement.SHUFFLE, seed) != before for seed in range(3))


@pytest.mark.parametrize("sql", ["CREATE STREAM t (n INT, ts TIMESTAMP);", SQL.replace("(n", "(_x INT, n")])
def test_rows_whose_order_is_all_there_is_stay_as_they_are(sql: str) -> None:
    before = document([(0, second) for second in range(10)])
    after = arranged(before, script_of(sql).streams, Arrangement.SHUFFLE, 1)
    assert (after == before) == ("WATERMARK" not in sql)
