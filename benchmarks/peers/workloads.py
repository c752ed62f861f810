"""What is asked of everyone, and the answer that counts: DuckDB's, over all rows as one batch.

`rows` in the SQL of an answer are the rows of the files without the last one. Times are milliseconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.peers.data import CHANGES, EVENTS

BY_KEY = "OVER (PARTITION BY k ORDER BY ts"


@dataclass(frozen=True)
class Workload:
    """`key` are the columns that tell results apart; `due` is the time of the row that completes a result."""

    name: str
    says: str
    answer: str
    key: tuple[str, ...]
    due: str | None
    rows: str = EVENTS

    @property
    def title(self) -> str:
        return self.name.replace("_", " ")


def per_row(name: str, says: str, value: str) -> Workload:
    """A result for each row, final when a later row has come."""
    return Workload(name, says, f"SELECT k, ts, v, {value} AS r FROM rows", ("k", "ts"), "ts + 1")


# Only rows above 0.9 and below 0.1 open and close: a window begins at the first of the former after one of the latter.
STATE_WINDOW = f"""
WITH kinds AS (
  SELECT *, CASE WHEN v > 0.9 THEN 'open' WHEN v < 0.1 THEN 'close' END AS kind FROM rows
), states AS (
  SELECT *, last_value(kind IGNORE NULLS) {BY_KEY} ROWS UNBOUNDED PRECEDING) AS after,
         last_value(kind IGNORE NULLS) {BY_KEY} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM kinds
), numbered AS (
  SELECT *, count(*) FILTER (WHERE after = 'open' AND before IS DISTINCT FROM 'open') {BY_KEY}) AS number FROM states
)
SELECT k, min(ts) AS opens, max(ts) AS closes, sum(v) AS s, count(*) AS n FROM numbered
WHERE after = 'open' OR before = 'open' GROUP BY k, number HAVING bool_or(kind = 'close')
"""

WORKLOADS = (
    Workload(
        "tumbling",
        "sum and count of each key in windows of 10 s",
        "SELECT k, ts // 10000 * 10000 AS opens, sum(v) AS s, count(*) AS n FROM rows GROUP BY k, opens",
        ("k", "opens"),
        "opens + 10000",
    ),
    Workload(
        "hopping",
        "the same in windows of 10 s, one every 2 s",
        """SELECT k, opens, sum(v) AS s, count(*) AS n
           FROM (SELECT *, unnest(range(ts // 2000 * 2000 - 8000, ts + 1, 2000)) AS opens FROM rows)
           GROUP BY k, opens""",
        ("k", "opens"),
        "opens + 10000",
    ),
    Workload(
        "session",
        "the same in sessions with a gap of 1 s",
        f"""SELECT k, min(ts) AS opens, max(ts) AS closes, sum(v) AS s, count(*) AS n
            FROM (SELECT *, sum(begins) {BY_KEY}) AS number
                  FROM (SELECT *, (ts - lag(ts, 1, 0) {BY_KEY}) > 1000)::INT AS begins FROM rows))
            GROUP BY k, number""",
        ("k", "opens"),
        "closes + 1001",
    ),
    per_row("lag", "the value before, for each row", f"lag(v) {BY_KEY})"),
    per_row("row_number", "the number of the row, for each row", f"row_number() {BY_KEY})"),
    per_row(
        "range_10s",
        "the sum over the rows of the last 10 s, for each row",
        f"sum(v) {BY_KEY} RANGE 10000 PRECEDING)",
    ),
    Workload(
        "statewindow",
        "sum and count from a value above 0.9 to the next below 0.1",
        STATE_WINDOW,
        ("k", "opens"),
        "closes + 1",
    ),
    Workload(
        "sliding",
        "sum and count of the last 10 s at each event",
        f"SELECT k, ts, sum(v) {BY_KEY} RANGE 10000 PRECEDING) AS s, count(*) {BY_KEY} RANGE 10000 PRECEDING) AS n "
        "FROM rows",
        ("k", "ts"),
        "ts + 1",
    ),
    Workload(
        "keep_latest",
        "the latest row of each key, as a table that changes",
        "SELECT k, max(ts) AS ts, arg_max(v, ts) AS v FROM rows GROUP BY k",
        ("k",),
        "ts",
    ),
    Workload(
        "over_changelog",
        "the sum over the last 11 rows by id, for each row of a table that changes",
        "SELECT id, k, v, sum(v) OVER (PARTITION BY k ORDER BY id ROWS 10 PRECEDING) AS r FROM rows",
        ("id",),
        None,
        CHANGES,
    ),
)
