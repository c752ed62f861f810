"""Kafka (Debezium) → OVER → PostgreSQL, killed at any moment: in the end the table equals the batch."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark.kafka.topics import make, send
from spark.postgres.changes import Changing, held, script
from spark.postgres.tables import Tables
from spark.test_kill import Script, kill

pytestmark = [pytest.mark.spark, pytest.mark.slow]
KILLS = 12


@dataclass
class Moments:
    """Where a process was when it was killed."""

    kills: int = 0
    inside: int = 0  # a micro-batch had begun
    staged: int = 0  # rows were on their way
    merged: int = 0  # they were in the table, and Spark did not know


def recorded(db: Tables) -> int:
    """The last micro-batch in the table."""
    if "panes_sinks" not in db.names():
        return -1
    ((batch,),) = db.sql("SELECT coalesce(max(batch), -1) FROM panes_sinks")
    return int(batch)


def committed(script: Script) -> int:
    logs = script.checkpoint.glob("*/spark/commits/*")
    return max((int(log.name) for log in logs if log.name.isdigit()), default=-1)


def test_killed_many_times(kafka: str, spark: SparkSession, db: Tables, tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    choose = random.Random(seed)
    source = Changing(choose, keys=200)
    make(spark, kafka, "killed")
    running = Script(tmp_path, ())
    (tmp_path / "script.sql").write_text(script(kafka, "killed", db, per_batch=100), encoding="utf-8")
    moments = Moments()
    while moments.kills < KILLS:
        send(spark, kafka, "killed", source.change(600))
        process = running.start("--once")
        target = running.begun() + choose.randint(1, 4)
        while process.poll() is None and not (running.begun() >= target and running.under_way()):
            time.sleep(0.005)
        end = time.monotonic() + choose.uniform(0, 0.6)
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        if process.poll() is not None:
            assert process.returncode == 0, running.log()
            continue
        kill(process)
        moments.kills += 1
        moments.inside += running.under_way() > 0
        moments.merged += recorded(db) > committed(running)
        moments.staged += any(name.startswith("panes_staging") for name in db.names())
    for _ in range(2):
        assert running.start("--once").wait() == 0, running.log()
        send(spark, kafka, "killed", source.change(50))
    assert running.start("--once").wait() == 0, running.log()
    print(f"{moments}; {recorded(db)} micro-batches")
    assert moments.inside > 0
    assert held(db) == source.board()
    assert db.names() == {"board", "panes_sinks"}
