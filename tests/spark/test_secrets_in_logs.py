"""Spark and the clients of its sources log their settings at INFO: no password is among them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from jars import DATABASES, MissingError, jars, skip
from kafka_broker import LOGIN, PASSWORD, USER, Addresses
from postgres_server import Server
from pyspark.sql import SparkSession

from spark.kafka.topics import make, send
from spark.postgres.tables import tables

LOG = """
rootLogger.level = info
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c: %m%n%ex
logger.all.name = org.apache
logger.all.level = info
"""


@pytest.mark.slow
@pytest.mark.spark
def test_no_password_is_logged(
    kafka_addresses: Addresses, spark: SparkSession, postgres: Server, tmp_path: Path
) -> None:
    """Of a topic that is read and one that is written, of a table, and of one that JDBC writes."""
    try:
        jars("databases", DATABASES, alone=True)
    except MissingError as missing:
        skip(missing)
    make(spark, kafka_addresses.open, "logged-in", "logged-out")
    send(spark, kafka_addresses.open, "logged-in", [("k", '{"id": 1}'), ("k", '{"id": 2}')])
    topic = f"""connector = 'kafka', bootstrap_servers = '{kafka_addresses.guarded}',
        kafka.security.protocol = 'SASL_PLAINTEXT', kafka.sasl.mechanism = 'PLAIN',
        kafka.sasl.jaas.config = '{LOGIN} username="{USER}" password="${{ENV:PANES_TEST_KAFKA}}";'"""
    with tables(postgres, "logs") as db:
        url = f"jdbc:postgresql://127.0.0.1:{postgres.port}/postgres"
        (tmp_path / "script.sql").write_text(f"""
            CREATE STREAM orders (id BIGINT)
            WITH ({topic}, topic = 'logged-in', format = 'json', starting_offsets = 'earliest');
            CREATE SINK written WITH ({topic}, topic = 'logged-out');
            CREATE SINK stored WITH (connector = 'postgres', url = '{postgres.url}', table = '{db.schema}.stored',
                password = '${{ENV:PANES_TEST_TABLE}}', create = 'true');
            CREATE SINK reached WITH (connector = 'jdbc', url = '{url}', table = '{db.schema}.reached',
                user = '{postgres.user}', password = '${{ENV:PANES_TEST_TABLE}}', create = 'true');
            INSERT INTO written SELECT id FROM orders;
            INSERT INTO stored SELECT id FROM orders;
            INSERT INTO reached SELECT id FROM orders;
        """)
        (tmp_path / "log4j2.properties").write_text(LOG)
        secrets = {"PANES_TEST_KAFKA": PASSWORD, "PANES_TEST_TABLE": postgres.password}
        log = run(tmp_path, {**secrets, "SPARK_CONF_DIR": str(tmp_path)})
        assert db.sql("SELECT count(*) FROM stored") == db.sql("SELECT count(*) FROM reached") == [(2,)]
    assert "INFO org.apache.kafka.clients.consumer.ConsumerConfig: " in log  # it tells all that a client was given
    assert "INFO org.apache.spark.sql.execution.streaming" in log
    for secret in secrets.values():
        assert [line for line in log.splitlines() if secret in line] == []


def run(folder: Path, more: dict[str, str]) -> str:
    """What a run writes to standard output and error, and Spark to its log."""
    command = [sys.executable, "-c", "from panes.cli.main import app; app()", "run", "script.sql", "--once", "--debug"]
    env = {**os.environ, **more}
    done = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900)
    log = done.stdout.decode(errors="replace")
    assert done.returncode == 0, log[-5000:]
    return log
