"""Blobs come in any order and are read in that of their places, from memory or a file that nobody sees."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from panes.spark.blob import to_bytes
from panes.spark.inbox import Inbox


@pytest.mark.parametrize("in_memory", [0, 700, 1 << 20])
def test_blobs_are_read_in_the_order_of_their_places(
    in_memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    inbox = Inbox(in_memory)
    for place in (5, 1 << 40, 0, 3):
        inbox.add(place, to_bytes(pa.table({"v": [place]})))
    assert (inbox._file is None) == (in_memory == 1 << 20)
    assert [table["v"].to_pylist() for table in inbox.tables()] == [[0], [3], [5], [1 << 40]]
    assert not list(tmp_path.iterdir())


def test_nothing_came() -> None:
    assert not list(Inbox().tables())
