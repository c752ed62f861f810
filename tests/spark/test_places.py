"""INSERTs into one sink are told apart by their places, so these must not change; what has no INSERT keeps nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from panes.spark import lock
from panes.spark.lock import locked
from panes.spark.store import LocalPath
from spark.input_files import at, write_file

COLUMNS = "ts TIMESTAMP, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL 0 SECONDS"
X, Y, Z = (f"SELECT v FROM a WHERE v {which}" for which in ("< 2", "> 1", "= 2"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in "ab":
        write_file(tmp_path / name, 0, ({"ts": at(v * 1000), "v": v} for v in (1, 2, 3)))
    return tmp_path


def run(spark: SparkSession, folder: Path, *queries: str) -> None:
    streams = "".join(
        f"CREATE STREAM {name} ({COLUMNS}) WITH (connector = 'json', path = '{folder}/{name}');" for name in "ab"
    )
    script = f"CREATE SINK out WITH (connector = 'noop'); {streams}"
    script += "".join(f"INSERT INTO out {query};" for query in queries)
    Engine(spark).run(script, checkpoint=folder / "checkpoint", once=True)


@pytest.mark.spark
@pytest.mark.parametrize("changed", [(Y, X), (Z, X, Y), (Y,)], ids=["swapped", "one in front", "the first is gone"])
def test_other_places_are_refused(spark: SparkSession, folder: Path, changed: tuple[str, ...]) -> None:
    run(spark, folder, X, Y)
    with pytest.raises(PanesError) as caught:
        run(spark, folder, *changed)
    assert caught.value.code == "state-mismatch" and "order" in (caught.value.hint or "")


@pytest.mark.spark
def test_what_stays_in_its_place_goes_on(spark: SparkSession, folder: Path) -> None:
    run(spark, folder, X, Y)
    run(spark, folder, X, Y, Z)
    run(spark, folder, X.replace("v FROM", "v + 1 AS v FROM"), Y.replace("SELECT", "SELECT -- again\n"), Z)


@pytest.mark.spark
def test_another_stream_is_refused(spark: SparkSession, folder: Path) -> None:
    run(spark, folder, X)
    with pytest.raises(PanesError) as caught:
        run(spark, folder, "SELECT v FROM b WHERE v < 2")
    assert caught.value.code == "state-mismatch" and "it read a, now b" in caught.value.message


@pytest.mark.spark
def test_a_script_without_insert_seals_nothing(spark: SparkSession, folder: Path) -> None:
    checkpoint = folder / "checkpoint"
    stream = f"CREATE STREAM a ({COLUMNS}) WITH (connector = 'json', path = '{folder}/a');"
    select = f"{stream} SELECT count(*) AS n FROM a GROUP BY tumblingwindow('ss', 10);"
    shown: list[int] = []
    for _ in range(2):
        Engine(spark).run(select, checkpoint=checkpoint, flush=True, rows=lambda rows: shown.append(rows.count))
    assert sum(shown) == 2
    assert not (checkpoint / "panes-ended.json").exists()


@pytest.mark.spark
def test_another_script_on_the_checkpoint_is_refused(spark: SparkSession, folder: Path) -> None:
    """It would seal it for both."""
    with locked([LocalPath(folder / "checkpoint")]), pytest.raises(PanesError) as caught:
        run(spark, folder, X)
    assert caught.value.code == "checkpoint-in-use"


def test_a_file_system_without_locks_has_leases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError("no locks available")

    monkeypatch.setattr(lock, "flock", no_locks)
    with locked([LocalPath(tmp_path)]) as check:
        check()
        with pytest.raises(PanesError) as caught, locked([LocalPath(tmp_path)]):
            pass
    assert caught.value.code == "checkpoint-in-use"
