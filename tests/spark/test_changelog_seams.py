"""Changelogs across shards, tasks, files and micro-batches: whatever is cut, the result is the query over the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from present import present
from pyspark.sql import SparkSession

from panes import Engine
from panes.testing import Replay, Stream, replay

from .compare import check_rows
from .input_files import write_file

pytestmark = pytest.mark.spark

INSERT, DELETE, BEFORE, AFTER = "insert", "delete", "update_preimage", "update_postimage"
SCHEMA = "id int, p string, x int"
RANKED = "SELECT id, p, x, rank() OVER (PARTITION BY p ORDER BY x) AS r FROM t"


def run(spark: SparkSession, sql: str, *batches: Sequence[Any], schema: str = SCHEMA, **options: Any) -> Replay:
    more = {name: options.pop(name) for name in ("clock", "restart_after") if name in options}
    stream = Stream(schema, batches, key=["id"], changelog=True, **options)
    return replay(sql, flush=False, spark=spark, shards=2, t=stream, **more)


def tables(done: Replay) -> list[list[tuple[Any, ...]]]:
    """What the changes add up to after each micro-batch."""
    steps = [Replay(done.batches[: number + 1], [], []).table for number in range(len(done.batches))]
    return [sorted(tuple(row.values()) for row in step) for step in steps]


# ── Line 3: sequence ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("partition", ["p", "id"])
def test_sequence_orders_changes_across_micro_batches(spark: SparkSession, partition: str) -> None:
    """Sequences 1, 3, 2: the last is stale, in one micro-batch or in three; a tombstone outlives a restart."""
    sql = f"SELECT id, p, x, sum(x) OVER (PARTITION BY {partition} ORDER BY x) AS s FROM t"
    changes = [
        *[(INSERT, 1, "a", 10, 1), (AFTER, 1, "b", 20, 3), (AFTER, 1, "a", 30, 2)],
        *[(DELETE, 2, None, None, 5), (INSERT, 2, "a", 7, 4), (INSERT, 1, "b", 5, 3)],
    ]
    schema = f"{SCHEMA}, seq bigint"
    whole = run(spark, sql, changes, schema=schema, sequence="seq")
    cut = run(spark, sql, *([one] for one in changes), schema=schema, sequence="seq", restart_after=[3])
    assert tables(whole)[-1] == tables(cut)[-1] == [(1, "b", 5, 5)]
    assert whole.counter("stale_rows") == cut.counter("stale_rows") == 2


def test_sequence_of_a_deleted_key_is_kept_for_state_ttl(spark: SparkSession) -> None:
    times = ["2024-01-01 00:00:00", "2024-01-01 00:00:10", "2024-01-01 00:00:21"]
    batches: list[list[tuple[Any, ...]]] = [
        [(DELETE, 1, None, None, 5)],
        [(INSERT, 1, "a", 1, 4)],
        [(INSERT, 1, "a", 2, 3)],
    ]
    done = run(
        spark, RANKED, *batches, schema=f"{SCHEMA}, seq int", sequence="seq", state_ttl="20 seconds", clock=times
    )
    assert tables(done) == [[], [], [(1, "a", 2, 1)]]
    assert done.counter("stale_rows") == 1


# ── Line 6: changelog seams ───────────────────────────────────────────────────────────────────────────────────────


def test_lone_postimage_moves_a_row_to_another_shard(spark: SparkSession) -> None:
    """No preimage tells the old shard; deletes bring only their key."""
    moves: list[list[tuple[Any, ...]]] = [
        [(AFTER, key, "bcdefg"[key], key) for key in range(6)],
        [(DELETE, key, None, None) for key in range(6)],
    ]
    done = run(spark, RANKED, [(INSERT, key, "abcdef"[key], 0) for key in range(6)], *moves)
    assert tables(done)[1:] == [[(key, "bcdefg"[key], key, 1) for key in range(6)], []]


def test_lone_postimage_that_where_rejects_deletes_the_row(spark: SparkSession) -> None:
    """Below OVER, above it, and without any; and what WHERE let in again comes back."""
    rows = [[(INSERT, 1, "a", 5), (INSERT, 2, "a", 7)], [(AFTER, 1, "a", -5)], [(AFTER, 1, "b", 8)]]
    below = run(spark, f"{RANKED} WHERE x > 0", *rows)
    assert tables(below) == [
        [(1, "a", 5, 1), (2, "a", 7, 2)],
        [(2, "a", 7, 1)],
        [(1, "b", 8, 1), (2, "a", 7, 1)],
    ]
    above = run(spark, f"SELECT * FROM ({RANKED}) WHERE x > 0", *rows)
    assert tables(above) == [
        [(1, "a", 5, 1), (2, "a", 7, 2)],
        [(2, "a", 7, 2)],
        [(1, "b", 8, 1), (2, "a", 7, 1)],
    ]
    alone = run(spark, "SELECT id, p FROM t WHERE x > 0", *rows)
    assert [[tuple(row.values()) for row in batch] for batch in alone.batches[1:]] == [
        [(DELETE, 1, "a")],
        [(INSERT, 1, "b")],
    ]


PAIRS = [(BEFORE, 1, "a", 1), (BEFORE, 2, "a", 2), (AFTER, 2, "b", -2), (AFTER, 1, "a", 3), (BEFORE, 3, "c", 3)]


@pytest.mark.parametrize("preimages", ["maybe", "always"])
def test_pairs_are_apart_and_preimages_last(spark: SparkSession, preimages: str) -> None:
    """A preimage is the last row of a micro-batch, and pairs are not adjacent."""
    rows = [[(INSERT, 1, "a", 1), (INSERT, 2, "a", 2), (INSERT, 3, "c", 3)], PAIRS, [(AFTER, 3, "c", 4)]]
    done = run(spark, "SELECT id, p, x FROM t WHERE x > 0", *rows, preimages=preimages)
    assert tables(done)[1:] == [[(1, "a", 3)], [(1, "a", 3), (3, "c", 4)]]
    second = {(row["_change_type"], row["id"]) for row in done.batches[1]}
    assert second == {(BEFORE, 1), (AFTER, 1), (DELETE, 2), (DELETE, 3)}


@pytest.mark.parametrize("preimages", ["maybe", "always"])
def test_files_and_splits_inside_pairs(spark: SparkSession, tmp_path: Path, preimages: str) -> None:
    """Every row of a micro-batch is read by another task: files are split where no pair ends."""
    rows = [dict(zip(("_change_type", "id", "p", "x"), one, strict=True)) for one in PAIRS]
    before = [{**row, "_change_type": INSERT} for row in rows if row["_change_type"] == BEFORE]
    write_file(tmp_path / "t", 0, before)
    write_file(tmp_path / "t", 1, [*rows, {**rows[-1], "_change_type": AFTER, "x": 9}])
    old = present(spark.conf.get("spark.sql.files.maxPartitionBytes"))
    spark.conf.set("spark.sql.files.maxPartitionBytes", "70")
    try:
        engine = Engine(spark, shards=2)
        reader = spark.readStream.schema(f"_change_type string, {SCHEMA}").option("maxFilesPerTrigger", 1)
        source = reader.json(str(tmp_path / "t"))
        engine.stream("t", source, key=["id"], changelog=True, preimages=preimages)
        out: list[dict[str, Any]] = []
        writer = engine.sql("SELECT id, p, x FROM t WHERE x > 0").writeStream.foreachBatch(
            lambda df, number: out.extend(df.toArrow().to_pylist())
        )
        query = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
        query.awaitTermination()
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", old)
    check_rows(Replay([out], [], []).table, [{"id": 1, "p": "a", "x": 3}, {"id": 3, "p": "c", "x": 9}])
    assert [row["_change_type"] for row in out].count(DELETE) == 1


@pytest.mark.parametrize("options", [{}, {"preimages": "always"}])
def test_change_types_that_are_none_of_the_four_words(spark: SparkSession, options: dict[str, str]) -> None:
    sql = "SELECT id, x FROM t"
    rows = [(INSERT, 1, "a", 1), ("INSERT", 7, "a", 2), (None, 8, "a", 3)]
    done = run(spark, sql, rows, on_inconsistency="skip", **options)
    assert tables(done) == [[(1, 1)]]
    assert done.counter("inconsistent_rows") == 2
    with pytest.raises(Exception, match=r"inconsistent-change: .*'INSERT'.*: id = 7"):
        run(spark, sql, rows[:2], **options)


# ── Line 7: state_ttl ─────────────────────────────────────────────────────────────────────────────────────────────


TIMED = "SELECT id, count(*) OVER (PARTITION BY p ORDER BY x) AS c FROM t EMIT CHANGES"


def test_state_ttl_of_partitions_that_emit_changes(spark: SparkSession) -> None:
    """A row more than the ttl after the one before begins anew, as in a batch; one between joins the two again."""
    rows = [(1, "a", 1, 0), (2, "a", 2, 5), (3, "a", 3, 30), (4, "b", 1, 31), (5, "a", 4, 18), (6, "a", 5, 70)]
    timed = [(key, p, x, f"2024-01-01 00:{at // 60:02}:{at % 60:02}") for key, p, x, at in rows]
    options: dict[str, Any] = {"time": "ts", "state_ttl": "15 seconds", "key": ["id"]}
    stream = Stream(f"{SCHEMA}, ts timestamp", [timed[:4], timed[4:5], timed[5:]], watermark="15 seconds", **options)
    done = replay(TIMED, spark=spark, shards=2, t=stream)
    assert tables(done)[:2] == [[(1, 1), (2, 2), (3, 1), (4, 1)], [(1, 1), (2, 2), (3, 3), (4, 1), (5, 4)]]
    engine = Engine(spark, shards=2)
    engine.stream("t", spark.createDataFrame(timed, f"{SCHEMA}, ts string").selectExpr(
        "* EXCEPT (ts)", "CAST(ts AS TIMESTAMP) AS ts"), **options)  # fmt: skip
    batch = [(row["id"], row["c"]) for row in engine.sql(TIMED).collect()]
    assert tables(done)[-1] == sorted(batch) == [(1, 1), (2, 2), (3, 3), (4, 1), (5, 4), (6, 1)]
