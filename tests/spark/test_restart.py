"""A checkpoint belongs to one query: what has changed is refused before any state is written, the rest goes on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from panes.spark.session import KEEPING, MANAGER, check_checkpoint
from spark.input_files import at, write_file
from spark.session_settings import setting

pytestmark = pytest.mark.spark

QUERY = "SELECT k, sum(v) AS s, unix_millis(window_start()) AS start FROM t GROUP BY tumblingwindow('ss', 10), k"
# Rows of six files, a second late at most: (second, key, value).
FILES = [[(5 * n, "a", n), (5 * n + 1, "b", 10 * n), (5 * n - 1 if n else 0, "c", 1)] for n in range(6)]


def expected(files: list[list[tuple[int, str, int]]] = FILES) -> Counter[tuple[str, int, int]]:
    """Each window once: key, sum, start."""
    sums: Counter[tuple[str, int]] = Counter()
    for second, k, v in (row for rows in files for row in rows):
        sums[k, second // 10 * 10_000] += v
    return Counter((k, s, start) for (k, start), s in sums.items())


class Script:
    """A script in a folder: its input, its sink `out` and its checkpoint."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self.spark, self.written = folder, spark, 0
        self.checkpoint = folder / "checkpoint"

    def feed(self, count: int) -> None:
        """The next files come in."""
        for rows in FILES[self.written : self.written + count]:
            lines = ({"ts": at(second * 1000), "k": k, "v": v} for second, k, v in rows)
            write_file(self.folder / "in", self.written, lines)
            self.written += 1

    def text(self, query: str = QUERY, type_: str = "BIGINT", sink: str = "out") -> str:
        return f"""
            CREATE STREAM t (ts TIMESTAMP, k STRING, v {type_}, WATERMARK FOR ts AS ts - INTERVAL 2 SECONDS)
            WITH (connector = 'json', path = '{self.folder}/in', maxFilesPerTrigger = '1');
            CREATE SINK {sink} WITH (connector = 'parquet', path = '{self.folder}/{sink}');
            INSERT INTO {sink} {query};
        """

    def run(self, text: str | None = None, shards: int | None = None, **options: Any) -> None:
        Engine(self.spark, shards=shards).run(
            self.text() if text is None else text, checkpoint=self.checkpoint, **(options or {"once": True})
        )

    def refused(self, text: str | None = None, shards: int | None = None, **options: Any) -> PanesError:
        before = self.files()
        with pytest.raises(PanesError) as caught:
            self.run(text, shards, **options)
        assert self.files() == before
        return caught.value

    def uncommit(self, sink: bool = False) -> int:
        """As if Spark had been killed before the end of its last micro-batch, or before the sink had it; its number."""
        logs = [self.checkpoint / "1-out" / "spark" / "commits", self.folder / "out" / "_spark_metadata"]
        last = max(int(log.name) for log in logs[0].iterdir() if log.name.isdigit())
        for log in logs if sink else logs[:1]:
            for name in (f"{last}", f".{last}.crc"):
                (log / name).unlink(missing_ok=True)
        return last

    def files(self) -> dict[str, int]:
        """Everything in the checkpoint, with its last change."""
        return {str(file): file.stat().st_mtime_ns for file in self.checkpoint.rglob("*") if file.is_file()}

    def held(self, sink: str = "out") -> Counter[tuple[str, int, int]]:
        return Counter(tuple(row) for row in self.spark.read.parquet(str(self.folder / sink)).collect())


@pytest.fixture
def script(tmp_path: Path, spark: SparkSession) -> Script:
    """A script that has read half of its input."""
    one = Script(tmp_path, spark)
    one.feed(3)
    return one


ZONE, ANSI, PARTITIONS = "spark.sql.session.timeZone", "spark.sql.ansi.enabled", "spark.sql.shuffle.partitions"


def test_it_goes_on_with_another_folder(script: Script) -> None:
    """Spark's log of the new folder begins in the middle; who reads the two has everything."""
    script.run()
    script.feed(3)
    script.run(script.text().replace("/out'", "/other'"), flush=True)
    assert script.held("out") + script.held("other") == expected()


def test_what_changed_is_refused_at_the_start(script: Script, spark: SparkSession) -> None:
    script.run()
    script.feed(3)
    errors = {
        "size was 10 s, now 20 s": script.refused(script.text(QUERY.replace("10", "20"))),
        "sum(v + 1) is new": script.refused(script.text(QUERY.replace("sum(v)", "sum(v + 1)"))),
        "where is new: k > 'a'": script.refused(script.text(QUERY.replace("FROM t", "FROM t WHERE k > 'a'"))),
        "v was bigint, now double": script.refused(script.text(type_="DOUBLE")),
        "shards was 2, now 5": script.refused(shards=5),
    }
    with setting(spark, ZONE, "Asia/Tokyo"):
        errors["time zone was UTC, now Asia/Tokyo"] = script.refused()
    with setting(spark, ANSI, "false"):
        errors["ANSI mode was true, now false"] = script.refused()
    assert {error.code for error in errors.values()} == {"state-mismatch"}
    assert [said for said, error in errors.items() if said not in error.message] == []
    assert "shards=2" in (errors["shards was 2, now 5"].hint or "")
    script.run(flush=True)
    assert script.held() == expected()


def test_what_changed_is_refused_in_the_worker(tmp_path: Path, spark: SparkSession) -> None:
    """Under a user's own writeStream the first micro-batch finds it out, and nothing is committed."""
    script = Script(tmp_path, spark)
    script.feed(3)

    def start(query: str = QUERY, shards: int = 2) -> None:
        engine = Engine(spark, shards=shards)
        reader = spark.readStream.schema("ts timestamp, k string, v bigint").option("maxFilesPerTrigger", 1)
        engine.stream("t", reader.json(str(tmp_path / "in")), time="ts", watermark="2 seconds")
        writer = engine.sql(query).writeStream.format("parquet").option("path", str(tmp_path / "out"))
        writer = writer.option("checkpointLocation", str(script.checkpoint)).trigger(availableNow=True)
        writer.start().awaitTermination()

    def refused(query: str = QUERY, shards: int = 2) -> str:
        before = committed()
        with pytest.raises(StreamingQueryException) as caught:
            start(query, shards)
        assert committed() == before
        return str(caught.value)

    def committed() -> set[str]:
        return {file.name for file in script.checkpoint.glob("commits/*")}

    start()
    script.feed(3)
    assert "PanesError: state-mismatch: " in refused(QUERY.replace("10", "20"))
    assert "shards was 2, now 3" in refused(shards=3)
    with setting(spark, ZONE, "Asia/Tokyo"):
        assert "time zone was UTC, now Asia/Tokyo" in refused()
    with setting(spark, ANSI, "false"):
        assert "ANSI mode was true, now false" in refused()
    start()
    open_ = {start for _, _, start in expected() if start + 10_000 > (26 - 2) * 1000}
    assert script.held() == Counter({row: n for row, n in expected().items() if row[2] not in open_})


def test_what_stands_above_the_operators_may_change(script: Script, spark: SparkSession) -> None:
    """Expressions of the SELECT list, aliases, HAVING, the order of columns, layout and comments."""
    script.run()
    script.feed(3)
    changed = """
        SELECT -- the sum and its window
               unix_millis(window_start()) AS start, 0 + sum( V ) AS s, upper(K) AS k
        FROM (SELECT v AS v, k, ts FROM t) GROUP BY K, tumblingwindow('ss', 10) HAVING sum(v) >= 0
    """
    script.run(script.text(changed), flush=True)
    held = {(row.k.lower(), row.s, row.start) for row in spark.read.parquet(f"{script.folder}/out").collect()}
    assert held == set(expected())


def test_of_a_changelog_what_came_out_cannot_change(tmp_path: Path, spark: SparkSession) -> None:
    """Neither HAVING nor the SELECT list: what was emitted cannot be taken back."""
    script = Script(tmp_path, spark)
    script.feed(3)
    changes = script.text().replace("path = '" + f"{tmp_path}/out'", f"path = '{tmp_path}/out', changelog = 'rows'")
    script.run(changes.replace("'ss', 10), k", "'ss', 10), k EMIT CHANGES"))
    for old, new in (("'ss', 10), k", "'ss', 10), k HAVING sum(v) > 1"), ("sum(v) AS s", "1 + sum(v) AS s")):
        error = script.refused(
            changes.replace(old, new).replace("k;", "k EMIT CHANGES;").replace("1;", "1 EMIT CHANGES;")
        )
        assert error.code == "state-mismatch"


def test_rows_that_wait_hold_the_columns_that_were_asked_for(tmp_path: Path, spark: SparkSession) -> None:
    """A query that reads fewer of them goes on; then they are gone, and one that reads them is another."""
    script = Script(tmp_path, spark)
    script.feed(3)
    call = "lag(k) OVER (PARTITION BY k ORDER BY ts) AS before"
    rows = script.text(f"SELECT k, {call}, v FROM t")
    script.run(rows)
    assert "rank() is new" in script.refused(rows.replace(call, f"{call}, {call.replace('lag(k)', 'rank()')}")).message
    script.feed(2)
    script.run(script.text(f"SELECT {call}, lower(k) AS k FROM t"))
    assert "v is new" in script.refused(rows).message
    script.run(script.text(f"SELECT {call}, k FROM t"), flush=True)
    held = spark.read.parquet(f"{tmp_path}/out").select("k", "before").collect()
    assert Counter(tuple(row) for row in held) == Counter({(k, None): 1 for k in "abc"} | {(k, k): 4 for k in "abc"})


def test_the_shard_count_comes_from_the_checkpoint(script: Script, spark: SparkSession) -> None:
    script.run(shards=3)
    script.feed(2)
    with setting(spark, PARTITIONS, "4"):
        script.run()
    script.feed(1)
    script.run(shards=3, flush=True)
    assert script.held() == expected()


def test_a_flushed_checkpoint_is_sealed(script: Script) -> None:
    script.run(flush=True)
    held = script.held()
    assert held == expected(FILES[:3])
    script.feed(1)
    sealed: list[dict[str, Any]] = [{"once": True}, {"flush": True}, {"once": False}]
    for options in sealed:
        assert script.refused(**options).code == "stream-ended"
    assert script.refused(script.text(QUERY.replace("10", "20"))).code == "stream-ended"
    assert script.held() == held


def test_a_restart_does_not_flush(script: Script) -> None:
    for _ in range(2):
        script.run()
        assert all(start + 10_000 <= (11 - 2) * 1000 for _, _, start in script.held())


def test_a_flush_that_died_before_spark_saw_it_did_not_happen(script: Script) -> None:
    script.run()
    (script.checkpoint / "1-out" / "panes-control" / "ended.json").write_text('{"ended": true}\n')
    script.feed(3)
    script.run()
    script.run(flush=True)
    assert script.held() == expected()


def test_a_flush_that_died_before_the_seal_is_finished(script: Script) -> None:
    """Spark replays its last micro-batch, and what has come since stays unread."""
    script.run(flush=True)
    (script.checkpoint / "panes-ended.json").unlink()
    script.uncommit()
    script.feed(2)
    script.run()
    assert script.held() == expected(FILES[:3])
    assert script.refused().code == "stream-ended"


def test_a_micro_batch_that_is_replayed_leaves_the_same_state(script: Script, spark: SparkSession) -> None:
    """Names of chunks included: Spark takes two attempts of a task as interchangeable."""
    with setting(spark, "spark.sql.streaming.noDataMicroBatches.enabled", "false"):
        script.run()
    version, state = script.uncommit(sink=True) + 1, script.checkpoint / "1-out" / "spark" / "state"
    files = [file for file in state.rglob(f"{version}.*") if file.suffix != ".crc"]  # Spark 4.1's has a time in it
    before = {file: file.read_bytes() for file in files}
    script.feed(3)
    script.run(flush=True)
    assert before
    assert [file for file, old in before.items() if file.exists() and file.read_bytes() != old] == []
    assert list(state.rglob("*.tmp")) == []
    assert script.held() == expected()


def test_a_query_may_change_until_its_first_micro_batch(tmp_path: Path, spark: SparkSession) -> None:
    script = Script(tmp_path, spark)
    (tmp_path / "in").mkdir()
    script.run(script.text(QUERY.replace("10", "20")))
    script.feed(6)
    script.run(flush=True)
    assert script.held() == expected()


def test_a_kill_before_the_first_micro_batch_leaves_nothing(script: Script) -> None:
    """Spark writes its log beside the place and renames it; what it left half written would stop the next start."""
    offsets = script.checkpoint / "1-out" / "spark" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / ".0.95bc0d4a-2fb1-4bf9-a6a8-5a2d1f3c7e6f.tmp").write_text("v1")
    script.run(flush=True)
    assert script.held() == expected(FILES[:3])


def test_inserts_may_come_and_go(script: Script) -> None:
    """Each has its own state, whatever stands before it."""
    script.run()
    script.feed(3)
    other = f"""
        CREATE SINK other WITH (connector = 'parquet', path = '{script.folder}/other');
        INSERT INTO other {QUERY};
    """
    create, insert = script.text().split("CREATE SINK")
    script.run(f"{create} {other} CREATE SINK {insert}")
    script.run(flush=True)
    assert script.held() == expected()


def test_a_sink_that_another_checkpoint_wrote_to_is_refused(script: Script) -> None:
    """Spark would take its micro-batches for written."""
    script.run()
    script.checkpoint = script.folder / "another"
    assert script.refused().code == "state-mismatch"


def test_two_inserts_into_one_folder_are_refused(script: Script) -> None:
    assert script.refused(f"{script.text()} INSERT INTO out {QUERY}").code == "stream-options"


def test_checkpoints_that_keep_the_state_of_a_first_attempt_are_refused(spark: SparkSession) -> None:
    spark.conf.set(MANAGER, KEEPING)
    try:
        with pytest.raises(PanesError, match="FileSystemBasedCheckpointFileManager") as caught:
            Engine(spark)
    finally:
        spark.conf.unset(MANAGER)
    assert caught.value.code == "unsafe-checkpoint"


def test_a_file_system_for_which_spark_keeps_the_state_of_a_first_attempt_is_refused(spark: SparkSession) -> None:
    for path in ("/tmp/c", "file:///tmp/c", "hdfs://host/c", "s3a://bucket/c", "abfss://c@account/c", "gs://bucket/c"):
        check_checkpoint(spark, path)
    with pytest.raises(PanesError, match=r"fs\.AbstractFileSystem\.odd\.impl") as caught:
        check_checkpoint(spark, "odd://host/c")
    assert caught.value.code == "unsafe-checkpoint"
    spark.conf.set("fs.AbstractFileSystem.odd.impl", "org.apache.hadoop.fs.local.LocalFs")
    check_checkpoint(spark, "odd://host/c")
    spark.conf.unset("fs.AbstractFileSystem.odd.impl")


def test_an_unsafe_file_system_is_refused_before_anything_is_written(script: Script) -> None:
    script.checkpoint = Path(f"odd:{script.folder}/checkpoint")
    assert script.refused().code == "unsafe-checkpoint"


def test_another_type_of_a_column_is_refused(tmp_path: Path, spark: SparkSession) -> None:
    """Sorted blocks hold keys of a fixed width: rows of another type would stand in wrong places."""
    query = "SELECT id, row_number() OVER (PARTITION BY k ORDER BY v) AS n FROM t EMIT CHANGES"

    def run(type_: str) -> None:
        schema = f"id {type_}, k string, v int, ts timestamp"
        rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(f"{tmp_path}/in")
        engine = Engine(spark, shards=1)
        engine.stream("t", rows, time="ts", watermark="0 seconds", key=["id"])
        writer = engine.sql(query).writeStream.format("noop").option("checkpointLocation", f"{tmp_path}/checkpoint")
        writer.trigger(availableNow=True).start().awaitTermination()

    write_file(tmp_path / "in", 0, [{"id": 1, "k": "a", "v": 3, "ts": at(0)}])
    run("int")
    write_file(tmp_path / "in", 1, [{"id": 2, "k": "a", "v": 2, "ts": at(1)}])
    with pytest.raises(StreamingQueryException, match="id was int, now bigint"):
        run("bigint")
    run("int")
