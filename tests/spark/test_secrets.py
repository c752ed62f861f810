"""Secrets on Spark: what is declared with them runs, and what fails does not tell them."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from panes.script import Listing, Step

pytestmark = pytest.mark.spark
WORD = "correct-horse"


@pytest.fixture(autouse=True)
def _word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PANES_TEST_WORD", WORD)
    monkeypatch.setattr("panes.secrets._handed_out", set())


def script(path: str, more: str = "") -> str:
    return f"""
        CREATE STREAM t (v INT) WITH (connector = 'json', path = '{path}');
        CREATE SINK out WITH (connector = 'json', path = '{path}-out' {more});
        INSERT INTO out SELECT v FROM t;
    """


def test_paths(spark: SparkSession, tmp_path: Path) -> None:
    """Any option may have one; the catalog keeps the reference."""
    folder = tmp_path / WORD
    folder.mkdir()
    (folder / "1.json").write_text('{"v": 7}')
    engine = Engine(spark)
    engine.run(script(f"{tmp_path}/${{ENV:PANES_TEST_WORD}}"), once=True, checkpoint=tmp_path / "checkpoint")
    assert [row["v"] for row in spark.read.json(f"{folder}-out").collect()] == [7]
    assert all(
        "${ENV:PANES_TEST_WORD}" in one.options["path"] for one in (*engine.catalog.streams, *engine.catalog.sinks)
    )
    kept = [file for file in (tmp_path / "checkpoint").rglob("*") if file.is_file() and "sources" not in file.parts]
    assert kept
    assert not [file for file in kept if WORD.encode() in file.read_bytes()]


def test_one_that_is_missing(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(PanesError) as caught:
        Engine(spark).run(script(str(tmp_path / "in"), ", x = '${ENV:PANES_TEST_NOBODY}'"), once=True)
    assert caught.value.code == "missing-secret"


def test_what_fails_at_the_start(spark: SparkSession, tmp_path: Path) -> None:
    path = f"{tmp_path}/${{ENV:PANES_TEST_WORD}}"
    with pytest.raises(PanesError) as caught:
        Engine(spark).run(script(path), once=True)  # there is no such folder
    assert "/***" in caught.value.message
    assert WORD not in "".join(traceback.format_exception(caught.value))
    engine = Engine(spark)
    list_ = f"CREATE STREAM t (v INT) WITH (connector = 'json', path = '{path}')"
    engine.run(list_)
    with pytest.raises(PanesError) as caught:
        engine.sql("SELECT v FROM t")
    assert WORD not in "".join(traceback.format_exception(caught.value))


def test_what_fails_while_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's error quotes the path of the file that it cannot read."""
    folder = tmp_path / WORD
    folder.mkdir()
    (folder / "1.parquet").write_text("not a file of Parquet")
    sql = script(f"{tmp_path}/${{ENV:PANES_TEST_WORD}}").replace("'json'", "'parquet'")
    failures: list[Exception] = []
    with pytest.raises(Exception, match="parquet") as caught:
        Engine(spark).run(sql, once=True, failed=lambda query, error: failures.append(error))
    assert failures == [caught.value]
    told = "".join(traceback.format_exception(caught.value))
    assert "/***/1.parquet" in told
    assert WORD not in told


def test_the_session_says_what_else_is_secret(spark: SparkSession) -> None:
    shown: list[Step] = []
    conf = spark._jsparkSession.sessionState().conf()  # as if the session had been started with it
    conf.setConfString("spark.redaction.regex", "(?i)colour")
    try:
        sql = (
            "CREATE SINK out WITH (connector = 'console', hairColour = 'red', password = 'x', size = '5'); DESCRIBE out"
        )
        Engine(spark).run(sql, show=shown.append)
    finally:
        conf.unsetConf("spark.redaction.regex")
    listing = shown[-1]
    assert isinstance(listing, Listing)
    assert listing.rows == (("connector", "console"), ("hairColour", "***"), ("password", "***"), ("size", "5"))
