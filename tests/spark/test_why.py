"""`panes why`: queries that each wait for something else, while they run and when only their checkpoint is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark.input_files import at, write_file
from spark.watched import asked_later, watched

pytestmark = pytest.mark.spark

COLUMNS = "ts TIMESTAMP, k STRING, v BIGINT"
QUERIES = {
    "windows": "SELECT k, sum(v) AS s FROM orders GROUP BY tumblingwindow('mi', 1), k",
    "delayed": "SELECT k, sum(v) AS s FROM patient GROUP BY tumblingwindow('mi', 1), k",
    "timeless": "SELECT k, sum(v) AS s FROM untimed GROUP BY tumblingwindow('mi', 1), k",
    "leads": "SELECT k, lead(v) OVER (PARTITION BY k ORDER BY ts) AS l FROM orders",
    "future": "SELECT k, sum(v) AS s FROM wrong WHERE k <> 'x' GROUP BY tumblingwindow('mi', 1), k",
    "rejected": "SELECT k, sum(v) AS s FROM orders WHERE v > 100 GROUP BY tumblingwindow('mi', 1), k",
}


def script(folder: Path) -> str:
    """A stream for each folder of input; that of `untimed` has times that are none."""
    made = [
        f"CREATE STREAM {name} ({columns}, WATERMARK FOR ts AS ts - INTERVAL {delay}) "
        f"WITH (connector = 'json', path = '{folder}/{name}', maxFilesPerTrigger = '1');"
        for name, columns, delay in (
            ("orders", COLUMNS, "10 SECONDS"),
            ("patient", COLUMNS, "1 HOUR"),
            ("untimed", "text STRING, k STRING, v BIGINT, ts TIMESTAMP AS try_to_timestamp(text)", "10 SECONDS"),
            ("wrong", COLUMNS, "10 SECONDS"),
        )
    ]
    for name, sql in QUERIES.items():
        made.append(f"CREATE SINK {name} WITH (connector = 'parquet', path = '{folder}/out/{name}');")
        made.append(f"INSERT INTO {name} {sql};")
    return "\n".join(made)


def write_input(folder: Path) -> None:
    """Rows from second 0 to second 50, of two keys; before those of `wrong` comes one that is a day early."""
    rows = [{"ts": at(second * 1000), "k": "ab"[second // 10 % 2], "v": 1} for second in range(0, 51, 10)]
    for name in ("orders", "patient"):
        write_file(folder / name, 0, rows)
    write_file(folder / "untimed", 0, [{"text": "noon", "k": "a", "v": 1}] * 3)
    write_file(folder / "wrong", 0, [{"ts": "1970-01-02T00:00:10Z", "k": "x", "v": 1}])
    write_file(folder / "wrong", 1, rows)


def test_each_cause_is_named(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    write_input(tmp_path)
    checkpoint = tmp_path / "checkpoint"
    with watched(script(tmp_path), checkpoint, spark):
        found = asked_later(checkpoint, 240, monkeypatch)
    assert found["windows"]["open-windows"] == (
        "2 windows are open, with 2 groups in state: the oldest, 1970-01-01 00:00:00–00:01:00, closes when the "
        "watermark reaches 00:01:00; it is at 00:00:40, since the latest row is of 00:00:50 and the delay is 10 s"
    )  # one in each shard
    assert found["windows"]["idle-source"].startswith("no micro-batch has brought a row for 4 min")
    assert found["windows"]["idle-source"].endswith(
        ": the watermark stands still until one comes, and reaches 1970-01-01 00:01:00 with a row of 00:01:10"
    )
    assert found["delayed"]["delay-too-large"] == (
        "the delay of patient, 1 h, is longer than the time between the first row and the last one that have come, 50 "
        "s (1970-01-01 00:00:00 to 00:00:50): the watermark is still before the first, and reaches 00:01:00 with a row "
        "of 01:01:00"
    )
    assert found["timeless"] == {
        "rows-without-time": "all 3 rows were dropped, because ts, the time column of untimed, is NULL in them: "
        "without a time there is no watermark and no window"
    }
    assert found["leads"]["waiting-rows"].startswith(
        "2 rows of OVER wait until the watermark has passed them: nothing comes out before it reaches 1970-01-01 "
        "00:00:40.001; it is at 00:00:40, since "
    )
    assert found["leads"]["unfinished-rows"] == (
        "2 rows wait for 1 more row of their key (k), which lead(v) looks at, or for the end of the input; there is no "
        "state_ttl"
    )
    assert found["future"] == {
        "late-rows": "6 of 7 rows were late: the watermark is at 1970-01-02 00:00:00, moved there by a "
        "row of 00:00:10; the last rows are of 1970-01-01 00:00:50 and before, 23 h 59 min 20 s earlier"
    }
    assert found["rejected"] == {"rows-filtered": "6 rows came, and none has passed WHERE v > 100"}
    stopped = asked_later(checkpoint, 0, monkeypatch)
    for name in ("windows", "leads"):
        assert stopped[f"1-{name}"].pop("not-running").startswith("nothing runs on it here: this is what it held after")
        waits = {cause: text for cause, text in found[name].items() if cause != "idle-source"}
        assert stopped[f"1-{name}"] == waits
    assert "reaches 00:01:00; it is at 1969-12-31 23:00:50, since the latest" in stopped["1-delayed"]["open-windows"]
    assert set(stopped["1-timeless"]) == {"not-running", "nothing-waits"}
