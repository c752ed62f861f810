"""What Panes changes of a session, and the page that lists it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from present import present
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from panes.spark.delta.reader import DeltaStream
from panes.spark.heartbeat import Heartbeat
from panes.spark.session import FASTER, NEEDED, _defaults, _set, embedded, prepare, too_many_partitions

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "spark-session.md"
ROW = re.compile(r"^\| `(?P<name>spark\.[^`]+)` \| (?P<here>[^|]+) \| (?P<there>[^|]+) \|$", re.MULTILINE)


QUERIES = (
    "SELECT count(*) AS n FROM t GROUP BY tumblingwindow('ss', 10)",
    "SELECT value, lag(value) OVER (PARTITION BY value % 2) AS before FROM calls",
    "SELECT value, rank() OVER (PARTITION BY value % 2 ORDER BY timestamp) AS place FROM t EMIT CHANGES",
    "SELECT value + 1 AS more FROM calls",
)


class Settings:
    """A session's, which may refuse to be changed."""

    def __init__(self, given: dict[str, str], fixed: tuple[str, ...] = ()) -> None:
        self.given, self.fixed = given, fixed
        self.changed: list[str] = []

    def get(self, name: str, default: str | None = None) -> str | None:
        return self.given.get(name, default)

    def set(self, name: str, value: str) -> None:
        if name in self.fixed:
            raise PySparkException(f"[CANNOT_MODIFY_CONFIG] Cannot modify {name}, to be {value}")
        self.changed.append(name)
        self.given[name] = value


class Session:
    version = "4.1.1"

    def __init__(self, settings: Settings) -> None:
        self.conf = settings


def prepared(settings: Settings) -> list[str]:
    """The names of the settings that Panes changes."""
    prepare(cast(SparkSession, Session(settings)))
    return settings.changed


def listed(heading: str) -> dict[str, tuple[str, str]]:
    """The settings of the table that follows these words on the page."""
    text = PAGE.read_text(encoding="utf-8").partition(heading)[2].partition("\n\n")[2].partition("\n\n")[0]
    return {
        row["name"]: (row["here"].strip().strip("`"), row["there"].strip().strip("`")) for row in ROW.finditer(text)
    }


def test_the_page_lists_what_is_set() -> None:
    rows = listed("Panes changes these settings")
    assert {name: value for name, (value, _) in rows.items()} == {**NEEDED, **FASTER}
    assert {name for name, (_, when) in rows.items() if when.startswith("always")} == set(NEEDED)


def test_the_page_lists_what_an_embedded_spark_begins_with() -> None:
    rows = listed("An embedded Spark, which Panes starts itself")
    values = {"local[cores]": "local[3]", "cores": "3"}
    assert {name: values.get(here, here) for name, (here, _) in rows.items()} == _defaults(3, {})
    there = _defaults(3, {"spark.master": "spark://host:7077"})
    assert {name: value for name, (_, value) in rows.items() if value not in ("yours", "Spark's")} == there


def test_nothing_else_is_set() -> None:
    assert set(prepared(Settings({"spark.sql.session.timeZone": "Asia/Tokyo"}))) == {*NEEDED, *FASTER}


def everything(spark: SparkSession) -> dict[str, str]:
    """All settings, those of the application and those that nobody has set included."""
    listed = (row for query in ("SET -v", "SET") for row in spark.sql(query).collect())
    return {row["key"]: row["value"] for row in listed} | dict(spark.sparkContext.getConf().getAll())


@pytest.mark.spark
def test_a_session_that_is_given_is_changed_no_more_than_the_page_lists(spark: SparkSession) -> None:
    """All its settings before and after: an engine is made, and queries of all kinds are compiled and built."""
    mine = spark.newSession()
    before, tables = everything(mine), mine.catalog.listTables()
    assert len(before) > 100
    engine = Engine(mine)
    rate = mine.readStream.format("rate").load()
    engine.stream("t", rate, time="timestamp", watermark="1 second", idle_timeout="1 minute")
    engine.stream("calls", rate, heartbeat="1 second", state_ttl="1 day")
    for query in QUERIES:
        assert engine.explain(query)
        assert engine.sql(query).isStreaming
    after = everything(mine)
    told = {name: value for name, (value, _) in listed("Panes changes these settings").items()}
    assert after == {**before, **told}
    assert any(before.get(name) != value for name, value in told.items())
    assert mine.catalog.listTables() == tables


@pytest.mark.spark
def test_settings_are_given_to_a_session_that_is_there(spark: SparkSession) -> None:
    mine = spark.newSession()
    settings = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.hadoop.my.option": "7"}
    Engine(mine, settings={**settings, "spark.master": str(mine.conf.get("spark.master"))})  # as it is
    assert mine.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    assert mine.conf.get("my.option") == "7"
    with pytest.raises(PanesError) as caught:
        Engine(mine, settings={"spark.executor.memory": "17g"})
    assert caught.value.code == "spark-settings"


def test_the_page_lists_the_data_sources() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("| in the session | when |")[2].partition("\n\n")[0]
    assert re.findall(r"the data source `(\w+)`", table) == [Heartbeat.name(), DeltaStream.name()]


@pytest.mark.parametrize("name", ["fs.s3a.secret.key", "my.pin"])
def test_a_secret_that_cannot_be_set_is_not_shown(name: str) -> None:
    session = Session(Settings({"spark.redaction.regex": "pin"}, fixed=(name,)))
    with pytest.raises(PanesError) as caught:
        _set(cast(SparkSession, session), name, "hunter2")
    assert caught.value.code == "spark-settings"
    assert name in caught.value.message
    assert "hunter2" not in str(caught.value)


def test_what_is_there_already_is_not_set_again() -> None:
    """A session may refuse any change, as one inside a declarative pipeline does."""
    right = {**NEEDED, **FASTER}
    assert prepared(Settings(dict(right), fixed=tuple(right))) == []


def test_what_the_session_says_of_speed_stays() -> None:
    assert prepared(Settings({**NEEDED, **dict.fromkeys(FASTER, "false")})) == []


def test_what_is_needed_and_cannot_be_set_is_told() -> None:
    (name,) = NEEDED
    with pytest.raises(PanesError) as caught:
        prepared(Settings({}, fixed=(name,)))
    assert caught.value.code == "spark-settings"
    assert f"--conf {name}={NEEDED[name]}" in (caught.value.hint or "")


def test_in_a_declarative_pipeline_its_own_file_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    (name,) = NEEDED
    settings = Settings({})

    def refuse(name: str, value: str) -> None:
        raise PySparkException("[SESSION_MUTATION_IN_DECLARATIVE_PIPELINE.SET_RUNTIME_CONF] Session mutation …")

    monkeypatch.setattr(settings, "set", refuse)
    with pytest.raises(PanesError) as caught:
        prepared(settings)
    assert caught.value.code == "spark-settings"
    hint = caught.value.hint or ""
    assert "spark-pipeline.yml" in hint and f"{name}: {NEEDED[name]}" in hint


def test_what_is_only_faster_may_be_refused() -> None:
    assert prepared(Settings({}, fixed=tuple(FASTER))) == list(NEEDED)


def test_a_server_that_is_too_old() -> None:
    session = Session(Settings({}))
    session.version = "4.0.2"
    with pytest.raises(PanesError) as caught:
        prepare(cast(SparkSession, session))
    assert caught.value.code == "missing-spark"


@pytest.mark.parametrize("java", ["missing", "old"])
def test_a_java_that_is_missing_is_not_blamed_on_a_connector(java: str, tmp_path: Path) -> None:
    """A script whose packages Spark would have to get."""
    (tmp_path / "script.sql").write_text(
        "CREATE STREAM t (a INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', format = 'json');"
        "CREATE SINK out WITH (connector = 'noop'); INSERT INTO out SELECT a FROM t;"
    )
    if java == "old":
        old = tmp_path / "bin" / "java"
        old.parent.mkdir()
        old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\nexit 1\n")
        old.chmod(0o755)
    command = [sys.executable, "-c", "from panes.cli.main import app; app()", "run", "script.sql", "--quiet"]
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_SUBMIT_ARGS"}
    done = subprocess.run(
        command, cwd=tmp_path, env={**environment, "JAVA_HOME": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "missing-spark: " in done.stderr
    assert str(tmp_path / "bin" / "java") in done.stderr
    assert "hint: Install a Java runtime" in done.stderr


@pytest.mark.parametrize(("condition", "code"), [("JAVA_GATEWAY_EXITED", "missing-package"), ("OTHER", None)])
def test_what_fails_with_packages(condition: str, code: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is a Java, the packages are what it may have lacked; what else fails is Spark's to tell."""

    def refuse(builder: object) -> None:
        raise PySparkRuntimeError(errorClass=condition, messageParameters={})

    monkeypatch.setattr(PySparkRuntimeError, "__init__", lambda self, **_: None)
    monkeypatch.setattr(PySparkRuntimeError, "getCondition", lambda self: condition)
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", refuse)
    monkeypatch.setattr("panes.spark.session._running", lambda: None)
    with pytest.raises((PanesError, PySparkRuntimeError)) as caught:
        embedded(1, ["a:b:1"])
    assert getattr(caught.value, "code", None) == code


@pytest.mark.parametrize(
    ("master", "partitions", "told"),
    [
        ("local[2]", "200", True),
        ("local", "200", True),
        ("local[2, 3]", "16", False),
        ("spark://host:7077", "200", False),
    ],
)
def test_a_local_session_with_the_partitions_of_a_cluster_is_told(master: str, partitions: str, told: bool) -> None:
    session = Session(Settings({"spark.master": master, "spark.sql.shuffle.partitions": partitions}))
    advice = too_many_partitions(cast(SparkSession, session))
    assert (advice is not None) is told
    assert advice is None or f"spark.sql.shuffle.partitions is {partitions}" in advice


def test_the_engine_warns_of_it(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    try:
        spark.conf.set("spark.sql.shuffle.partitions", "200")
        with pytest.warns(UserWarning, match=r"config\(\"spark.sql.shuffle.partitions\", \d+\)"):
            Engine(spark)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", present(before))
