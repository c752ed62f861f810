"""Rows from files: their types, their micro-batches, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from panes.catalog import Column, Stream
from panes.errors import PanesError
from panes.trace.given import Given, in_batches, read_rows, values_of

TYPES = {"k": "string", "n": "int", "v": "double", "b": "boolean", "xs": "array<int>", "ts": "timestamp"}
STREAM = Stream("t", tuple(Column(name, type_) for name, type_ in TYPES.items()))


def written(folder: Path, name: str, text: str) -> Given:
    (folder / name).write_text(text, encoding="utf-8")
    return read_rows(folder / name)


def test_texts_become_values_of_their_columns(tmp_path: Path) -> None:
    given = written(tmp_path, "t.csv", 'K,n,v,b,xs,ts\na,1,2.5,true,"[1, 2]",2024-01-01\n,,,,,\n')
    rows = [row for batch in values_of(given, STREAM) for row in batch]
    assert rows == [("a", 1, 2.5, True, [1, 2], "2024-01-01"), (None,) * 6]


def test_json_is_a_list_or_an_object_a_line(tmp_path: Path) -> None:
    lines = written(tmp_path, "t.json", '{"k": "a", "n": 1}\n\n{"k": "b"}\n')
    assert lines == written(tmp_path, "u.json", '[{"k": "a", "n": 1}, {"k": "b"}]')
    assert values_of(lines, STREAM)[1][0] == ("b", None, None, None, None, None)


def test_a_row_says_its_micro_batch() -> None:
    given = in_batches([{"_batch": "3", "k": "c"}, {"_batch": 1, "k": "a"}, {"_batch": 3, "k": "d"}], "t.csv")
    assert given.batches == (({"k": "a"},), (), ({"k": "c"}, {"k": "d"}))


@pytest.mark.parametrize(("rows", "sizes"), [(0, []), (4, [1] * 4), (8, [1] * 8), (9, [2, 2, 2, 2, 1]), (40, [5] * 8)])
def test_else_a_few_rows_come_one_by_one_and_many_in_eight_parts(rows: int, sizes: list[int]) -> None:
    assert [len(batch) for batch in in_batches([{"k": "a"}] * rows, "t").batches] == sizes


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("t.csv", "n\nmany\n", "malformed-record"),
        ("t.csv", "b\nperhaps\n", "malformed-record"),
        ("t.csv", "_batch,n\n0,1\n", "malformed-record"),
        ("t.csv", "_batch,n\n,1\n", "malformed-record"),
        ("t.csv", "price\n1\n", "unknown-column"),
        ("t.json", "{", "malformed-record"),
        ("t.json", "[1]", "malformed-record"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, name: str, text: str, code: str) -> None:
    with pytest.raises(PanesError) as refused:
        values_of(written(tmp_path, name, text), STREAM)
    assert refused.value.code == code


def test_the_first_value_of_a_change_is_its_type() -> None:
    stream = Stream("t", (Column("k", "string"),), changelog=True)
    given = in_batches([{"k": "a", "_change_type": "insert"}], "t")
    assert values_of(given, stream) == [[("insert", "a")]]
