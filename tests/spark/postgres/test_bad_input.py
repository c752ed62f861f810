"""What is wrong around a pipeline into PostgreSQL: `panes run` says it once, and leaves with exit code 1."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from panes.cli.main import app
from spark.input_files import write_file
from spark.postgres.tables import Tables

pytestmark = pytest.mark.spark
WRONG = "staple-of-a-horse"


@pytest.mark.parametrize("password", ["${ENV:PANES_TEST_WORD}", WRONG], ids=["of-the-environment", "in-the-script"])
def test_a_wrong_password(
    password: str, spark: SparkSession, db: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("panes.secrets._handed_out", set())
    monkeypatch.setenv("PANES_TEST_WORD", WRONG)
    write_file(tmp_path / "in", 0, [{"id": 1}])
    script = tmp_path / "script.sql"
    script.write_text(f"""
        CREATE STREAM t (id BIGINT) WITH (connector = 'json', path = '{tmp_path}/in');
        CREATE SINK out WITH (connector = 'postgres', url = '{db.server.url}', password = '{password}',
            table = '{db.schema}.out', create = 'true');
        INSERT INTO out SELECT id FROM t;
    """)
    done = CliRunner().invoke(app, ["run", str(script), "--once", "--quiet"])
    spark.sparkContext.setLogLevel("ERROR")  # the command line turns it off
    assert done.exit_code == 1
    message, *hint = done.stderr.strip().split("\n")
    assert message.startswith(f"database-failed: PostgreSQL at 127.0.0.1:{db.server.port}/postgres: ")
    assert "password authentication failed" in message
    assert [line[:5] for line in hint] == ["hint:"]
    assert WRONG not in done.output
