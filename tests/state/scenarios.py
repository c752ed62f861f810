"""What golden checkpoints are made of: for each operator a query, the rows before its checkpoint and those after.

A scenario is never changed once its checkpoint is in a release: what an operator learns to keep gets a new one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark import cloudpickle
from spark.input_files import at

from panes.functions.stateful import StatefulFunction, StatefulFunctionInstance

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]  # Spark's workers cannot import the tests

Row = Mapping[str, Any]
Parts = tuple[tuple[Row, ...], ...]  # a micro-batch each; the checkpoint is before the last

COLUMNS = "ts TIMESTAMP, id INT, k STRING, v INT, x DOUBLE, d DECIMAL(10, 2), f BOOLEAN"
STREAM = f"{COLUMNS}, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS, PRIMARY KEY (id)"
TABLE = "id INT, k STRING, v INT, version BIGINT, PRIMARY KEY (id)"


def _event(n: int) -> Row:
    """A row a second, three at most too early or too late. The key c is quiet for 13 seconds of every 16."""
    quiet = n % 16 > 2
    return {
        "ts": at(10_000 + 1000 * n - 700 * (n * 7 % 5)),
        "id": n,
        "k": None if n % 13 == 5 else "ab"[n % 2] if quiet else "c",
        "v": None if n % 7 == 3 else n * 37 % 23 - 5,
        "x": None if n % 9 == 4 else n * 0.7 - 11,
        "d": None if n % 10 == 7 else n * 31 % 50 / 4,
        "f": None if n % 8 == 6 else n % 3 == 0,
    }


def _events(first: int, last: int) -> tuple[Row, ...]:
    return tuple(_event(n) for n in range(first, last))


EVENTS: Parts = (_events(0, 14), _events(14, 28), _events(28, 50))

INSERT, DELETE, POSTIMAGE = "insert", "delete", "update_postimage"


def _change(type_: str, n: int, version: int) -> Row:
    """A change of row n: of a deleted one only the key is told."""
    row: dict[str, Any] = {"_change_type": type_, "id": n, "version": version}
    value = None if (n + version) % 7 == 3 else (n * 37 + version * 11) % 23 - 5
    return row if type_ == DELETE else row | {"k": "abc"[(n + version) % 3] if n % 6 else None, "v": value}


CHANGES: Parts = (
    tuple(_change(INSERT, n, 1) for n in range(16)),
    (
        *(_change(POSTIMAGE, n, 3) for n in range(0, 12, 3)),
        *(_change(DELETE, n, 3) for n in range(1, 16, 5)),
        *(_change(INSERT, n, 1) for n in range(16, 20)),
    ),
    (
        *(_change(POSTIMAGE, n, 4) for n in range(2, 20, 4) if n != 6),
        *(_change(DELETE, n, 5) for n in (3, 4, 12)),
        *(_change(INSERT, n, 6) for n in (1, 20, 21)),
    ),
)
# Changes that come too late: of a row that is there, and of one that is not.
STALE: tuple[Row, ...] = (_change(POSTIMAGE, 0, 2), _change(INSERT, 6, 2))


class Streak(StatefulFunction):
    """How many rows in a row had this value."""

    name = "streak"

    def return_type(self, input_types: Any) -> str:
        return "bigint"

    def create_instance(self) -> StatefulFunctionInstance:
        return StreakInstance()


class StreakInstance(StatefulFunctionInstance):
    def __init__(self) -> None:
        self.value, self.length = None, 0

    def eval(self, args: Any) -> int:
        self.length = self.length + 1 if args[0] == self.value else 1
        self.value = args[0]
        return self.length


@dataclass(frozen=True)
class Scenario:
    """A query over a stream `t`; `options` are those of the stream."""

    name: str
    query: str
    columns: str = STREAM
    options: Mapping[str, str] = field(default_factory=dict)
    parts: Parts = EVENTS
    functions: tuple[StatefulFunction, ...] = ()

    @property
    def is_changelog(self) -> bool:
        return "changelog" in self.options

    def script(self, folder: str) -> str:
        """In a folder with the input `in`, the result `out`."""
        options = {"connector": "json", "path": f"{folder}/in", "maxFilesPerTrigger": "1", **self.options}
        written = ", ".join(f"{name} = '{value}'" for name, value in options.items())
        changes = ", changelog = 'rows'" if self.is_changelog or "EMIT CHANGES" in self.query else ""
        return f"""
            CREATE STREAM t ({self.columns}) WITH ({written});
            CREATE SINK out WITH (connector = 'json', path = '{folder}/out'{changes});
            INSERT INTO out {self.query};
        """

    def table(self) -> Iterator[Row]:
        """The rows that all changes leave; those of one that comes too late are not among them."""
        left: dict[int, Row] = {}
        for row in (row for part in self.parts for row in part if row not in STALE):
            left.pop(row["id"], None)
            if row["_change_type"] != DELETE:
                left[row["id"]] = {name: value for name, value in row.items() if name != "_change_type"}
        yield from left.values()


def _changelog(name: str, query: str, **options: str) -> Scenario:
    last = CHANGES[-1] + (STALE if "sequence" in options else ())
    return Scenario(name, query, TABLE, {"changelog": "true", **options}, (*CHANGES[:-1], last))


TTL = {"state_ttl": "8 seconds"}
FEW = "count(*) AS n, count(v) AS c, sum(v) AS s, min(d) AS low, max(x) AS high"
BY = "PARTITION BY k ORDER BY ts"

_ALL = (
    # Windows
    Scenario(
        "tumbling",
        """
        SELECT k, window_start() AS since, window_end() AS until,
               count(*) AS c1, count(v) AS c2, count(DISTINCT v) AS c3, count(DISTINCT v, f) AS c4,
               sum(v) AS s1, sum(x) AS s2, sum(d) AS s3, sum(DISTINCT v) AS s4, sum(v) FILTER (WHERE f) AS s5,
               avg(v) AS a1, avg(d) AS a2, avg(DISTINCT d) AS a3,
               min(x) AS n1, min(k) AS n2, max(d) AS m1, max(ts) AS m2,
               stddev_samp(v) AS d1, stddev_pop(x) AS d2, var_samp(v) AS v1, var_pop(x) AS v2,
               first(v) AS f1, first(x) IGNORE NULLS AS f2, last(d) AS l1, last_row(v) AS l2, any_value(v) AS l3,
               min_by(id, x) AS b1, max_by(id, v) AS b2, bool_and(f) AS b3, bool_or(f) AS b4,
               collect_list(v) AS r1, sort_array(collect_set(v)) AS r2, approx_count_distinct(v) AS r3,
               median(v) AS p1, percentile(x, array(0.25, 0.9)) AS p2
        FROM t GROUP BY tumblingwindow('ss', 10), k
        """,
    ),
    Scenario(  # with fewer registers and buckets than values
        "sketches",
        """
        SELECT k, window_start() AS since, approx_count_distinct(id, 0.39) AS c1, approx_count_distinct(v, 0.1) AS c2,
               percentile_approx(x, array(0.25, 0.9), 1) AS p1, percentile_approx(d, 0.5) AS p2
        FROM t GROUP BY tumblingwindow('ss', 10), k
        """,
    ),
    Scenario(
        "moments",
        """
        SELECT k, window_start() AS since, corr(v, x) AS c1, covar_pop(v, x) AS c2, covar_samp(v, x) AS c3,
               regr_avgx(v, x) AS r1, regr_avgy(v, x) AS r2, regr_count(v, x) AS r3, regr_intercept(v, x) AS r4,
               regr_r2(v, x) AS r5, regr_slope(v, x) AS r6, regr_sxx(v, x) AS r7, regr_sxy(v, x) AS r8,
               regr_syy(v, x) AS r9, skewness(v) AS s1, kurtosis(x) AS s2
        FROM t GROUP BY tumblingwindow('ss', 10), k
        """,
    ),
    Scenario(
        "within_group",
        """
        SELECT k, window_start() AS since, bit_and(v) AS b1, bit_or(v) AS b2, bit_xor(id) AS b3, count_if(f) AS c1,
               try_sum(v) AS t1, try_avg(d) AS t2, mode() WITHIN GROUP (ORDER BY v DESC) AS m1,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY v) AS p1,
               percentile_disc(0.5) WITHIN GROUP (ORDER BY x DESC) AS p2,
               listagg(CAST(v AS STRING), '/') WITHIN GROUP (ORDER BY id DESC) AS l1
        FROM t GROUP BY tumblingwindow('ss', 10), k
        """,
    ),
    Scenario("hopping", f"SELECT k, window_start() AS since, {FEW} FROM t GROUP BY hoppingwindow('ss', 12, 4), k"),
    Scenario(
        "session",
        f"SELECT k, window_start() AS since, window_end() AS until, {FEW} FROM t GROUP BY sessionwindow('ss', 4), k",
    ),
    Scenario(
        "window_changes",
        f"SELECT k, window_start() AS since, {FEW} FROM t GROUP BY tumblingwindow('ss', 10), k EMIT CHANGES",
    ),
    Scenario(
        "session_changes",
        f"SELECT k, window_start() AS since, {FEW} FROM t GROUP BY sessionwindow('ss', 4), k EMIT CHANGES",
    ),
    Scenario(
        "count",
        f"SELECT k, window_start() AS since, {FEW} FROM t GROUP BY countwindow(5) OVER (PARTITION BY k), k",
    ),
    Scenario(
        "count_every",
        f"SELECT f, window_end() AS until, {FEW} FROM t GROUP BY countwindow(4, 2) OVER (PARTITION BY k), f",
        options=TTL,
    ),
    Scenario(
        "sliding",
        f"""
        SELECT k, window_trigger() AS at, {FEW}
        FROM t GROUP BY slidingwindow('ss', 6, 3) OVER (PARTITION BY k WHEN v > 2), k
        """,
    ),
    Scenario(
        "state",
        f"SELECT k, window_start() AS since, {FEW} FROM t GROUP BY statewindow(f, v > 10) OVER (PARTITION BY k), k",
        options=TTL,
    ),
    Scenario("state_rows", "SELECT * FROM t GROUP BY statewindow(f, v > 10) OVER (PARTITION BY k)"),
    # Stateful functions
    Scenario(
        "stateful",
        """
        SELECT id, lag(v) OVER w AS l1, lag(x, 2, 0.5) OVER w AS l2, lag(d IGNORE NULLS) OVER w AS l3,
               latest(v) OVER w AS l4, changed_col(true, f) OVER w AS c1, had_changed(false, v, f) OVER w AS c2,
               acc_sum(d) OVER w AS a1, acc_avg(v, f, v > 10) OVER w AS a2, acc_min(x) OVER w AS a3,
               acc_max(v) OVER w AS a4, acc_count(v) OVER w AS a5, row_number() OVER w AS n
        FROM t
        """.replace("OVER w", "OVER (PARTITION BY k)"),
    ),
    Scenario(
        "users_own",
        "SELECT id, streak(f) OVER (PARTITION BY k) AS n, acc_sum(v) OVER (PARTITION BY k WHEN f) AS s FROM t",
        options=TTL,
        functions=(Streak(),),
    ),
    # OVER on window close
    Scenario(
        "over",
        f"""
        SELECT id, row_number() OVER w AS r1, rank() OVER w AS r2, dense_rank() OVER w AS r3, sum(v) OVER w AS s1,
               avg(d) OVER w AS s2, max(x) OVER w AS s3, first_value(v) OVER w AS s4, stddev_samp(v) OVER w AS s5,
               approx_count_distinct(v) OVER w AS s6,
               sum(v) OVER ({BY} RANGE BETWEEN INTERVAL 6 SECONDS PRECEDING AND CURRENT ROW) AS t1,
               median(x) OVER ({BY} RANGE BETWEEN INTERVAL 2 SECONDS PRECEDING AND INTERVAL 3 SECONDS FOLLOWING) AS t2,
               lag(v, 2) OVER w AS n1, lead(x) OVER w AS n2,
               nth_value(v, 2) OVER ({BY} ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING) AS n3
        FROM t WINDOW w AS ({BY})
        """,
    ),
    Scenario(
        "over_sketches",
        f"""
        SELECT id, approx_count_distinct(id, 0.39) OVER w AS c, percentile_approx(x, array(0.25, 0.9), 1) OVER w AS p
        FROM t WINDOW w AS ({BY})
        """,
    ),
    Scenario(
        "over_ttl",
        f"""
        SELECT id, sum(v) OVER w AS s, lead(v) OVER w AS n,
               max(v) OVER ({BY} RANGE BETWEEN INTERVAL 4 SECONDS PRECEDING AND CURRENT ROW) AS t
        FROM t WINDOW w AS ({BY})
        """,
        options=TTL,
    ),
    Scenario(  # OVER itself keeps nothing between micro-batches: its partitions come in when they are complete
        "over_windows",
        """
        SELECT k, sum(v) AS s, window_end() AS until, rank() OVER w AS r, cume_dist() OVER w AS c
        FROM t GROUP BY tumblingwindow('ss', 10), k
        WINDOW w AS (PARTITION BY window_end() ORDER BY sum(v) DESC)
        """,
    ),
    # OVER with changes
    Scenario(
        "over_changes",
        """
        SELECT id, k, rank() OVER w AS r1, row_number() OVER w AS r2, dense_rank() OVER w AS r3,
               percent_rank() OVER w AS e1, cume_dist() OVER w AS e2, ntile(3) OVER w AS e3,
               sum(v) OVER w AS s, lag(x) OVER w AS n1, lead(x, 2) OVER w AS n2,
               avg(d) OVER (PARTITION BY k ORDER BY v DESC ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS a,
               count(*) OVER (PARTITION BY k ORDER BY v DESC RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) AS c
        FROM t WINDOW w AS (PARTITION BY k ORDER BY v DESC) EMIT CHANGES
        """,
    ),
    Scenario(
        "over_changes_ttl",
        "SELECT id, count(*) OVER (PARTITION BY k ORDER BY v) AS c FROM t EMIT CHANGES",
        options=TTL,
    ),
    Scenario(
        "top_n_changes",
        """
        SELECT id, k, v, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM t QUALIFY n <= 3 EMIT CHANGES
        """,
    ),
    # Changelogs. The clock of their state_ttl is that of the machine.
    _changelog(
        "changelog", "SELECT id, upper(k) AS k, v FROM t WHERE v > 0", sequence="version", state_ttl="36500 days"
    ),
    _changelog(
        "changelog_over",
        """
        SELECT id, k, rank() OVER w AS r, sum(v) OVER w AS s, lead(v) OVER w AS n
        FROM t WINDOW w AS (PARTITION BY k ORDER BY v, id)
        """,
    ),
    _changelog(
        "changelog_over_key",
        "SELECT id, v, sum(v) OVER (PARTITION BY id ORDER BY v) AS s FROM t",
        sequence="version",
    ),
)

SCENARIOS = {one.name: one for one in _ALL}
