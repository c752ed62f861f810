"""`panes rescale`: a query whose state was spread over other partitions goes on as if nothing had been."""

from __future__ import annotations

import json
import random
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from panes import Engine
from panes.cli.main import app
from panes.errors import PanesError
from panes.spark.lock import locked
from panes.spark.micro_batches import begun, committed, partitions
from panes.spark.rescale import rescale
from panes.spark.store import LocalPath
from spark.compare import check_rows, rows_of
from spark.input_files import at, write_file
from spark.plain_windows import ORDERED, TIME_WINDOWS, Row, ScriptFolder, expected, made
from spark.session_settings import setting

pytestmark = pytest.mark.spark

FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
SUMS = "SELECT k, sum(v) AS s, unix_millis(window_start()) AS start FROM t GROUP BY tumblingwindow('ss', 7), k"
SCHEMA = "ts timestamp, k string, v bigint"
SHARDS = 6


class Script(ScriptFolder):
    def run(self, spark: SparkSession, **options: Any) -> None:
        text = (self.folder / "script.sql").read_text(encoding="utf-8")
        Engine(spark, shards=SHARDS).run(text, checkpoint=self.checkpoint, **(options or {"once": True}))


def grown_and_shrunk(script: Script, files: list[list[Row]], spark: SparkSession) -> None:
    """A third of the files on two partitions, one on five, and one on two again."""
    each = len(files) // 3
    script.write(files[:each])
    script.run(spark)
    for wanted, first in ((5, each), (2, 2 * each)):
        assert {one.after for one in rescale(script.checkpoint, wanted, spark)} == {wanted}
        for number, rows in enumerate(files[first : first + each], first):
            script.feed(number, rows)
        script.run(spark)
        for folder in map(LocalPath, script.checkpoint.glob("*/spark")):
            assert partitions(folder, begun(folder)[-1]) == wanted
    script.run(spark, flush=True)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [TIME_WINDOWS[:2], TIME_WINDOWS[2:], ORDERED[:2], ORDERED[2:]], ids=" and ".join)
def test_every_operator_goes_on(tmp_path: Path, spark: SparkSession, kinds: tuple[str, ...]) -> None:
    script, files = Script(tmp_path, kinds), made(random.Random(7), 6)
    grown_and_shrunk(script, files, spark)
    windows = expected(list(chain(*files)))
    for name in kinds:
        assert script.held(spark, name) == windows[name], name


@pytest.mark.slow
def test_attempts_that_spark_tells_apart_go_on(tmp_path: Path, spark: SparkSession) -> None:
    """The second format of checkpoints, in which every version of the state has a name of its own."""
    script, files = Script(tmp_path, ("session", "over")), made(random.Random(8), 6)
    with setting(spark, FORMAT, "2"):
        grown_and_shrunk(script, files, spark)
    windows = expected(list(chain(*files)))
    for name in script.kinds:
        assert script.held(spark, name) == windows[name], name


class Query:
    """A query with a `writeStream` of its own."""

    def __init__(self, folder: Path, spark: SparkSession, sql: str = SUMS) -> None:
        self.folder, self.spark, self.sql, self.files = folder, spark, sql, 0
        self.checkpoint = folder / "checkpoint"

    def feed(self, count: int) -> None:
        for number in range(self.files, self.files + count):
            rows = (
                {"ts": at(1000 * second), "k": "abcdefg"[second % 7], "v": second} for second in self._seconds(number)
            )
            write_file(self.folder / "in", number, rows)
        self.files += count

    def _seconds(self, number: int) -> range:
        return range(10 * number, 10 * number + 10)

    def engine(self, rows: bool = False) -> Engine:
        """Over the stream, or over all of its rows."""
        engine = Engine(self.spark, shards=SHARDS)
        reader = self.spark.read if rows else self.spark.readStream.option("maxFilesPerTrigger", 1)
        engine.stream("t", reader.schema(SCHEMA).json(f"{self.folder}/in"), time="ts", watermark="2 seconds")
        return engine

    def run(self) -> None:
        writer = self.engine().sql(self.sql).writeStream.format("parquet").option("path", f"{self.folder}/out")
        writer = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True)
        writer.start().awaitTermination()

    def check(self, closed: str) -> None:
        """The sink holds the rows of a batch that are closed by now."""
        held = self.spark.read.parquet(f"{self.folder}/out")
        check_rows(rows_of(held), rows_of(self.engine(rows=True).sql(self.sql).where(closed)))


@pytest.fixture
def query(tmp_path: Path, spark: SparkSession) -> Query:
    """One that has read two files."""
    one = Query(tmp_path, spark)
    one.feed(2)
    one.run()
    return one


def refused(query: Query, wanted: int) -> PanesError:
    with pytest.raises(PanesError) as caught:
        list(rescale(query.checkpoint, wanted, query.spark))
    return caught.value


def test_stacked_operators_go_on(tmp_path: Path, spark: SparkSession) -> None:
    inner = "SELECT k, unix_millis(window_end()) AS w, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 2), k"
    query = Query(tmp_path, spark, f"SELECT k, w, s, acc_sum(s) OVER (PARTITION BY k) AS total FROM ({inner})")
    query.feed(2)
    query.run()
    for wanted in (5, 2):
        list(rescale(query.checkpoint, wanted, spark, f"{tmp_path}/out"))
        query.feed(2)
        query.run()
    query.check("w <= 57000")


@pytest.mark.slow
def test_a_sink_of_files_has_no_gaps(query: Query) -> None:
    """Spark compacts the log of a sink every ten micro-batches: so many moves cross one."""
    for wanted in (3, 2, 3, 2, 3, 2, 3):
        done = CliRunner().invoke(
            app,
            ["rescale", str(query.checkpoint), "--partitions", str(wanted), "--sink", f"{query.folder}/out"],
        )
        assert done.exit_code == 0, done.output
        assert f"{5 - wanted} → {wanted} partitions" in done.output
    assert (query.folder / "out" / "_spark_metadata" / "9.compact").exists()
    query.feed(12)
    query.run()
    query.check("start + 7000 <= 137000")


def test_as_many_partitions_as_before_change_nothing(query: Query) -> None:
    before = begun(LocalPath(query.checkpoint))
    assert [(one.before, one.after) for one in rescale(query.checkpoint, 2, query.spark)] == [(2, 2)]
    assert begun(LocalPath(query.checkpoint)) == before


def test_more_partitions_than_shards_are_refused(query: Query) -> None:
    error = refused(query, SHARDS + 1)
    assert error.code == "cannot-rescale"
    assert str(SHARDS) in error.message
    assert begun(LocalPath(query.checkpoint)) == committed(LocalPath(query.checkpoint))


def test_a_micro_batch_that_is_not_finished_is_refused(query: Query) -> None:
    uncommit(query.checkpoint)
    assert refused(query, 4).code == "cannot-rescale"
    query.feed(2)
    query.run()
    list(rescale(query.checkpoint, 4, query.spark))


def test_a_move_that_was_cut_short_is_repeated(query: Query) -> None:
    list(rescale(query.checkpoint, 4, query.spark))
    uncommit(query.checkpoint)
    assert "4" in (refused(query, 3).hint or "")
    assert [one.after for one in rescale(query.checkpoint, 4, query.spark, f"{query.folder}/out")] == [4]
    query.feed(2)
    query.run()
    query.check("start + 7000 <= 37000")


def uncommit(checkpoint: Path) -> None:
    last = committed(LocalPath(checkpoint))[-1]
    for name in (f"{last}", f".{last}.crc"):
        (checkpoint / "commits" / name).unlink(missing_ok=True)


def test_a_checkpoint_in_use_is_refused(tmp_path: Path, spark: SparkSession) -> None:
    script = Script(tmp_path, ("tumbling",))
    script.write(made(random.Random(9), 1))
    codes: list[str] = []

    def stopped() -> bool:
        """In the middle of a run."""
        with pytest.raises(PanesError) as caught:
            list(rescale(script.checkpoint, 3, spark))
        codes.append(caught.value.code)
        return True

    script.run(spark)
    text = (tmp_path / "script.sql").read_text(encoding="utf-8")
    Engine(spark, shards=SHARDS).run(text, checkpoint=script.checkpoint, stopped=stopped)
    assert codes == ["checkpoint-in-use"]
    with locked([LocalPath(script.checkpoint / "1-tumbling")]), pytest.raises(PanesError) as caught:
        script.run(spark)
    assert caught.value.code == "checkpoint-in-use"


def test_what_is_no_checkpoint(tmp_path: Path, spark: SparkSession) -> None:
    assert CliRunner().invoke(app, ["rescale", str(tmp_path), "--partitions", "2"]).exit_code == 1
    assert CliRunner().invoke(app, ["rescale", str(tmp_path / "nowhere"), "--partitions", "2"]).exit_code == 1
    assert CliRunner().invoke(app, ["rescale", str(tmp_path), "--partitions", "0"]).exit_code == 2


def test_the_shards_of_a_report_are_numbered(query: Query) -> None:
    done = CliRunner().invoke(app, ["state", str(query.checkpoint), "--json"])
    assert sorted(json.loads(done.output)[0]["shards"], key=int) == [str(number) for number in range(SHARDS)]
