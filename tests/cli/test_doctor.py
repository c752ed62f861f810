"""`panes doctor`: each check tells good from bad, and what to do."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import cast
from unittest.mock import Mock

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from panes.cli import checks
from panes.cli.checks import Grade
from panes.cli.main import app
from panes.spark.delta.engine import Found


def test_all_checks_have_a_line() -> None:
    done = CliRunner().invoke(app, ["doctor", "--no-spark", "--json"])
    found = {one["what"]: one for one in map(json.loads, done.output.splitlines())}
    assert set(found) >= {"Java", "Spark", "Python workers", "packages", "extra metrics", "disk for temporary files"}
    assert (found["Spark"]["grade"], found["packages"]["grade"]) == ("ok", "ok")


def test_no_java_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    done = CliRunner(env={"COLUMNS": "300"}).invoke(app, ["doctor"])
    assert done.exit_code == 1
    assert "fail" in done.output
    assert "Install a Java runtime" in done.output
    assert "Spark starts" not in done.output


@pytest.mark.parametrize(("version", "grade"), [("11.0.2", Grade.FAIL), ("17.0.15", Grade.OK), ("25-ea", Grade.OK)])
def test_an_old_java_is_a_failure(version: str, grade: Grade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert checks.java().grade is grade


@pytest.mark.parametrize("mode", [0o644, 0o755])
def test_a_java_that_does_not_start_is_a_failure(mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_bytes(b"\xff no program")
    java.chmod(mode)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = checks.java()
    assert found.grade is Grade.FAIL
    assert "does not start: " in found.found


def test_workers_of_another_python_are_a_failure(tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho 3.8\n")
    other.chmod(0o755)
    assert checks.workers(str(other)).grade is Grade.FAIL
    assert checks.workers(str(tmp_path / "nowhere")).grade is Grade.FAIL
    assert checks.workers(sys.executable).grade is Grade.OK
    assert checks.workers(None).grade is Grade.OK


def test_another_spark_home_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert checks.spark_version().grade is Grade.OK
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert checks.spark_version().grade is Grade.WARN


@pytest.mark.parametrize(("free", "grade"), [(10**7, Grade.FAIL), (5 * 10**8, Grade.WARN), (10**11, Grade.OK)])
def test_little_room_on_a_disk(free: int, grade: Grade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: type("Usage", (), {"free": free}))
    assert checks.disk("disk", tmp_path / "not" / "yet").grade is grade


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    assert checks.disk("disk", tmp_path).grade is Grade.FAIL


def test_a_connector_without_a_jar_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is fetched when it is needed: so nothing fails."""
    monkeypatch.setattr("panes.spark.packages.has_source", lambda spark, source: source == "avro")
    monkeypatch.setattr("panes.spark.delta.engine.found_in", lambda spark: Found("4.2.0", None))
    kafka, avro, delta = checks.connectors(Mock(version="4.2.0"))
    assert (kafka.what, kafka.grade) == ("connector kafka", Grade.WARN)
    assert "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0 " in kafka.remedy
    assert (avro.what, avro.grade, avro.remedy) == ("connector avro", Grade.OK, "")
    assert delta.grade is Grade.OK


def test_settings_that_results_depend_on_are_shown() -> None:
    known = {"sql.session.timeZone": "Europe/Oslo", "sql.ansi.enabled": "false", "sql.shuffle.partitions": "7"}
    spark = Mock()
    spark.conf.get = lambda name: known[name.removeprefix("spark.")]
    found = checks.settings(spark)
    assert (found.what, found.grade) == ("settings", Grade.OK)
    assert found.found == "time zone Europe/Oslo, ANSI mode false, shards 7"


def test_an_extra_that_is_missing_is_a_warning() -> None:
    assert checks.optional("x", "no-such-package-of-anybody").grade is Grade.WARN


@pytest.mark.parametrize(
    ("jar", "says"), [("delta-spark_4.2_2.13-4.4.0.jar", "Spark, with delta-spark_4.2"), (None, "delta-rs")]
)
def test_what_writes_delta_tables(jar: str | None, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("panes.spark.delta.engine.found_in", lambda spark: Found("4.2.0", jar))
    found = checks.delta_sinks(cast(SparkSession, None))
    assert (found.grade, found.found.startswith(says)) == (Grade.OK, True)
