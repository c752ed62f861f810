"""A result on its way: however large, in order, in pieces; its file is gone when it has been read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from panes.kernels.bounded import MOST_BYTES
from panes.spark.blob import from_bytes
from panes.spark.results import LENGTH, Result, read_result, write_result


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    return tmp_path


def test_a_small_result_is_a_blob(folder: Path) -> None:
    assert write_result([], ("v",)) == Result()
    done = write_result([pa.table({"v": [1, 2], "other": [0, 0]})], ("v",))
    assert (done.rows, done.file) == (2, None)
    assert [table.to_pydict() for table in read_result(done.blob, done.file)] == [{"v": [1, 2]}]
    assert not list(folder.iterdir())


def test_a_large_one_is_in_pieces_of_a_file(folder: Path) -> None:
    """No piece is made before the one before it has been written."""
    made: list[int] = []
    size = MOST_BYTES // 8

    def tables() -> Iterator[pa.Table]:
        for number in range(4):
            made.append(number)
            yield pa.table({"v": pa.array(np.arange(size * 2) + number)})

    done = write_result(tables(), ("v",))
    assert (done.rows, made) == (8 * size, [0, 1, 2, 3])
    assert done.blob is not None and from_bytes(done.blob).nbytes <= MOST_BYTES
    assert [path.name for path in folder.iterdir()] == [Path(done.file or "").name]
    with Path(done.file or "").open("rb") as file:
        assert int.from_bytes(file.read(LENGTH), "little") < MOST_BYTES
    found = list(read_result(done.blob, done.file))
    assert all(table.nbytes <= MOST_BYTES for table in found)
    assert pa.concat_tables(found).equals(pa.concat_tables(tables()))
    assert not list(folder.iterdir())


def test_a_file_that_is_not_there_is_said() -> None:
    with pytest.raises(FileNotFoundError):
        list(read_result(None, "/nowhere/at all"))
