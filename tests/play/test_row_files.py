"""Rows from files, as the table of the page has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from panes.play.document import PlayRow
from panes.play.row_files import RowFileError, named_file, stream_rows


def test_rows_come_in_the_micro_batches_that_they_name(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("k,v,_batch\na,1,2\nb,,1\n")
    assert stream_rows("t", file).rows == (PlayRow(0, {"k": "b", "v": None}), PlayRow(1, {"k": "a", "v": "1"}))


def test_values_of_json_become_texts(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text('{"k": "a", "v": 1.5, "l": [1], "b": true, "n": null}\n')
    assert stream_rows("t", file).rows == (PlayRow(0, {"k": "a", "v": "1.5", "l": "[1]", "b": "true", "n": None}),)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\xff")
    (tmp_path / "long.csv").write_text("k\n" + "a\n" * 2001)
    for name in ("none.csv", "broken.json", "bytes.csv", "long.csv"):
        with pytest.raises(RowFileError):
            stream_rows("t", tmp_path / name)
    for option in ("t", "=x.csv", "t="):
        with pytest.raises(RowFileError):
            named_file(option)
