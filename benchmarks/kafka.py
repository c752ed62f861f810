"""From Kafka, as a share of what Spark reads from it: `lag` to nowhere, and tumbling windows back into Kafka.

The broker and the connectors are those of the tests. Spark's own read is measured twice: the bare records, and with
their JSON parsed, which every query that uses a column needs.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from pyspark.sql import DataFrame
from rich.console import Console

import panes
from benchmarks.figures import Figures
from benchmarks.streams import ROUNDS, ROWS, START, WARM_UP, Bench, bench
from panes.spark.report import Report

TOPIC, OUT = "bench", "bench-out"
KEYS, SECONDS, BATCHES = 10_000, 60, 5  # seconds of event time in each micro-batch
RECORDS = ROWS // 4  # a micro-batch
SCHEMA = "ts timestamp, k long, v double"
LAG = "SELECT k, ts, v, lag(v) OVER (PARTITION BY k) AS before FROM s"
TUMBLING = "SELECT k, window_end() AS at, sum(v) AS s, count(*) AS n FROM s GROUP BY tumblingwindow('ss', 10), k"


def run(console: Console) -> dict[str, object]:
    from jars import MissingError
    from kafka_broker import broker

    figures = Figures("From Kafka", console)
    with bench() as on:
        folder = on.folder / "broker"
        folder.mkdir()
        try:
            with broker(folder) as addresses:
                _measure(Topic(on, addresses.open), figures)
        except MissingError as missing:
            console.print(f"not measured: {missing}")
    return figures.show()


def _measure(topic: Topic, figures: Figures) -> None:
    topic.fill()
    cases: dict[str, Callable[[], float]] = {
        "Spark's read": lambda: topic.spark(topic.records()),
        "Spark's read of JSON": lambda: topic.spark(topic.parsed()),
        "lag": lambda: topic.panes(LAG, "connector = 'noop'"),
        "tumbling to Kafka": lambda: topic.panes(TUMBLING, f"{topic.where}, topic = '{OUT}', key = 'k'"),
    }
    runs = [{name: case() for name, case in cases.items()} for _ in range(1 + ROUNDS)][1:]  # the first one compiles
    rates = {name: median(run[name] for run in runs) for name in cases}
    for name, rate in rates.items():
        figures.note(f"{name}, records a second", rate)
    for name in ("lag", "tumbling to Kafka"):
        for read in ("Spark's read", "Spark's read of JSON"):
            figures.note(f"{name}, share of {read}", rates[name] / rates[read])


@dataclass(frozen=True)
class Topic:
    """A topic with micro-batches of records, in the order of their times."""

    on: Bench
    servers: str

    @property
    def where(self) -> str:
        return f"connector = 'kafka', bootstrap_servers = '{self.servers}'"

    def fill(self) -> None:
        """One task writes both partitions in turn, so that they keep step."""
        step = SECONDS * 1_000_000 // RECORDS
        rows = self.on.spark.range(0, RECORDS * BATCHES, 1, 1).selectExpr(
            "CAST(id % 2 AS INT) AS partition",
            f"to_json(struct(timestamp_micros({START} + id * {step}) AS ts, pmod(hash(id), {KEYS}) AS k, "
            "rand(1) AS v)) AS value",
        )
        self._make_topics()
        writer = rows.write.format("kafka").option("kafka.bootstrap.servers", self.servers)
        writer.option("topic", TOPIC).save()

    def _make_topics(self) -> None:
        from spark.kafka.topics import make

        make(self.on.spark, self.servers, TOPIC, OUT)

    def records(self) -> DataFrame:
        """The records as Spark reads them."""
        reader = self.on.spark.readStream.format("kafka").option("kafka.bootstrap.servers", self.servers)
        options = {"subscribe": TOPIC, "startingOffsets": "earliest", "maxOffsetsPerTrigger": str(RECORDS)}
        return reader.options(**options).load()

    def parsed(self) -> DataFrame:
        return self.records().selectExpr(f"inline(array(from_json(CAST(value AS STRING), '{SCHEMA}')))")

    def spark(self, df: DataFrame) -> float:
        """Records a second of a query of Spark's."""
        done = self.on.batches(df)
        return _rate([one.durationMs["triggerExecution"] / 1000 for one in done if one.numInputRows == RECORDS])

    def panes(self, query: str, sink: str) -> float:
        """Records a second of an INSERT."""
        reports: list[Report] = []
        checkpoint = tempfile.mkdtemp(dir=self.on.folder)
        script = f"""
            CREATE STREAM s ({SCHEMA}, WATERMARK FOR ts AS ts - INTERVAL 10 SECONDS) WITH ({self.where},
                topic = '{TOPIC}', format = 'json', starting_offsets = 'earliest',
                max_offsets_per_trigger = '{RECORDS}');
            CREATE SINK out WITH ({sink});
            INSERT INTO out {query};
        """
        panes.Engine(self.on.spark).run(script, checkpoint=checkpoint, once=True, report=reports.append)
        shutil.rmtree(checkpoint, ignore_errors=True)
        full = [one.seconds for one in reports if one.counters.get("rows_in") == RECORDS]
        return _rate(full[WARM_UP:])


def _rate(seconds: list[float]) -> float:
    return RECORDS / median(seconds)
