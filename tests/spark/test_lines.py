"""Lines of files that are not what the columns say."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError

pytestmark = pytest.mark.spark


def rows(
    spark: SparkSession, folder: Path, text: str, columns: str, query: str, more: str = ""
) -> list[tuple[object, ...]]:
    """The result of a query over a file, as an INSERT writes it."""
    (folder / "in").mkdir(exist_ok=True)
    connector = "csv" if "sep" in more else "json"
    (folder / "in" / "lines").write_text(text)
    Engine(spark).run(
        f"""
        CREATE STREAM t ({columns}) WITH (connector = '{connector}', path = '{folder}/in' {more});
        CREATE SINK out WITH (connector = 'parquet', path = '{folder}/out');
        INSERT INTO out {query};
        """,
        once=True,
    )
    return sorted(tuple(row) for row in spark.read.parquet(str(folder / "out")).collect())


def refused(spark: SparkSession, folder: Path, text: str, columns: str, query: str, more: str = "") -> str:
    with pytest.raises(PanesError) as caught:
        rows(spark, folder, text, columns, query, more)
    assert caught.value.code == "malformed-record"
    return caught.value.message


def test_drift(spark: SparkSession, tmp_path: Path) -> None:
    """Another field is not looked at, a missing one is NULL."""
    text = '{"a": 1, "b": "x"}\n{"a": 2, "new": {"x": 1}}\n\n{"a": 3, "b": null}\n'
    assert rows(spark, tmp_path, text, "a INT, b STRING", "SELECT a, b FROM t") == [(1, "x"), (2, None), (3, None)]


@pytest.mark.parametrize("line", ['{"a": "many"}', '{"a": 1', "null", "17", '{"a": 1.5}', '{"a": 1}{"a": 2}', "[]"])
def test_a_line_that_is_not_json(spark: SparkSession, tmp_path: Path, line: str) -> None:
    told = refused(spark, tmp_path, f'{{"a": 1}}\n{line}\n', "a INT, b STRING", "SELECT b FROM t WHERE b = 'x'")
    assert told.startswith(f"a line of file:{tmp_path}/in/lines is not json of the declared columns: {line}")


def test_a_terminal_is_not_told_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    """A line may hold sequences that clear a screen or write to a clipboard: they are shown as what they are."""
    line = "é\x1b]52;c;eA==\x07\x1b[2J\x00\x9b2J\x7f"
    told = refused(spark, tmp_path, f"{line}\n", "a INT", "SELECT a FROM t")
    assert told.partition("columns: ")[2].startswith("é␛]52;c;eA==␇␛[2J␀�2J␡")


def test_folders_that_are_columns(spark: SparkSession, tmp_path: Path) -> None:
    """As Spark reads them; lines in them are looked at like others."""

    def run(query: str) -> list[tuple[object, ...]]:
        Engine(spark).run(
            f"""
            CREATE STREAM t (a INT, day STRING) WITH (connector = 'json', path = '{tmp_path}/in');
            CREATE SINK out WITH (connector = 'memory');
            INSERT INTO out {query};
            """,
            flush=True,
        )
        return sorted(tuple(row) for row in spark.table("out").collect())

    for day in ("01", "02"):
        (tmp_path / "in" / f"day={day}").mkdir(parents=True)
        (tmp_path / "in" / f"day={day}" / "lines").write_text(f'{{"a": {day[1]}}}\n \n')
    assert run("SELECT a, day FROM t") == [(1, "01"), (2, "02")]
    (tmp_path / "in" / "day=02" / "more").write_text('{"a": 3} x')
    with pytest.raises(PanesError) as caught:
        run("SELECT day FROM t")
    assert caught.value.code == "malformed-record"


def test_an_object_over_many_lines(spark: SparkSession, tmp_path: Path) -> None:
    found = rows(spark, tmp_path, '{\n"a": 1\n}', "a INT", "SELECT a FROM t", ", multiLine = 'true'")
    assert found == [(1,)]


def test_a_line_that_is_not_csv(spark: SparkSession, tmp_path: Path) -> None:
    for line in ("many;y", "1", "1;2;3"):
        told = refused(spark, tmp_path, f"5;x\n{line}\n", "a INT, b STRING", "SELECT b FROM t", ", sep = ';'")
        assert f"/in/lines is not csv of the declared columns: {line}" in told


def test_sparks_own_column(spark: SparkSession, tmp_path: Path) -> None:
    text = '{"a": 1}\n{"a": "many"}\n'
    found = rows(
        spark, tmp_path, text, "a INT, _corrupt_record STRING", "SELECT nvl(a, 0), _corrupt_record AS c FROM t"
    )
    assert found == [(0, '{"a": "many"}'), (1, None)]


def test_a_computed_column_that_fails(spark: SparkSession, tmp_path: Path) -> None:
    """The line is as declared, and what is made of it is not: a value that fails, with the value in its error."""
    columns = "at STRING, ts TIMESTAMP AS to_timestamp(at)"
    with pytest.raises(PanesError) as caught:
        rows(spark, tmp_path, '{"at": "yesterday"}\n', columns, "SELECT ts FROM t")
    assert caught.value.code == "value-failed"
    assert "yesterday" in caught.value.message
    columns = columns.replace("to_timestamp", "try_to_timestamp")
    assert rows(spark, tmp_path, '{"at": "yesterday"}\n', columns, "SELECT ts FROM t") == [(None,)]
