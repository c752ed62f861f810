"""Changelogs that leave out old rows or come out of sequence: what a query adds up to is the query over the table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from .double.engine import Replayed, batch, no_spark
from .double.types import Schema
from .law import added_up, compare

INSERT, DELETE, BEFORE, AFTER = "insert", "delete", "update_preimage", "update_postimage"
TYPES = pa.schema(
    [("_change_type", pa.string()), ("id", pa.int64()), ("p", pa.string()), ("x", pa.int64()), ("seq", pa.int64())]
)
Row = dict[str, Any]
QUERIES = [
    "SELECT id, p, x FROM t",
    "SELECT id, x + 1 AS y FROM t WHERE x > 0",
    "SELECT id, p, x, rank() OVER (PARTITION BY p ORDER BY x) AS r FROM t",
    "SELECT id, sum(x) OVER (PARTITION BY id % 3 ORDER BY x, id) AS s FROM t",
    "SELECT id, sum(x) OVER (PARTITION BY p ORDER BY id ROWS 1 PRECEDING) AS s FROM t WHERE x > 0",
    "SELECT id, sum(x) OVER (PARTITION BY id % 2 ORDER BY id) AS s FROM t WHERE x > 0",
    "SELECT id, r FROM (SELECT id, x, row_number() OVER (PARTITION BY p ORDER BY x, id) AS r FROM t) WHERE x > 0",
    "SELECT p, count(*) OVER (PARTITION BY p, y) AS c FROM (SELECT p, x % 2 AS y FROM t WHERE x <> 1)",
    "SELECT id, sum(r) OVER (PARTITION BY p ORDER BY id) AS s FROM "
    "(SELECT id, p, rank() OVER (PARTITION BY x ORDER BY id) AS r FROM t) WHERE r < 3",
]


def history(random: Random, in_sequence: bool) -> tuple[list[Row], list[Row]]:
    """Changes, some without old rows or only with the key, some out of sequence; and the table that they leave."""
    table: dict[int, Row] = {}
    last: dict[int, int] = {}
    changes: list[Row] = []
    for number in range(random.randint(1, 30)):
        key = random.randint(0, 6)
        row = {"id": key, "p": random.choice(["a", "b", None]), "x": random.choice([None, *range(-2, 4)])}
        seq = number - random.choice([0, 0, 0, 2, 5]) if in_sequence else number
        old = table.get(key)
        bare = {"id": key, "p": None, "x": None}
        if old is None:
            new = [{"_change_type": random.choice([INSERT, AFTER]), **row}]
        elif random.random() < 0.3:
            new = [{"_change_type": DELETE, **random.choice([old, bare])}]
        else:
            new = [{"_change_type": BEFORE, **random.choice([old, bare])}] * (random.random() < 0.5)
            new.append({"_change_type": AFTER, **row})
        for one in new:
            changes.append({**one, "seq": seq})
            if in_sequence and seq < last.get(key, seq):
                continue
            last[key] = seq
            table.pop(key, None)
            if one["_change_type"] in (INSERT, AFTER):
                table[key] = row
    return changes, [{"_change_type": INSERT, **row, "seq": 0} for row in table.values()]


def cut(random: Random, rows: pa.Table) -> list[list[pa.Table]]:
    """Micro-batches of some source partitions, in the order of arrival."""
    batches: list[list[pa.Table]] = []
    at = 0
    while at < rows.num_rows:
        parts = []
        for _ in range(random.randint(1, 3)):
            size = random.randint(0, 4)
            parts.append(rows.slice(at, size))
            at += size
        batches.append(parts)
    return batches


@pytest.mark.parametrize("sql", QUERIES)
@pytest.mark.parametrize("in_sequence", [False, True])
def test_what_changes_leave(sql: str, in_sequence: bool) -> None:
    with no_spark():
        for seed in range(3):
            random = Random(seed)
            changes, table = history(random, in_sequence)
            options = {"key": ["id"], "changelog": True, "sequence": "seq" if in_sequence else None}
            rows = pa.Table.from_pylist(changes, TYPES)
            wanted = added_up([batch(sql, pa.Table.from_pylist(table, TYPES), options)])
            whole = batch(sql, rows, options)
            compare(f"batch {seed}", added_up([whole]), "table", wanted)
            run = Replayed(sql, Schema.of_arrow(TYPES), options, random.randint(1, 3), seed)
            for parts in cut(random, rows):
                run.micro_batch(parts)
                if random.random() < 0.3:
                    run.start()
            run.flush()
            compare(f"stream {seed}", added_up(run.outputs), "table", wanted)


TIMED = pa.schema([("ts", pa.timestamp("us", "UTC")), ("id", pa.int64()), ("p", pa.string()), ("x", pa.int64())])
EXPIRING = [
    "SELECT id, count(*) OVER (PARTITION BY p ORDER BY x) AS c FROM t EMIT CHANGES",
    "SELECT id, sum(x) OVER (PARTITION BY p ORDER BY ts ROWS 2 PRECEDING) AS s FROM t EMIT CHANGES",
    "SELECT id, lead(x) OVER (ORDER BY ts DESC) AS s FROM t WHERE x > 0 EMIT CHANGES",
    "SELECT id, row_number() OVER (PARTITION BY p ORDER BY x DESC, id) AS r FROM t QUALIFY r <= 2 EMIT CHANGES",
]


@pytest.mark.parametrize("sql", EXPIRING)
def test_partitions_that_expire(sql: str) -> None:
    """With a state_ttl, rows out of order but not late: the stream is what the batch is."""
    with no_spark():
        for seed in range(4):
            random = Random(seed)
            now, rows = 0, []
            for number in range(random.randint(1, 25)):
                now += random.choice([0, 1, 4, 12, 40])
                row = {"id": number, "p": random.choice(["a", "b", None]), "x": random.randint(-2, 5)}
                rows.append(
                    {"ts": datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=now - random.randint(0, 9)), **row}
                )
            table = pa.Table.from_pylist(rows, TIMED)
            options = {"time": "ts", "key": ["id"], "state_ttl": "10 seconds"}
            wanted = added_up([batch(sql, table, options)])
            timed = {**options, "watermark": "9 seconds"}
            run = Replayed(sql, Schema.of_arrow(TIMED), timed, random.randint(1, 3), seed)
            for parts in cut(random, table):
                run.micro_batch(parts)
            run.flush()
            compare(f"stream {seed}", added_up(run.outputs), "batch", wanted)
