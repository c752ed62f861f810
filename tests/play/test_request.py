"""A request that is not what it has to be is refused, whatever it is."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.play.document import Document, PlayRow, StreamRows
from panes.play.request import (
    MOST_BATCHES,
    MOST_ROWS,
    Arrangement,
    RefusedError,
    Way,
    arrange_request,
    document_of,
    run_request,
)

ROW = {"batch": 0, "values": {"k": "a"}}


def asked(**document: Any) -> dict[str, Any]:
    return {"document": {"sql": "", **document}}


def test_a_document_is_read_with_its_rows_in_the_order_of_their_micro_batches() -> None:
    rows = [{"batch": 1, "values": {"k": None}}, ROW]
    found = document_of(asked(sql="SELECT", streams=[{"name": "t", "rows": rows}], query=1))
    expected = (StreamRows("t", (PlayRow(0, {"k": "a"}), PlayRow(1, {"k": None}))),)
    assert found == Document("SELECT", expected, 1)
    assert document_of({"document": found.plain()}) == found


@pytest.mark.parametrize(
    "document",
    [
        {"sql": 1},
        {"sql": "x" * 200_001},
        {"streams": {}},
        {"streams": [[]]},
        {"streams": [{"rows": []}]},
        {"streams": [{"name": "t"}, {"name": "T"}]},
        {"streams": [{"name": "t", "rows": [[]]}]},
        {"streams": [{"name": "t", "rows": [{"batch": -1}]}]},
        {"streams": [{"name": "t", "rows": [{"batch": True}]}]},
        {"streams": [{"name": "t", "rows": [{"batch": MOST_BATCHES}]}]},
        {"streams": [{"name": "t", "rows": [{"batch": 0, "values": {"k": 1}}]}]},
        {"streams": [{"name": "t", "rows": [ROW] * (MOST_ROWS + 1)}]},
        {"query": "1"},
    ],
)
def test_documents_that_are_none(document: dict[str, Any]) -> None:
    with pytest.raises(RefusedError):
        document_of(asked(**document))


def test_runs_and_arrangements() -> None:
    found = run_request({**asked(), "way": "kill", "compare": True, "seed": 3})
    assert (found.way, found.compare, found.seed) == (Way.KILL, True, 3)
    assert run_request(asked()).way is Way.PLAIN
    assert arrange_request({**asked(), "arrangement": "cut"}).arrangement is Arrangement.CUT
    for wrong in ({"way": "x"}, {"compare": 1}, {"seed": -1}, {"seed": 1.5}):
        with pytest.raises(RefusedError):
            run_request({**asked(), **wrong})
    with pytest.raises(RefusedError):
        arrange_request(asked())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["sql", "streams", "name", "rows", "batch", "values"]), inner, max_size=4)
    ),
)


@given(JSON)
def test_anything_is_a_document_or_refused(given_: Any) -> None:
    with suppress(RefusedError):
        assert isinstance(document_of({"document": given_}), Document)
