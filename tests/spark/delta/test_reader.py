"""A Delta table as a stream, planned and read as Spark would: no session is needed for that."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import LongType, StringType, StructField, StructType

from panes.connectors.delta import DeltaSource
from panes.errors import PanesError
from panes.spark.delta.reader import Offset, Reading, Versions
from panes.spark.memory import Memory

FEED = {"delta.enableChangeDataFeed": "true"}
Row = tuple[Any, ...]


def table(rows: list[Row]) -> pa.Table:
    ids, values = ([row[place] for row in rows] for place in (0, 1))
    return pa.table({"id": pa.array(ids, pa.int64()), "v": pa.array(values, pa.string())})


def write(path: Path, rows: list[Row], mode: Any = "append", **options: Any) -> None:
    write_deltalake(str(path), table(rows), mode=mode, **options)


def schema(*names: str) -> StructType:
    return StructType([StructField(name, LongType() if name == "id" else StringType()) for name in names])


def changes(path: Path, **options: Any) -> Versions:
    reading = Reading(DeltaSource(str(path), **options), True, ("id", "_change_type"), Memory(1 << 30, 1))
    return Versions(reading, schema("_change_type", "id", "v"))


def rows(path: Path, *names: str, **options: Any) -> Versions:
    reading = Reading(DeltaSource(str(path), **options), False, (), Memory(1 << 30, 1))
    return Versions(reading, schema(*(names or ("id", "v"))))


def taken(reader: Versions, start: Offset, end: Offset | None = None) -> list[Row]:
    """All rows between two offsets, in order."""
    parts = reader.partitions(start, end or reader.latestOffset(start, ReadAllAvailable()))
    batches = [batch for part in parts for batch in reader.read(part)]
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Version 0 has two rows, 1 updates and deletes, 2 is compaction, 3 replaces all, 4 has metadata alone."""
    path = tmp_path / "t"
    write(path, [(1, "a")], configuration=FEED)
    write(path, [(2, "b")])
    found = DeltaTable(str(path))
    source = pa.table({"id": [1, 2], "v": ["A", "-"], "gone": [False, True]})
    merge = found.merge(source, "t.id = s.id", "s", "t").when_matched_delete("s.gone")
    merge.when_matched_update({"v": "s.v"}).execute()
    write(path, [(3, "c")])
    DeltaTable(str(path)).optimize.compact()
    write(path, [(1, "x"), (3, "c"), (4, "y")], mode="overwrite")
    DeltaTable(str(path)).alter.set_table_properties({"delta.logRetentionDuration": "interval 1 days"})
    return path


CHANGES = {
    2: [("update_preimage", 1, "a"), ("update_postimage", 1, "A"), ("delete", 2, "b")],
    3: [("insert", 3, "c")],
    4: [],
    5: [
        ("delete", 1, "A"), ("insert", 1, "x"), ("delete", 3, "c"), ("insert", 3, "c"), ("insert", 4, "y"),
    ],
    6: [],
}  # fmt: skip


def test_a_snapshot_and_the_changes_after_it(path: Path) -> None:
    reader = changes(path, starting_version=1)
    start = reader.initialOffset()
    found = taken(reader, start)
    assert sorted(found[:2]) == [("insert", 1, "a"), ("insert", 2, "b")]
    assert found[2:] == [change for version in sorted(CHANGES) for change in CHANGES[version]]


@pytest.mark.parametrize("version", CHANGES)
def test_a_version_is_read_as_a_whole_and_in_order(path: Path, version: int) -> None:
    before, after = ({"version": number, "snapshot": False} for number in (version - 1, version))
    assert taken(changes(path), before, after) == CHANGES[version]


def test_it_begins_with_what_is_there(path: Path) -> None:
    reader = changes(path)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    assert end == {"version": 6, "snapshot": False, "table": str(DeltaTable(str(path)).metadata().id)}
    assert sorted(taken(reader, start)) == [("insert", 1, "x"), ("insert", 3, "c"), ("insert", 4, "y")]
    write(path, [(5, "z")])
    assert taken(reader, end) == [("insert", 5, "z")]


def test_the_first_micro_batch_is_the_same_when_it_runs_again(path: Path) -> None:
    """Spark has written down where it ends, not where it begins; the table has moved on since."""
    end = changes(path).latestOffset(changes(path).initialOffset(), ReadAllAvailable())
    write(path, [(5, "z")])
    for snapshot, expected in ((True, [("insert", 1, "x"), ("insert", 3, "c"), ("insert", 4, "y")]), (False, [])):
        again = changes(path, snapshot=snapshot)
        assert sorted(taken(again, again.initialOffset(), end)) == expected
        assert taken(again, end) == [("insert", 5, "z")]


def test_without_a_snapshot(path: Path) -> None:
    reader = changes(path, snapshot=False)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert taken(reader, reader.initialOffset(), end) == []
    assert reader.latestOffset(end, ReadAllAvailable()) == end
    assert taken(changes(path, starting_version=4, snapshot=False), {"version": 4, "snapshot": False}) == CHANGES[5]


def test_at_most_so_many_versions(path: Path) -> None:
    """The snapshot is a micro-batch of its own; what comes after the start of a run that ends is left to the next."""
    reader = changes(path, starting_version=1, max_versions=2)
    reader.prepareForTriggerAvailableNow()
    write(path, [(5, "z")])
    offsets = [reader.initialOffset()]
    while (last := reader.latestOffset(offsets[-1], reader.getDefaultReadLimit())) != offsets[-1]:
        offsets.append(last)
    assert [one["version"] for one in offsets] == [1, 1, 3, 5, 6]
    assert [one["snapshot"] for one in offsets] == [True, False, False, False, False]


def test_spark_4_1_says_nothing_of_a_start(path: Path) -> None:
    assert changes(path, starting_version=1).latestOffset()["version"] == 6


def test_options_there_and_back() -> None:
    source = DeltaSource("s3://b/t", 3, False, 7, {"aws_region": "eu"})
    reading = Reading(source, True, ("a b", "_change_type"), Memory(None, 2))
    assert Reading.of(reading.options()) == reading


# Append-only


def test_a_column_that_came_later_is_null_before(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path, [(1, "a")])
    later = pa.table({"id": pa.array([2], pa.int64()), "v": ["b"], "w": ["c"]})
    write_deltalake(str(path), later, mode="append", schema_mode="merge")
    reader = rows(path, "id", "w", "v", starting_version=0)
    assert taken(reader, reader.initialOffset()) == [(1, None, "a"), (2, "c", "b")]


def test_a_text_with_another_end_of_line(tmp_path: Path) -> None:
    """delta-rs writes the least and the largest text of a file into the log as they are."""
    path = tmp_path / "t"
    write(path, [(1, "a")])
    write(path, [(2, "x\u2028y\u0085z")])
    assert taken(rows(path), {"version": 0, "snapshot": False}) == [(2, "x\u2028y\u0085z")]


def test_appended_rows(tmp_path: Path) -> None:
    """In partitions whose values need quoting; compaction appends nothing."""
    path = tmp_path / "t"
    appended: list[list[str | None]] = [["a b", "c/d"], ["é%20=", None], ["a b"]]
    for version, values in enumerate(appended):
        write(path, [(10 * version + n, v) for n, v in enumerate(values)], partition_by="v")
    DeltaTable(str(path)).optimize.compact()
    write(path, [(30, "a b")])
    reader = rows(path, starting_version=0)
    start = reader.initialOffset()
    expected = [(0, "a b"), (1, "c/d"), (10, "é%20="), (11, None), (20, "a b"), (30, "a b")]
    assert sorted(taken(reader, start)) == expected
    assert sorted(taken(reader, {"version": 0, "snapshot": False})) == expected[2:]
    assert taken(rows(path), {"version": 2, "snapshot": False}) == [(30, "a b")]
    assert sorted(taken(reader, rows(path).initialOffset())) == expected


def test_columns_may_be_left_out(path: Path) -> None:
    start, end = ({"version": 6, "snapshot": snapshot} for snapshot in (True, False))
    assert sorted(taken(rows(path, "v"), start, end)) == [("c",), ("x",), ("y",)]


def test_updates_of_an_append_only_stream_are_refused(path: Path) -> None:
    with pytest.raises(PanesError) as caught:
        rows(path).partitions({"version": 0, "snapshot": False}, {"version": 6, "snapshot": False})
    assert caught.value.code == "delta-failed"
    assert "version 2 of" in caught.value.message


# What is not there


def refused(reader: Versions, start: Offset | None = None) -> str:
    with pytest.raises(PanesError) as caught:
        taken(reader, reader.initialOffset() if start is None else start)
    assert caught.value.code == "delta-failed"
    return caught.value.message


def test_a_version_that_never_was(path: Path) -> None:
    assert "has no version 7 yet" in refused(changes(path, starting_version=7))


def test_a_version_that_was_cleaned_up(path: Path) -> None:
    DeltaTable(str(path)).create_checkpoint()
    for version in range(5):
        (path / "_delta_log" / f"{version:020}.json").unlink()
    assert taken(changes(path), {"version": 4, "snapshot": False}) == CHANGES[5]
    assert "version 2 of" in refused(changes(path), {"version": 1, "snapshot": False})
    assert "version 3 of" in refused(changes(path, starting_version=3))


def test_files_that_were_removed(path: Path) -> None:
    for file in (path / "_change_data").iterdir():
        file.unlink()
    assert "version 2 of" in refused(changes(path), {"version": 1, "snapshot": False})
    DeltaTable(str(path)).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert "version 3 of" in refused(changes(path), {"version": 3, "snapshot": True})


def test_a_version_from_before_the_feed(tmp_path: Path) -> None:
    """Its files tell: more changes, which come to the same."""
    path = tmp_path / "t"
    write(path, [(1, "a"), (2, "b")])
    DeltaTable(str(path)).update({"v": "'A'"}, predicate="id = 1")
    DeltaTable(str(path)).alter.set_table_properties(FEED)
    write(path, [(3, "c")])
    assert taken(changes(path), {"version": 0, "snapshot": False}) == [
        ("delete", 1, "a"), ("insert", 1, "A"), ("delete", 2, "b"), ("insert", 2, "b"), ("insert", 3, "c"),
    ]  # fmt: skip


def test_a_table_that_was_made_anew(tmp_path: Path) -> None:
    """Its versions are others, whatever their numbers; offsets of an old checkpoint have no id, and go on."""
    path = tmp_path / "t"
    write(path, [(1, "a")])
    write(path, [(2, "b")])
    before = rows(path).latestOffset(rows(path).initialOffset(), ReadAllAvailable())
    known = {name: value for name, value in before.items() if name != "table"}
    shutil.rmtree(path)
    for number in range(3):
        write(path, [(number, "new")])
    for refused in (
        lambda: rows(path).latestOffset(before, ReadAllAvailable()),
        lambda: rows(path).partitions(rows(path).initialOffset(), before),
    ):
        with pytest.raises(PanesError) as caught:
            refused()
        assert caught.value.code == "delta-failed"
        assert "made anew" in caught.value.message
    assert taken(rows(path), known) == [(2, "new")]
