"""What is wrong around a Kafka pipeline: `panes run` says it once, in plain words, and leaves with exit code 1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka_broker import LOGIN, PASSWORD, USER, Addresses
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from panes.cli.main import app
from spark.kafka.topics import make, send

pytestmark = pytest.mark.spark
COLUMNS = "id BIGINT, amount DOUBLE, note STRING"


@pytest.fixture(scope="module", autouse=True)
def topics(kafka: str, spark: SparkSession) -> Iterator[None]:
    """Topics for these tests; the command line turns Spark's log off."""
    make(spark, kafka, "fine", "not-json", "drifted")
    send(spark, kafka, "fine", [("k", '{"id": 1, "amount": 2.5}'), ("k", '{"id": 2, "note": "x", "new": [1]}')])
    send(spark, kafka, "not-json", [("k", '{"id": 1}'), ("k", "id=2")])
    send(spark, kafka, "drifted", [("k", '{"id": 1, "amount": 2.5}'), ("k", '{"id": 2, "amount": {"value": 2.5}}')])
    yield
    spark.sparkContext.setLogLevel("ERROR")


def script(servers: str, topic: str, more: str = "", out: str = "connector = 'noop'") -> str:
    return f"""
        CREATE STREAM orders ({COLUMNS}) WITH (connector = 'kafka', bootstrap_servers = '{servers}',
            topic = '{topic}', format = 'json', starting_offsets = 'earliest' {more});
        CREATE SINK out WITH ({out});
        INSERT INTO out SELECT id FROM orders;
    """


def run(folder: Path, sql: str) -> tuple[int, str]:
    (folder / "script.sql").write_text(sql)
    done = CliRunner().invoke(app, ["run", str(folder / "script.sql"), "--once", "--quiet"])
    return done.exit_code, done.stderr


def refused(folder: Path, sql: str, code: str) -> str:
    """The one message of a script that is refused or stops."""
    exit_code, told = run(folder, sql)
    assert exit_code == 1
    message, *hint = told.strip().split("\n")
    assert message.startswith(f"{code}: ")
    assert [line[:5] for line in hint] in ([], ["hint:"])
    return message


def password(word: str) -> str:
    return f""", kafka.security.protocol = 'SASL_PLAINTEXT', kafka.sasl.mechanism = 'PLAIN',
        kafka.sasl.jaas.config = '{LOGIN} username="{USER}" password="${{ENV:{word}}}";'"""


def test_a_broker_that_does_not_answer(tmp_path: Path) -> None:
    nobody = "127.0.0.1:1"
    assert f"Kafka at {nobody}: " in refused(tmp_path, script(nobody, "fine"), "broker-failed")


def test_a_topic_that_is_missing(kafka: str, tmp_path: Path) -> None:
    told = refused(tmp_path, script(kafka, "find"), "broker-failed")
    assert f"Kafka at {kafka} has no topic find" in told


def test_a_topic_of_assigned_partitions_that_is_missing(kafka: str, tmp_path: Path) -> None:
    sql = script(kafka, "find").replace("topic = 'find'", """assign = '{"fine": [0], "find": [0]}'""")
    assert f"Kafka at {kafka} has no topic find" in refused(tmp_path, sql, "broker-failed")
    assert run(tmp_path, sql.replace(', "find": [0]', "")) == (0, "")


def test_a_topic_of_a_sink_that_is_missing(kafka: str, tmp_path: Path) -> None:
    """Of the result, and of dead letters."""
    nowhere = f"connector = 'kafka', bootstrap_servers = '{kafka}', topic = 'fin'"
    assert "has no topic fin" in refused(tmp_path, script(kafka, "fine", out=nowhere), "broker-failed")
    dead = script(kafka, "fine", ", on_error = 'dead_letter', dead_letter = 'bad'")
    assert "has no topic fin" in refused(tmp_path, f"CREATE SINK bad WITH ({nowhere}); {dead}", "broker-failed")


def test_a_password(kafka_addresses: Addresses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The right one opens, the wrong one is told without being told."""
    monkeypatch.setenv("PANES_TEST_RIGHT", PASSWORD)
    monkeypatch.setenv("PANES_TEST_WRONG", "staple-of-a-horse")
    assert run(tmp_path, script(kafka_addresses.guarded, "fine", password("PANES_TEST_RIGHT"))) == (0, "")
    wrong = password("PANES_TEST_WRONG")
    out = f"connector = 'kafka', bootstrap_servers = '{kafka_addresses.guarded}', topic = 'fine-out' {wrong}"
    for sql in (
        script(kafka_addresses.guarded, "fine", wrong),
        script(kafka_addresses.open, "fine", out=out),
    ):
        told = refused(tmp_path, sql, "broker-failed")
        assert "Authentication failed" in told
        assert "staple-of-a-horse" not in told


def test_a_value_that_is_not_json(kafka: str, tmp_path: Path) -> None:
    told = refused(tmp_path, script(kafka, "not-json"), "malformed-record")
    assert "the value of offset 1 in partition" in told
    assert "of topic not-json is not json of the declared columns: id=2" in told


def test_a_field_of_another_type(kafka: str, tmp_path: Path) -> None:
    """Fields may come and go; one that changes its type is malformed, read or not."""
    assert run(tmp_path, script(kafka, "fine")) == (0, "")
    told = refused(tmp_path, script(kafka, "drifted"), "malformed-record")
    assert 'of topic drifted is not json of the declared columns: {"id": 2, "amount": {"value": 2.5}}' in told
