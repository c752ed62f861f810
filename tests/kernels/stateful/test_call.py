"""What is kept for a call stands in columns that are named after its output."""

from __future__ import annotations

import pyarrow as pa

from panes.kernels.stateful.call import StatefulCall


def test_a_call_finds_what_was_kept_for_it() -> None:
    call = StatefulCall("had_changed", ("x", "y"), "changed")
    carry = pa.table({"changed 0": pa.chunked_array([[1], [2]]), "other 1": [0, 0], "changed 1": [3, 4], "k": [5, 6]})
    assert [one.to_pylist() for one in call.kept(carry)] == [[1, 2], [3, 4]]
    assert call.kept(carry.drop_columns(["changed 0"])) == []
    assert call.kept(None) == []
