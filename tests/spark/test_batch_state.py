"""What is put away is what it was, and nothing of it stays."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from panes.kernels.kernel import State, new_chunk, numbered_chunks
from panes.spark.batch_state import BatchState


def test_chunks_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    kept = BatchState()
    assert kept.put_away(State()) == State()
    with numbered_chunks():
        state = kept.put_away(State((new_chunk(pa.table({"v": [1]})),), {"a": 1}))
        more = kept.put_away(State((*state.chunks, new_chunk(pa.table({"v": [2, 3]})))))
    assert state.facts == {"a": 1}
    assert [chunk.load()["v"].to_pylist() for chunk in (*more.chunks, *state.chunks)] == [[1], [2, 3], [1]]
    kept.close()
    assert not list(tmp_path.iterdir())
