"""Kafka → windows → Kafka, killed at any moment: without its repeats a topic holds the batch's result.

A process runs the script and is killed with its Spark, inside micro-batches and while it ends the input. Each record of
the source is in one window of each kind or among the dead letters.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark.input_files import at
from spark.kafka.topics import make, send, taken, without_repeats
from spark.plain_windows import QUERIES, START, Out, Row, expected
from spark.test_kill import Script, killed_while_flushing, killed_while_reading

pytestmark = [pytest.mark.spark, pytest.mark.slow]
KINDS = ("tumbling", "session")
PACE, JITTER = 300, 4_000  # milliseconds: less than the delay, though the partitions of a topic keep no step
SENT, PER_BATCH = 90, 15  # records before each start, and in a micro-batch
KILLS, FLUSHES = 10, 3  # while reading; and how often the end of the input is tried


@dataclass
class Source:
    """The records of a topic: what they hold, and which are malformed."""

    choose: random.Random
    rows: list[Row] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    number: int = 0

    def more(self) -> list[tuple[str, str | None]]:
        """Some more records; no two rows have one time."""
        return [self._record() for _ in range(SENT)]

    def _record(self) -> tuple[str, str]:
        self.number += 1
        time = max(0, self.number * PACE - self.choose.randrange(JITTER)) + self.number % 7
        if self.choose.random() < 0.05 or any(row.time == time for row in self.rows):
            self.broken.append(broken(self.choose, self.number))
            return "bad", self.broken[-1]
        row = Row(time, self.choose.choice("abc"), self.choose.randrange(1000))
        self.rows.append(row)
        return row.k, json.dumps({"ts": at(row.time), "k": row.k, "v": row.v})


def broken(choose: random.Random, number: int) -> str:
    return choose.choice([f'{{"v": "many {number}"}}', f'{{"ts": "{number}', f"[{number}]"])


@dataclass(frozen=True)
class KafkaScript(Script):
    kafka: str = ""

    def write_script(self) -> None:
        where = f"connector = 'kafka', bootstrap_servers = '{self.kafka}'"
        lines = [
            "CREATE STREAM t (ts TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL 10 SECONDS)",
            f"WITH ({where}, topic = 'kill-in', format = 'json', starting_offsets = 'earliest',",
            f"  max_offsets_per_trigger = '{PER_BATCH}', on_error = 'dead_letter', dead_letter = 'bad');",
            f"CREATE SINK bad WITH (connector = 'json', path = '{self.folder}/bad');",
        ]
        for name in self.kinds:
            lines.append(f"CREATE SINK {name} WITH ({where}, topic = 'kill-{name}', key = 'k');")
            lines.append(f"INSERT INTO {name} {QUERIES[name].format(start=START)};")
        (self.folder / "script.sql").write_text("\n".join(lines), encoding="utf-8")


def test_killed_many_times(kafka: str, spark: SparkSession, tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    choose = random.Random(seed)
    source = Source(choose)
    script = KafkaScript(tmp_path, KINDS, kafka)
    make(spark, kafka, "kill-in", *(f"kill-{name}" for name in KINDS))
    script.write_script()
    inside = killed_while_reading(
        script, choose, KILLS, batches=8, feed=lambda: send(spark, kafka, "kill-in", source.more())
    )
    flushing = killed_while_flushing(script, choose, FLUSHES)
    windows = expected(source.rows)
    for name in KINDS:
        taken_records = taken(spark, kafka, f"kill-{name}")
        found = without_repeats(taken_records)
        print(f"{name}: {taken_records.count()} records, {len(found)} of them no repeats")
        assert sorted(Out(**value) for _, value in found) == windows[name], name
        assert sum(value["n"] for _, value in found) + len(source.broken) == source.number
    print(f"{KILLS} kills while reading, {inside} of them inside a micro-batch; {flushing} while flushing")
    assert inside > 0
    letters = [row["_value"] for row in spark.read.json(str(tmp_path / "bad")).collect()]
    assert sorted(letters) == sorted(source.broken)
