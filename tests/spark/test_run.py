"""`engine.run` and `panes run`: connectors, several INSERTs, views, reports, errors, stopping."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from pyspark.sql import DataFrame, SparkSession
from typer.testing import CliRunner, Result

from panes import Engine
from panes.cli.main import app
from panes.errors import PanesError
from panes.script import Done, Explanation, Listing, Step
from panes.spark.report import Report
from spark.input_files import at, write_file

pytestmark = pytest.mark.spark

OURS = re.compile(r'File "[^"]*/src/panes/.*')
COLUMNS = "ts TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL 0 SECONDS"
QUERY = "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k"
ROWS = [[(1, "a", 1), (2, "b", 2), (3, "a", 4)], [(11, "a", 8), (12, "b", 16)], [(25, "a", 32)]]
SUMS = [("a", 5), ("b", 2), ("a", 8), ("b", 16), ("a", 32)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the rows as JSON files in `in`."""
    for number, rows in enumerate(ROWS):
        feed(tmp_path, number, rows)
    return tmp_path


def feed(folder: Path, number: int, rows: Iterable[tuple[int, str, object]]) -> None:
    write_file(folder / "in", number, ({"ts": at(second * 1000), "k": k, "v": v} for second, k, v in rows))


def stream(folder: Path, name: str = "t", connector: str = "json", path: str = "in", more: str = "") -> str:
    options = f"connector = '{connector}', path = '{folder}/{path}', maxFilesPerTrigger = '1'{more}"
    return f"CREATE STREAM {name} ({COLUMNS}) WITH ({options});"


def sink(folder: Path, name: str = "out", connector: str = "parquet") -> str:
    return f"CREATE SINK {name} WITH (connector = '{connector}', path = '{folder}/{name}');"


def sums(df: DataFrame) -> list[tuple[str, int]]:
    return sorted((row["k"], row["s"]) for row in df.collect())


# Connectors in


@pytest.mark.parametrize("connector", ["json", "csv", "parquet"])
def test_file_streams(connector: str, folder: Path, spark: SparkSession) -> None:
    rows = spark.read.schema("ts timestamp, k string, v bigint").json(str(folder / "in"))
    if connector != "json":
        writer = rows.coalesce(1).write.format(connector)
        (writer.option("header", True) if connector == "csv" else writer).save(str(folder / "other"))
    path = "in" if connector == "json" else "other"
    more = ", header = 'true'" if connector == "csv" else ""
    script = [stream(folder, connector=connector, path=path, more=more), sink(folder), f"INSERT INTO out {QUERY}"]
    Engine(spark).run("\n".join(script), checkpoint=folder / "checkpoint", flush=True)
    assert sums(spark.read.parquet(str(folder / "out"))) == sorted(SUMS)


def test_a_rate_stream_runs_until_it_is_stopped(tmp_path: Path, spark: SparkSession) -> None:
    reports: list[Report] = []
    Engine(spark).run(
        """
        CREATE STREAM r (timestamp TIMESTAMP, value BIGINT, WATERMARK FOR timestamp AS timestamp - INTERVAL 0 SECONDS)
        WITH (connector = 'rate', rowsPerSecond = '50');
        CREATE SINK out WITH (connector = 'noop');
        INSERT INTO out SELECT count(*) AS n FROM r GROUP BY tumblingwindow('ss', 1);
        """,
        report=reports.append,
        stopped=lambda: sum(report.counters["rows_out"] for report in reports) >= 2,
    )
    assert sum(report.counters["rows_in"] for report in reports) >= 50


def test_any_other_stream_is_sparks(tmp_path: Path, spark: SparkSession) -> None:
    script = f"""
        CREATE STREAM r (timestamp TIMESTAMP, value BIGINT, WATERMARK FOR timestamp AS timestamp - INTERVAL 0 SECONDS)
        WITH (connector = 'rate-micro-batch', rowsPerBatch = '20', startTimestamp = '0',
              advanceMillisPerBatch = '5000');
        {sink(tmp_path)}
        INSERT INTO out SELECT count(*) AS n FROM r GROUP BY tumblingwindow('ss', 5);
    """
    Engine(spark).run(script, checkpoint=tmp_path / "checkpoint", flush=True)
    found = [row["n"] for row in spark.read.parquet(str(tmp_path / "out")).collect()]
    assert found
    assert set(found) == {20}


def test_computed_columns(folder: Path, spark: SparkSession) -> None:
    """Nested fields, one computed from another, and a computed time and key."""
    rows = ({"p": {"at": at(1000 * n), "k": f"k{n % 2}"}, "v": n, "`w": n} for n in range(30))
    write_file(folder / "nested", 0, rows)
    query = "SELECT name, window_start() AS b, sum(w) AS s FROM t GROUP BY tumblingwindow('ss', 10), name"
    Engine(spark).run(
        f"""
        CREATE STREAM t (name STRING AS upper(p.k), p STRUCT<at: STRING, k: STRING>, v BIGINT, ```w` BIGINT,
                         ts TIMESTAMP AS to_timestamp(p.at), w INT AS v + ```w`, low BOOLEAN AS w < 20,
                         WATERMARK FOR ts AS ts - INTERVAL 0 SECONDS, PRIMARY KEY (name))
        WITH (connector = 'json', path = '{folder}/nested');
        {sink(folder)}
        {sink(folder, "rows")}
        INSERT INTO out {query};
        INSERT INTO rows SELECT *, lag(w) OVER (PARTITION BY name) AS before FROM t WHERE low;
        """,
        checkpoint=folder / "checkpoint",
        flush=True,
    )
    found = sorted(
        (row["b"].second, row["name"], row["s"]) for row in spark.read.parquet(str(folder / "out")).collect()
    )
    sums = [(b, k, 2 * sum(n for n in range(b, b + 10) if f"K{n % 2}" == k)) for b in (0, 10, 20) for k in ("K0", "K1")]
    assert found == sums
    kept = spark.read.parquet(str(folder / "rows"))
    assert kept.columns == ["name", "p", "v", "`w", "ts", "w", "low", "before"]
    assert sorted((row["w"], row["before"]) for row in kept.collect()) == [
        (2 * n, 2 * (n - 2) if n > 1 else None) for n in range(10)
    ]


def test_another_computed_column_is_another_state(folder: Path, spark: SparkSession) -> None:
    script = """
        CREATE STREAM t (at STRING, v BIGINT, ts TIMESTAMP AS {ts}, w BIGINT AS {w},
                         WATERMARK FOR ts AS ts - INTERVAL 0 SECONDS)
        WITH (connector = 'json', path = '{folder}/ats');
        {sink}
        INSERT INTO out SELECT sum(w) AS s FROM t GROUP BY tumblingwindow('ss', 10);
    """
    write_file(folder / "ats", 0, ({"at": at(1000 * n), "v": n} for n in range(15)))

    def run(w: str) -> None:
        text = script.format(ts="to_timestamp(at)", w=w, folder=folder, sink=sink(folder))
        Engine(spark).run(text, checkpoint=folder / "checkpoint", once=True)

    run("v + 1")
    run("V+1")
    with pytest.raises(PanesError) as caught:
        run("v + 2")
    assert caught.value.code == "state-mismatch"


# Connectors out


@pytest.mark.parametrize("connector", ["json", "csv", "parquet"])
def test_file_sinks(connector: str, folder: Path, spark: SparkSession) -> None:
    script = f"{stream(folder)} {sink(folder, connector=connector)} INSERT INTO out {QUERY}"
    Engine(spark).run(script, checkpoint=folder / "checkpoint", flush=True)
    assert sums(spark.read.schema("k string, s bigint").format(connector).load(str(folder / "out"))) == sorted(SUMS)


def test_a_memory_sink_is_a_table(folder: Path, spark: SparkSession) -> None:
    script = f"{stream(folder)} CREATE SINK held WITH (connector = 'memory'); INSERT INTO held {QUERY}"
    Engine(spark).run(script, flush=True)
    assert sums(spark.table("held")) == sorted(SUMS)


def test_any_other_sink_is_sparks(folder: Path, spark: SparkSession) -> None:
    spark.dataSource.register(_lines_source())
    script = f"{stream(folder)} {sink(folder, connector='lines')} INSERT INTO out {QUERY}"
    (folder / "out").mkdir()
    Engine(spark).run(script, flush=True)
    lines = [line for file in (folder / "out").iterdir() for line in file.read_text().splitlines()]
    assert sorted(lines) == sorted(f"{k}={s}" for k, s in SUMS)


def _lines_source() -> type:
    """A Python data source that writes lines; made here so that workers get it by value."""
    import uuid

    from pyspark.sql.datasource import DataSource, DataSourceStreamWriter, WriterCommitMessage

    class Writer(DataSourceStreamWriter):
        def __init__(self, path: str) -> None:
            self.path = path

        def write(self, iterator):  # type: ignore[no-untyped-def]
            text = "".join(f"{row['k']}={row['s']}\n" for row in iterator)
            with open(f"{self.path}/{uuid.uuid4().hex}", "w") as file:  # noqa: PTH123
                file.write(text)
            return WriterCommitMessage()

    class Lines(DataSource):
        @classmethod
        def name(cls) -> str:
            return "lines"

        def streamWriter(self, schema, overwrite):  # type: ignore[no-untyped-def] # noqa: N802
            return Writer(self.options["path"])

    return Lines


# Scripts


def test_several_inserts_and_a_view(folder: Path, spark: SparkSession) -> None:
    script = f"""
        {stream(folder)} {sink(folder)} {sink(folder, "big")}
        CREATE VIEW large AS SELECT * FROM t WHERE v > 4;
        INSERT INTO out {QUERY};
        INSERT INTO big {QUERY.replace("FROM t", "FROM large")};
        INSERT INTO plain SELECT k, v AS s FROM t;
    """.replace("CREATE VIEW", f"{sink(folder, 'plain', 'json')} CREATE VIEW")
    reports: list[Report] = []
    Engine(spark).run(script, checkpoint=folder / "checkpoint", flush=True, report=reports.append)
    assert sums(spark.read.parquet(str(folder / "out"))) == sorted(SUMS)
    assert sums(spark.read.parquet(str(folder / "big"))) == sorted([("a", 8), ("b", 16), ("a", 32)])
    assert sums(spark.read.json(str(folder / "plain"))) == sorted((k, v) for rows in ROWS for _, k, v in rows)
    assert {report.sink for report in reports} == {"out", "big", "plain"}
    of_out = [report for report in reports if report.sink == "out"]
    assert [report.batch for report in of_out] == list(range(len(of_out)))
    assert sum(report.counters["rows_in"] for report in of_out) == 6
    assert sum(report.counters["rows_out"] for report in of_out) == 5


def test_each_insert_means_what_its_names_stood_for(folder: Path, spark: SparkSession) -> None:
    write_file(folder / "later", 0, [{"ts": at(1000), "k": "z", "v": 1}])
    later = stream(folder, path="later").replace("CREATE", "CREATE OR REPLACE")
    script = f"""
        {stream(folder)} {sink(folder)} {sink(folder, "second")}
        INSERT INTO out {QUERY}; {later} INSERT INTO second {QUERY};
    """
    Engine(spark).run(script, checkpoint=folder / "checkpoint", flush=True)
    assert sums(spark.read.parquet(str(folder / "out"))) == sorted(SUMS)
    assert sums(spark.read.parquet(str(folder / "second"))) == [("z", 1)]


def test_statements_without_a_query_start_no_spark() -> None:
    shown: list[Step] = []
    engine = Engine()
    script = f"""
        CREATE STREAM t ({COLUMNS}); CREATE SINK out WITH (connector = 'console');
        SHOW STREAMS; DESCRIBE t; SHOW SINKS; EXPLAIN INSERT INTO out {QUERY}
    """
    engine.run(script, show=shown.append)
    assert [type(step) for step in shown] == [Done, Done, Listing, Listing, Listing, Explanation]
    assert engine._spark is None


def test_an_empty_micro_batch_changes_nothing(folder: Path, spark: SparkSession) -> None:
    """Files without rows, before, between and after the others."""
    for number, rows in enumerate([[], ROWS[0], [], [], ROWS[1], ROWS[2], []]):
        feed(folder, number, rows)
    script = f"{stream(folder)} {sink(folder)} INSERT INTO out {QUERY}"
    Engine(spark).run(script, checkpoint=folder / "checkpoint", flush=True)
    assert sums(spark.read.parquet(str(folder / "out"))) == sorted(SUMS)


def test_every_micro_batch_has_one_schema(folder: Path, spark: SparkSession) -> None:
    """Whether it closes windows or none."""
    schemas: list[str] = []
    rows: list[int] = []

    def take(df: DataFrame, batch: int) -> None:
        schemas.append(df.schema.simpleString())
        rows.append(df.count())

    engine = Engine(spark)
    reader = spark.readStream.schema("ts timestamp, k string, v bigint").option("maxFilesPerTrigger", 1)
    engine.stream("t", reader.json(str(folder / "in")), time="ts", watermark="0 seconds")
    writer = engine.sql(QUERY).writeStream.foreachBatch(take).trigger(availableNow=True)
    writer.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
    assert set(schemas) == {"struct<k:string,s:bigint>"}
    assert 0 in rows
    assert max(rows) > 0


# Errors


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        (("INTO out", "INTO ouch"), "unknown-sink", "ouch"),
        (("/in'", "/nowhere'"), "stream-options", "nowhere"),
        (("sum(v)", "sum(w)"), "unknown-column", "w"),
        (("INSERT INTO", "INSERT ONTO"), "parse-error", "ONTO"),
        (("sum(v)", "sum(v + array(1))"), "type-mismatch", "incompatible types"),
        (("'json'", "'jason'"), "stream-options", "jason"),
        (("'parquet'", "'parkett'"), "stream-options", "parkett"),
        (("'parquet', path", "'parquet', paths"), "stream-options", "out has no path"),
    ],
)
def test_refused_before_anything_starts(
    change: tuple[str, str], code: str, says: str, folder: Path, spark: SparkSession
) -> None:
    """Also where another INSERT of the script is fine."""
    script = f"{stream(folder)} {sink(folder)} INSERT INTO out {QUERY}".replace(*change)
    fine = f"{stream(folder, 'u')} {sink(folder, 'good')} INSERT INTO good {QUERY.replace('FROM t', 'FROM u')};"
    with pytest.raises(PanesError) as caught:
        Engine(spark).run(f"{fine} {script}", checkpoint=folder / "checkpoint", once=True)
    assert caught.value.code == code
    assert says in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 5
    assert spark.streams.active == []
    assert not (folder / "good" / "_spark_metadata").exists()


def test_a_stream_without_connector_is_refused_where_it_is_read(folder: Path, spark: SparkSession) -> None:
    unread = f"CREATE STREAM u ({COLUMNS});"
    script = f"{unread} {stream(folder)} CREATE SINK out WITH (connector = 'noop'); INSERT INTO out {QUERY};"
    Engine(spark).run(script, once=True)
    with pytest.raises(PanesError) as caught:
        Engine(spark).run(script.replace("FROM t", "FROM u"), once=True)
    assert caught.value.code == "stream-options"


def test_a_failing_query_stops_the_others(folder: Path, spark: SparkSession) -> None:
    rate = """
        CREATE STREAM r (timestamp TIMESTAMP, value BIGINT) WITH (connector = 'rate');
        CREATE SINK nothing WITH (connector = 'noop');
        INSERT INTO nothing SELECT value FROM r;
    """
    script = f"{rate} {stream(folder)} {sink(folder)} INSERT INTO out {QUERY.replace('sum(v)', 'sum(1 / (v - 8))')}"
    with pytest.raises(PanesError, match="DIVIDE_BY_ZERO") as caught:
        Engine(spark).run(script, checkpoint=folder / "checkpoint")
    assert caught.value.code == "value-failed"
    assert spark.streams.active == []


# The command line


class Command:
    """`panes run` in a process, with what it printed."""

    def __init__(self, folder: Path, script: str, *options: str) -> None:
        (folder / "script.sql").write_text(script, encoding="utf-8")
        self.log = folder / "log"
        command = [sys.executable, "-c", "from panes.cli.main import app; app()", "run", "script.sql", *options]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)

    def until(self, seen: Callable[[str], bool]) -> None:
        """Wait until something is seen or the process has ended; one that does not come to it is killed."""
        last = time.monotonic() + 300
        while self.process.poll() is None and not seen(self.said):
            if time.monotonic() > last:
                self.process.kill()
            time.sleep(0.05)

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")


def test_the_command_refuses_without_spark(folder: Path) -> None:
    command = Command(folder, f"{stream(folder)} INSERT INTO out {QUERY}")
    assert command.process.wait() == 1
    assert command.said.startswith("unknown-sink: there is no sink out")
    assert "WARN" not in command.said


def test_the_command_needs_a_file(folder: Path) -> None:
    command = Command(folder, "", "--no-such-option")
    assert command.process.wait() == 2
    command = Command(folder, "", "--checkpoint")
    assert command.process.wait() == 2


@pytest.mark.parametrize("debug", [[], ["--debug"]], ids=["in-short", "debug"])
def test_the_command_names_a_failure_in_short_unless_all_is_asked_for(debug: list[str], folder: Path) -> None:
    query = QUERY.replace("sum(v)", "sum(1 / (v - 8))")
    script = f"{stream(folder)} {sink(folder)} INSERT INTO out {query}"
    command = Command(folder, script, "--once", "--quiet", *debug)
    assert command.process.wait() == 1
    assert "DIVIDE_BY_ZERO" in command.said
    assert ("\tat org.apache.spark" in command.said) == bool(debug)
    assert bool(OURS.search(command.said)) == bool(debug)
    if not debug:
        assert "Logical Plan" not in command.said


def test_it_says_what_it_does_until_a_signal_stops_it_and_goes_on(folder: Path, spark: SparkSession) -> None:
    script = f"""
        {stream(folder)} {sink(folder)} CREATE SINK screen WITH (connector = 'console');
        SHOW SINKS; EXPLAIN INSERT INTO out {QUERY};
        INSERT INTO out {QUERY}; INSERT INTO screen {QUERY};
    """
    for turn, stop in enumerate([stopped_by_panes, stopped_by_ctrl_c]):
        stop(folder, script)
        feed(folder, 3 + turn, [(30 + 10 * turn, "c", turn)])
    spark.sparkContext.setLogLevel("ERROR")  # the command line, in this process, turns it off
    Engine(spark).run(script, checkpoint=folder / "checkpoint", flush=True)
    expected = [*SUMS, ("c", 0), ("c", 1)]
    assert sums(spark.read.parquet(str(folder / "out"))) == sorted(expected)


def stopped_by_ctrl_c(folder: Path, script: str) -> None:
    command = Command(folder, script, "--checkpoint", "checkpoint")
    command.until(lambda said: "out batch" in said and "|a  |" in said)
    os.kill(command.process.pid, signal.SIGINT)
    assert command.process.wait() == 130, command.said
    said = ["stream t created", "sink out created", "physical plan", "out batch ", "rows_in=", "rows_out="]
    assert [one for one in said if one not in command.said] == []
    check_no_traceback(command)


def stopped_by_panes(folder: Path, script: str) -> None:
    """Seen by `panes status` and Prometheus, alone on its checkpoint, and ended by `panes stop`."""
    checkpoint, port = str(folder / "checkpoint"), free_port()
    command = Command(folder, script, "--checkpoint", "checkpoint", "--metrics-port", str(port), "--log-json")
    counted = 'panes_rows_in_total{query="out"}'
    command.until(lambda said: '"event": "batch"' in said and "|a  |" in said and counted in scraped(port))
    (run,) = [json.loads(line) for line in panes("status", checkpoint, "--json").stdout.splitlines()]
    assert (run["pid"], run["script"]) == (command.process.pid, "script.sql")
    assert [query["query"] for query in run["queries"]] == ["out", "screen"]
    assert 'panes_up{query="screen"} 1.0' in scraped(port)

    other = panes("run", str(folder / "script.sql"), "--checkpoint", checkpoint, "--once", "--quiet")
    assert (other.exit_code, other.stderr.partition(":")[0]) == (1, "checkpoint-in-use")
    stopped = panes("stop", checkpoint, "--timeout", "300")
    assert (stopped.exit_code, stopped.stdout) == (0, "stopped script.sql\n")
    assert command.process.wait() == 143, command.said
    events = [json.loads(line) for line in command.said.splitlines() if line.startswith("{")]
    assert events[-1].items() >= {"event": "ended", "reason": "stopped"}.items()
    assert {one["query"] for one in events if one["event"] == "batch"} >= {"out"}
    assert [one for one in events if one["event"] in ("failed", "refused")] == []
    assert panes("status", checkpoint).exit_code == 1
    check_no_traceback(command)


def check_no_traceback(command: Command) -> None:
    """Spark's own daemon may say that its JVM has gone before it; no line of Panes is in any traceback."""
    assert OURS.findall(command.said) == []


def panes(*arguments: str) -> Result:
    """Another process of the same user: this one."""
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def scraped(port: int) -> str:
    """What Prometheus reads; nothing before it is served."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            return str(answer.read(), "utf-8")
    except URLError:
        return ""
