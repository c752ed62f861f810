"""The promise, on real Structured Streaming: micro-batches, partitions and restarts do not show, and a batch agrees.

Kernels keep the same laws without Spark, in many more examples; here is what lies between them and a user.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from panes import Engine
from panes.spark.progress import counters_of
from panes.testing import Stream, replay
from panes.testing.sameness import table_of

from .compare import check_rows, rows_of

pytestmark = pytest.mark.spark

SCHEMA = "ts timestamp, k string, j int, v int"
DELAY = 5  # seconds
START = datetime(1969, 12, 31, 23, 59, 50)

QUERIES = {
    "tumbling": "SELECT k, window_start() AS w, sum(v) AS s, count(*) AS n, last(v) AS l FROM t "
    "GROUP BY tumblingwindow('ss', 4), k",
    "hopping": "SELECT j, window_end() AS w, min(v) AS s, collect_list(v) AS l FROM t "
    "GROUP BY hoppingwindow('ss', 5, 2), j",
    "session": "SELECT k, window_start() AS w, avg(v) AS s, first(v) AS f FROM t GROUP BY sessionwindow('ss', 2), k",
    "count": "SELECT k, sum(v) AS s, window_start() AS w FROM t GROUP BY countwindow(3) OVER (PARTITION BY k), k",
    "raw": "SELECT * FROM t GROUP BY tumblingwindow('ss', 4)",
    "derived": "SELECT w, sum(n) AS n FROM (SELECT k, window_end() AS w, count(*) AS n FROM t "
    "GROUP BY tumblingwindow('ss', 2), k) GROUP BY tumblingwindow('ss', 4), w",
    "stateful": "SELECT k, v, lag(v, 2, -1) OVER (PARTITION BY k) AS p, acc_sum(v) OVER (PARTITION BY k) AS s, "
    "had_changed(true, j) OVER (PARTITION BY j) AS h FROM t WHERE latest(v) OVER (PARTITION BY k) IS NOT NULL",
    "state window": "SELECT k, sum(v) AS s, count(*) AS n, window_start() AS w FROM t "
    "GROUP BY statewindow(v > 0, lag(v) < 0) OVER (PARTITION BY k), k",
    "state window, raw": "SELECT * FROM t GROUP BY statewindow(v > 0, j = 1) OVER (PARTITION BY k)",
    "sliding": "SELECT k, sum(v) AS s, max(v) AS m, window_trigger() AS t FROM t "
    "GROUP BY slidingwindow('ss', 3) OVER (PARTITION BY k), k",
    "sliding ahead": "SELECT k, count(*) AS n, avg(v) AS m, window_start() AS t FROM t "
    "GROUP BY slidingwindow('ss', 2, 1) OVER (PARTITION BY k WHEN j = 1), k",
    "over": "SELECT k, v, row_number() OVER w AS n, sum(v) OVER w AS s, lag(v) OVER w AS p, avg(v) OVER "
    "(PARTITION BY k ORDER BY ts RANGE INTERVAL 3 SECONDS PRECEDING) AS m FROM t "
    "WINDOW w AS (PARTITION BY k ORDER BY ts)",
    "over ahead": "SELECT k, v, lead(v) OVER (PARTITION BY k ORDER BY ts) AS n, max(v) OVER (PARTITION BY k "
    "ORDER BY ts RANGE BETWEEN INTERVAL 1 SECOND PRECEDING AND INTERVAL 2 SECONDS FOLLOWING) AS m FROM t",
    "top of a window": "SELECT k, w, s FROM (SELECT k, window_end() AS w, sum(v) AS s FROM t "
    "GROUP BY tumblingwindow('ss', 5), k) QUALIFY row_number() OVER (PARTITION BY w ORDER BY s DESC, k) <= 1",
}
CHANGES = {
    "tumbling": "SELECT k, window_start() AS w, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 4), k EMIT CHANGES",
    "hopping": "SELECT j, window_start() AS w, count(*) AS n FROM t GROUP BY hoppingwindow('ss', 5, 2), j "
    "HAVING sum(v) > 0 EMIT CHANGES",
    "session": "SELECT k, window_start() AS w, count(v) AS n FROM t GROUP BY sessionwindow('ss', 2), k EMIT CHANGES",
    "over": "SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v DESC, ts) AS n, sum(v) OVER (PARTITION BY k "
    "ORDER BY ts ROWS 2 PRECEDING) AS s, percent_rank() OVER (PARTITION BY j ORDER BY ts) AS p FROM t EMIT CHANGES",
    "stacked": "SELECT k, v, n, m, sum(n) OVER (PARTITION BY j ORDER BY ts) AS s FROM (SELECT *, max(n) OVER "
    "(PARTITION BY j, v) AS m FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v, ts) AS n FROM t)) "
    "EMIT CHANGES",
    "top-n": "SELECT k, v, ts FROM t QUALIFY row_number() OVER (PARTITION BY k ORDER BY ts DESC) <= 2 EMIT CHANGES",
}

Row = tuple[Any, ...]


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Rows in the order of their arrival: no time twice, and none older than the largest before, less the delay."""
    times = draw(st.lists(st.integers(0, 30_000), min_size=1, max_size=25, unique=True))
    shifts = [draw(st.integers(0, DELAY * 1000)) for _ in times]
    arrived = [time for _, time in sorted(zip(map(sum, zip(times, shifts, strict=True)), times, strict=True))]
    values = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([1, 2, None]), st.integers(-3, 3) | st.none())
    return [(START + timedelta(milliseconds=time), *draw(values)) for time in arrived]


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[list[Row]], list[int], int]:
    """Micro-batches, after which of them the query is restarted, and the number of shards."""
    left, batches = draw(rows()), []
    while left:
        size = draw(st.integers(1, len(left)))
        batches.append(left[:size])
        left = left[size:]
    if draw(st.booleans()):
        batches.insert(draw(st.integers(0, len(batches))), [])
    restarts = draw(st.lists(st.integers(0, len(batches) - 1), max_size=1))
    return batches, restarts, draw(st.integers(1, 3))


def batch_result(spark: SparkSession, sql: str, input_: list[Row]) -> list[dict[str, Any]]:
    engine = Engine(spark)
    engine.stream("t", spark.createDataFrame(input_, SCHEMA), time="ts")
    return rows_of(engine.sql(sql))


def law(spark: SparkSession, name: str, run: tuple[list[list[Row]], list[int], int]) -> None:
    batches, restarts, shards = run
    stream = Stream(SCHEMA, batches, time="ts", watermark=f"{DELAY} seconds")
    done = replay(QUERIES[name], spark=spark, restart_after=restarts, shards=shards, t=stream)
    check_rows(done.rows, batch_result(spark, QUERIES[name], [row for batch in batches for row in batch]))
    assert done.counter("late_rows") == 0


def changes_law(spark: SparkSession, name: str, run: tuple[list[list[Row]], list[int], int]) -> None:
    batches, restarts, shards = run
    stream = Stream(SCHEMA, batches, time="ts", watermark=f"{DELAY} seconds")
    done = replay(CHANGES[name], spark=spark, restart_after=restarts, shards=shards, t=stream, flush=False)
    for number in range(len(batches)):
        seen = [row for batch in batches[: number + 1] for row in batch]
        came = [row for batch in done.batches[: number + 1] for row in batch]
        query = CHANGES[name].removesuffix("EMIT CHANGES")
        check_rows(table_of(came), batch_result(spark, query, seen) if seen else [])


def one_run(name: str) -> tuple[list[list[Row]], list[int], int]:
    """Twelve rows in three micro-batches, with a restart: other ones for each name, the same in each run."""
    random = Random(name)
    times = random.sample(range(30_000), 12)
    arrived = sorted(times, key=lambda time: time + random.randint(0, DELAY * 1000))
    made = [
        (
            START + timedelta(milliseconds=time),
            random.choice(["a", "b", None]),
            random.choice([1, 2, None]),
            random.choice([-3, -2, -1, 0, 1, 2, 3, None]),
        )
        for time in arrived
    ]
    first, second = sorted(random.sample(range(1, 12), 2))
    return [made[:first], made[first:second], made[second:]], [random.randint(0, 1)], random.randint(1, 3)


PHASES = (Phase.explicit, Phase.reuse, Phase.generate)  # a run takes seconds: too long to look for a smaller one
MANY = settings(max_examples=30, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck), phases=PHASES)


@pytest.mark.parametrize("name", QUERIES)
def test_nothing_shows(spark: SparkSession, name: str) -> None:
    law(spark, name, one_run(name))


@pytest.mark.parametrize("name", CHANGES)
def test_changes_add_up(spark: SparkSession, name: str) -> None:
    changes_law(spark, name, one_run(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", QUERIES)
def test_nothing_shows_in_many_runs(spark: SparkSession, name: str) -> None:
    MANY(given(runs())(lambda run: law(spark, name, run)))()


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_changes_add_up_in_many_runs(spark: SparkSession, name: str) -> None:
    MANY(given(runs())(lambda run: changes_law(spark, name, run)))()


def test_an_empty_micro_batch_changes_nothing(spark: SparkSession) -> None:
    """Nor does it look different: what closes windows and what closes none have one schema."""
    first = [(START + timedelta(seconds=second), "a", 1, second) for second in range(6)]
    last = [(START + timedelta(seconds=30), "a", 1, 1)]
    stream = Stream(SCHEMA, [first, [], [], last, []], time="ts", watermark="0 seconds")
    done = replay(QUERIES["tumbling"], spark=spark, t=stream)
    assert [len(batch) for batch in done.batches] == [1, 0, 0, 1, 0, 1]
    sizes = [found["state_bytes"] for progress in done.progress if (found := counters_of(progress))]
    assert len(set(done.schemas)) == 1
    assert sizes
