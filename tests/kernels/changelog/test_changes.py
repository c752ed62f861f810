"""The difference of two results turns one into the other, and says no more than it must."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.changelog.changes import AFTER, BEFORE, CHANGE, DELETE, INSERT, difference

Rows = dict[tuple[str | None, int | None], float | None]  # by the columns k and "n o"

KEYS = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([1, 2, None]))
RESULTS = st.dictionaries(KEYS, st.sampled_from([None, 0.5, 1.5, float("inf")]))


def table(rows: Rows) -> pa.Table:
    return pa.table(
        {
            "k": pa.array([k for k, _ in rows], pa.string()),
            "v": pa.array(list(rows.values()), pa.float64()),
            "n o": pa.array([n for _, n in rows], pa.int64()),
        }
    )


def changes(old: Rows, new: Rows) -> list[tuple[str, Any, float | None]]:
    found = difference(table(old), table(new), ["k", "n o"])
    assert found.column_names == ["k", "v", "n o", CHANGE]
    return [(row[CHANGE], (row["k"], row["n o"]), row["v"]) for row in found.to_pylist()]


@settings(max_examples=100)
@given(RESULTS, RESULTS)
def test_changes_turn_one_result_into_the_other(old: Rows, new: Rows) -> None:
    rows = dict(old)
    for word, key, value in changes(old, new):
        if word in (DELETE, BEFORE):
            assert rows.pop(key) == value
        else:
            assert key not in rows
            rows[key] = value
    assert rows == new


@settings(max_examples=100)
@given(RESULTS, RESULTS)
def test_no_more_changes_than_needed(old: Rows, new: Rows) -> None:
    """One for a row that goes or comes, a pair for one that is another, none for one that stays."""
    found = changes(old, new)
    words = {key: [word for word, one, _ in found if one == key] for key in {*old, *new}}
    for key, said in words.items():
        if key not in new:
            assert said == [DELETE]
        elif key not in old:
            assert said == [INSERT]
        else:
            assert said == ([] if old[key] == new[key] else [BEFORE, AFTER])


@settings(max_examples=50)
@given(RESULTS, RESULTS)
def test_a_preimage_is_directly_before_its_postimage(old: Rows, new: Rows) -> None:
    found = changes(old, new)
    for number, (word, key, _) in enumerate(found):
        if word == BEFORE:
            assert found[number + 1][:2] == (AFTER, key)


def test_rows_without_other_columns_come_and_go() -> None:
    old, new = pa.table({"k": [1, 2, None]}), pa.table({"k": [2, 3, None]})
    found = difference(old, new, ["k"])
    assert sorted(zip(found[CHANGE].to_pylist(), found["k"].to_pylist(), strict=True)) == [(DELETE, 1), (INSERT, 3)]
