"""Everything that compilation refuses: the code, the place that is underlined, and the way out."""

import pytest
from present import present

from panes.catalog import Catalog, Column, Sink, View
from panes.compile import compile_query
from panes.declare import declare
from panes.errors import CODES, PanesError
from panes.functions import Functions
from panes.options import StreamOptions

TYPES = {
    "a": "int",
    "b": "int",
    "k": "string",
    "flag": "boolean",
    "ts": "timestamp",
    "s": "struct<x:int>",
    "arr": "array<int>",
}
COLUMNS = [Column(name, type_) for name, type_ in TYPES.items()]


def catalog() -> Catalog:
    """t is in event time, arrivals has no time, changes is a changelog, batch and untimed are batch DataFrames.

    clocked has a column as late rows have it; local has times without a zone.
    """
    known = Catalog()
    known.streams.put(
        declare("t", COLUMNS, StreamOptions(time="ts", watermark="10 seconds", key=["k"]), streaming=True)
    )
    known.streams.put(declare("arrivals", COLUMNS, streaming=True))
    known.streams.put(declare("changes", COLUMNS, StreamOptions(key=["k"], changelog=True), streaming=True))
    known.streams.put(declare("batch", COLUMNS, StreamOptions(time="ts"), streaming=False))
    known.streams.put(declare("untimed", COLUMNS, streaming=False))
    watermark = [Column("_watermark", "int"), *COLUMNS]
    known.streams.put(declare("clocked", watermark, StreamOptions(time="ts", watermark="10 seconds"), streaming=True))
    local = [Column("k", "string"), Column("ts", "timestamp_ntz")]
    known.streams.put(declare("local", local, StreamOptions(time="ts", watermark="10 seconds"), streaming=True))
    for sink in ("out", "more"):
        known.sinks.put(Sink(sink, {"connector": "console"}))
    known.views.put(View("loop", "SELECT a FROM loop"))
    return known


def grouped(window: str, items: str = "count(*)", rest: str = "") -> str:
    return f"SELECT {items} FROM t GROUP BY {window} {rest}"


def late(query: str, sink: str) -> str:
    return f"INSERT INTO out {query} LATE ROWS INTO {sink}"


TUMBLING = "tumblingwindow('ss', 10)"
ZONED = "tumblingwindow('dd', 1, zone => 'UTC')"
STATE = "statewindow(a > 0, b = 1)"

WINDOWS = [
    (grouped(f"{STATE}, {TUMBLING}"), "multiple-windows", TUMBLING),
    (grouped(f"{TUMBLING}, k, countwindow(2)"), "multiple-windows", "countwindow(2)"),
    (f"SELECT {TUMBLING} FROM t", "window-not-in-group-by", TUMBLING),
    (f"SELECT a FROM t WHERE {STATE}", "window-not-in-group-by", STATE),
    (grouped(TUMBLING, TUMBLING), "window-not-in-group-by", TUMBLING),
    (grouped("k", rest="HAVING countwindow(2)"), "window-not-in-group-by", "countwindow(2)"),
    (grouped(f"upper({TUMBLING})"), "window-not-in-group-by", TUMBLING),
    (grouped(f"({TUMBLING})"), "window-not-in-group-by", TUMBLING),
    ("SELECT window_start() FROM t", "window-not-in-group-by", "window_start()"),
    (grouped(TUMBLING, "window_trigger()"), "window-not-in-group-by", "window_trigger()"),
    (f"SELECT a FROM t WHERE window_end() > ts GROUP BY {TUMBLING}", "window-not-in-group-by", "window_end()"),
    (grouped(f"{TUMBLING}, window_end()"), "window-not-in-group-by", "window_end()"),
    (grouped(TUMBLING, "max(window_end())"), "window-not-in-group-by", "window_end()"),
    (grouped("tumblingwindow('ss')"), "window-arguments", "tumblingwindow('ss')"),
    (grouped("tumblingwindow('ss', 1, 2)"), "window-arguments", "tumblingwindow('ss', 1, 2)"),
    (grouped("hoppingwindow('ss', 10)"), "window-arguments", "hoppingwindow('ss', 10)"),
    (grouped("sessionwindow('ss')"), "window-arguments", "sessionwindow('ss')"),
    (grouped("countwindow()"), "window-arguments", "countwindow()"),
    (grouped("slidingwindow('ss', 1, 2, 3)"), "window-arguments", "slidingwindow('ss', 1, 2, 3)"),
    (grouped("statewindow(a > 0)"), "window-arguments", "statewindow(a > 0)"),
    (grouped("tumblingwindow('ss', -10)"), "window-arguments", "-10"),
    (grouped("tumblingwindow('ss', 1.5)"), "window-arguments", "1.5"),
    (grouped("tumblingwindow('ss', 0)"), "window-arguments", "0"),
    (grouped("tumblingwindow('ss', a)"), "window-arguments", "a"),
    (grouped("tumblingwindow('ss', '10')"), "window-arguments", "'10'"),
    (grouped("tumblingwindow(k, 10)"), "window-arguments", "k"),
    (grouped("hoppingwindow('ss', 10, 0)"), "window-arguments", "0"),
    (grouped("countwindow(2, -1)"), "window-arguments", "-1"),
    (grouped("slidingwindow('ss', 10, -1)"), "window-arguments", "-1"),
    (grouped("statewindow(a, b = 1)"), "window-arguments", "a"),
    (grouped("statewindow(a > 0, b + 1)"), "window-arguments", "b + 1"),
    (grouped("tumblingwindow('dd', 1, offset => 8)"), "window-arguments", "8"),
    (grouped("tumblingwindow('ss', 9, offset => INTERVAL 9 SECONDS)"), "window-arguments", "INTERVAL 9 SECONDS"),
    (grouped("tumblingwindow('dd', 1, zone => 'Mars')"), "window-arguments", "'Mars'"),
    (grouped("hoppingwindow('hh', 24, 12, zone => 'UTC')"), "window-arguments", "'UTC'"),
    (grouped("hoppingwindow('dd', 2, 1, size => 3)"), "window-arguments", "size => 3"),
    (grouped("tumblingwindow('dd', zone => 'UTC', 1)"), "window-arguments", "1"),
    (grouped("tumblingwindow('dd', 1, zone => 'UTC', zone => 'UTC')"), "window-arguments", "zone => 'UTC'"),
    (grouped("sessionwindow('ss', 1, zone => 'UTC')"), "window-arguments", "zone => 'UTC'"),
    (
        f"SELECT count(*) FROM local GROUP BY {ZONED}, k",
        "window-arguments",
        ZONED,
    ),
    (
        f"SELECT count(*) FROM (SELECT window_end() AS e FROM local GROUP BY {TUMBLING}) GROUP BY {ZONED}",
        "window-arguments",
        ZONED,
    ),
    (grouped("tumblingwindow('sec', 10)"), "unknown-time-unit", "'sec'"),
    (grouped("slidingwindow('SS', 10)"), "unknown-time-unit", "'SS'"),
    (grouped("tumblingwindw('ss', 10)"), "unknown-function", "tumblingwindw('ss', 10)"),
    (grouped("sliding_window('ss', 10), k"), "unknown-function", "sliding_window('ss', 10)"),
    (grouped(f"{STATE} OVER ()"), "over-needs-partition-by", "OVER ()"),
    (grouped("countwindow(2) OVER ()"), "over-needs-partition-by", "OVER ()"),
    (grouped(f"{STATE} OVER (ORDER BY ts)"), "over-order-by-not-allowed", "ORDER BY ts"),
    (grouped(f"{STATE} OVER (PARTITION BY k ORDER BY ts)"), "over-order-by-not-allowed", "ORDER BY ts"),
    (grouped(f"{STATE} OVER (PARTITION BY k ROWS 1 PRECEDING)"), "over-not-allowed", "ROWS 1 PRECEDING"),
    (grouped(f"{STATE} OVER w", rest="WINDOW w AS (PARTITION BY k)"), "over-not-allowed", "OVER w"),
    (grouped(f"{STATE} OVER (PARTITION BY k WHEN flag)"), "over-not-allowed", "flag"),
    (grouped(f"{TUMBLING} OVER (PARTITION BY k)"), "over-not-allowed", "OVER (PARTITION BY k)"),
    (grouped("hoppingwindow('ss', 2, 1) OVER (PARTITION BY k)"), "over-not-allowed", "OVER (PARTITION BY k)"),
    (grouped("sessionwindow('ss', 2) OVER (PARTITION BY k)"), "over-not-allowed", "OVER (PARTITION BY k)"),
    (grouped("slidingwindow('ss', 2) OVER (WHEN a)"), "not-boolean", "a"),
    ("SELECT count(*) FROM untimed GROUP BY " + TUMBLING, "watermark-required", TUMBLING),
    (f"SELECT count(*) FROM (SELECT a FROM t) GROUP BY {TUMBLING}", "watermark-required", TUMBLING),
    (
        f"SELECT count(*) FROM (SELECT last(ts) AS ts FROM t GROUP BY countwindow(3)) GROUP BY {TUMBLING}",
        "watermark-required",
        TUMBLING,
    ),
    (
        f"SELECT count(*) FROM (SELECT ts, lead(a) OVER (ORDER BY ts) AS n FROM t) GROUP BY {TUMBLING}",
        "watermark-required",
        TUMBLING,
    ),
]

GROUPS = [
    (grouped(f"{TUMBLING}, k", "a, count(*)"), "column-not-grouped", "a"),
    (grouped(f"{TUMBLING}, k", "a"), "column-not-grouped", "a"),
    (grouped(f"{TUMBLING}, k", "s.x, count(*)"), "column-not-grouped", "s.x"),
    (grouped(f"{TUMBLING}, k", "*, count(*)"), "column-not-grouped", "*"),
    (grouped(TUMBLING, rest="HAVING a > 1"), "column-not-grouped", "a"),
    (grouped(TUMBLING, "sum(a), rank() OVER (ORDER BY ts)"), "column-not-grouped", "ts"),
    (grouped(TUMBLING, "a", "HAVING a > 1"), "unsupported-clause", "a > 1"),
    (grouped(f"{TUMBLING}, ROLLUP(k)"), "unsupported-clause", "ROLLUP"),
    (f"SELECT a FROM t WHERE sum(a) > 1 GROUP BY {TUMBLING}", "aggregate-in-where", "sum(a)"),
    ("SELECT a FROM t WHERE a > max(b)", "aggregate-in-where", "max(b)"),
    (f"SELECT a FROM t WHERE lag(sum(a)) > 1 GROUP BY {TUMBLING}", "aggregate-in-where", "sum(a)"),
    (grouped(TUMBLING, "sum(count(*))"), "aggregate-in-aggregate", "count(*)"),
    (grouped(TUMBLING, "lag(sum(a))"), "aggregate-in-stateful", "sum(a)"),
    ("SELECT lag(sum(a)) FROM t", "aggregate-in-stateful", "sum(a)"),
    (grouped(TUMBLING, rest="HAVING lag(a) > 1"), "stateful-in-having", "lag(a)"),
    (grouped(TUMBLING, rest="HAVING count(*) > latest(a)"), "stateful-in-having", "latest(a)"),
    (grouped(TUMBLING, "approx_top_k(a)"), "unknown-function", "approx_top_k(a)"),
    (grouped(TUMBLING, "bool_and(a)"), "function-arguments", "a"),
    (grouped(TUMBLING, "sum(a) FILTER (WHERE b)"), "not-boolean", "b"),
    (grouped(TUMBLING, "min(DISTINCT a)"), "function-arguments", "min(DISTINCT a)"),
]

STATEFUL = [
    ("SELECT lag() FROM t", "function-arguments", "lag()"),
    ("SELECT lag(a, -1) FROM t", "function-arguments", "-1"),
    ("SELECT lag(a, 1.5) FROM t", "function-arguments", "1.5"),
    ("SELECT lag(a, 99999999999999999999) FROM t", "function-arguments", "99999999999999999999"),
    ("SELECT changed_col(flag, a) FROM t", "function-arguments", "flag"),
    ("SELECT acc_sum(a, b) FROM t", "function-arguments", "b"),
    ("SELECT lag(a) FILTER (WHERE a) FROM t", "not-boolean", "a"),
    ("SELECT lag(a) OVER () FROM t", "over-needs-partition-by", "OVER ()"),
    ("SELECT lag(a) OVER (PARTITION BY k ROWS 1 PRECEDING) FROM t", "over-not-allowed", "ROWS 1 PRECEDING"),
]

OVER = [
    ("SELECT a FROM t WHERE rank() OVER (ORDER BY ts) = 1", "over-not-allowed", "rank() OVER (ORDER BY ts)"),
    (grouped(TUMBLING, rest="HAVING rank() OVER (ORDER BY k) = 1"), "over-not-allowed", "rank() OVER (ORDER BY k)"),
    (grouped(f"{TUMBLING}, rank() OVER (ORDER BY k)"), "over-not-allowed", "rank() OVER (ORDER BY k)"),
    (grouped("statewindow(rank() OVER (ORDER BY ts) > 1, flag)"), "over-not-allowed", "rank() OVER (ORDER BY ts)"),
    (
        "SELECT sum(a) OVER (PARTITION BY k ORDER BY ts) FROM arrivals",
        "watermark-required",
        "sum(a) OVER (PARTITION BY k ORDER BY ts)",
    ),
    (
        "SELECT sum(a) OVER (ORDER BY ts) FROM (SELECT a, ts + INTERVAL 1 DAY AS ts FROM t)",
        "watermark-required",
        "sum(a) OVER (ORDER BY ts)",
    ),
    ("SELECT sum(a) OVER () FROM t", "unbounded-state", "sum(a) OVER ()"),
    ("SELECT sum(a) OVER (PARTITION BY k) FROM t", "unbounded-state", "sum(a) OVER (PARTITION BY k)"),
    ("SELECT sum(a) OVER (PARTITION BY k ORDER BY a) FROM t", "unbounded-state", "ORDER BY a"),
    ("SELECT sum(a) OVER (PARTITION BY k ORDER BY a, ts) FROM t", "unbounded-state", "ORDER BY a, ts"),
    ("SELECT sum(a) OVER (PARTITION BY k ORDER BY ts DESC) FROM t", "unbounded-state", "ORDER BY ts DESC"),
    (
        "SELECT sum(a) OVER (ORDER BY ts ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM t",
        "unbounded-state",
        "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    ),
    (
        "SELECT sum(a) OVER (ORDER BY ts RANGE BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING) FROM t",
        "unbounded-state",
        "RANGE BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING",
    ),
    ("SELECT percent_rank() OVER (ORDER BY ts) FROM t", "unbounded-state", "percent_rank() OVER (ORDER BY ts)"),
    ("SELECT cume_dist() OVER (ORDER BY ts) FROM t", "unbounded-state", "cume_dist() OVER (ORDER BY ts)"),
    ("SELECT ntile(4) OVER (ORDER BY ts) FROM t", "unbounded-state", "ntile(4) OVER (ORDER BY ts)"),
    ("SELECT count(DISTINCT a) OVER (ORDER BY ts) FROM t", "unbounded-state", "count(DISTINCT a) OVER (ORDER BY ts)"),
    ("SELECT collect_list(a) OVER (ORDER BY ts) FROM t", "unbounded-state", "collect_list(a) OVER (ORDER BY ts)"),
    ("SELECT collect_set(a) OVER (ORDER BY ts) FROM t", "unbounded-state", "collect_set(a) OVER (ORDER BY ts)"),
    ("SELECT percentile(a, 0.5) OVER (ORDER BY ts) FROM t", "unbounded-state", "percentile(a, 0.5) OVER (ORDER BY ts)"),
    (
        "SELECT median(a) OVER (ORDER BY ts ROWS UNBOUNDED PRECEDING) FROM t",
        "unbounded-state",
        "median(a) OVER (ORDER BY ts ROWS UNBOUNDED PRECEDING)",
    ),
]

LAMBDAS = [
    ("SELECT transform(arr, a -> a + lag(a)) FROM t", "function-arguments", "a"),
    ("SELECT transform(arr, A -> a + lag(abs(a))) FROM t", "function-arguments", "a"),
    ("SELECT transform(arr, x -> lag(b + abs(lag(x)))) FROM t", "function-arguments", "x"),
    ("SELECT transform(arr, s -> lag(s.x)) FROM t", "function-arguments", "s.x"),
    ("SELECT transform(arr, x -> lag(b) FILTER (WHERE x > 1)) FROM t", "function-arguments", "x"),
    ("SELECT transform(arr, x -> lag(b) OVER (PARTITION BY x)) FROM t", "function-arguments", "x"),
    ("SELECT transform(arr, x -> lag(b) OVER (PARTITION BY k WHEN x > 1)) FROM t", "function-arguments", "x"),
    ("SELECT transform(arr, x -> rank() OVER (PARTITION BY x ORDER BY ts)) FROM t", "function-arguments", "x"),
    ("SELECT transform(arr, x -> rank() OVER (ORDER BY ts, x)) FROM t", "function-arguments", "x"),
    ("SELECT aggregate(arr, 0, (n, x) -> n + x + lag(n)) FROM t", "function-arguments", "n"),
    ("SELECT transform(arr, x -> transform(arr, y -> y + lag(x))) FROM t", "function-arguments", "x"),
    (grouped(TUMBLING, "transform(collect_list(a), x -> sum(x))"), "function-arguments", "x"),
    (grouped("statewindow(exists(arr, a -> lag(a) > 1), flag)"), "function-arguments", "a"),
    ("SELECT transform(arr, a -> t.a) FROM t", "ambiguous-column", "t.a"),
    ("SELECT a + 1 AS n, transform(arr, a -> a + n), lag(b) FROM t", "ambiguous-column", "n"),
    (
        grouped(f"{TUMBLING}, k", "upper(k) AS n, count(*)", "HAVING exists(collect_list(a), k -> n = 'X')"),
        "ambiguous-column",
        "n",
    ),
    (grouped(f"{TUMBLING}, a + 1", "transform(array(1), x -> a), count(*)"), "column-not-grouped", "a"),
]

CLAUSES = [
    ("SELECT a FROM t ORDER BY a", "unsupported-clause", "ORDER BY"),
    ("SELECT a FROM t LIMIT 5", "unsupported-clause", "LIMIT"),
    ("SELECT DISTINCT a FROM t", "unsupported-clause", "DISTINCT"),
    ("SELECT lag(a) FROM t ORDER BY a", "unsupported-clause", "ORDER BY"),
    ("SELECT lag(a) FROM t LIMIT 5", "unsupported-clause", "LIMIT"),
    ("SELECT DISTINCT lag(a) FROM t", "unsupported-clause", "DISTINCT"),
    (grouped(TUMBLING, rest="ORDER BY 1"), "unsupported-clause", "ORDER BY"),
    ("SELECT lag(a) FROM t JOIN batch USING (k)", "unsupported-clause", "JOIN"),
    ("SELECT sum(a), lag(a) FROM t", "unsupported-clause", "sum(a)"),
    (f"SELECT * FROM ({grouped(TUMBLING, rest='EMIT CHANGES')})", "unsupported-clause", "EMIT CHANGES"),
    (f"WITH x AS ({grouped(TUMBLING, rest='EMIT CHANGES')}) SELECT * FROM x", "unsupported-clause", "EMIT CHANGES"),
    (grouped(TUMBLING, rest="LATE ROWS INTO out"), "unsupported-clause", "LATE ROWS INTO"),
    (late(grouped(TUMBLING), "more EMIT CHANGES"), "unsupported-clause", "LATE ROWS INTO"),
    (late(grouped(TUMBLING), "more LATE ROWS INTO more"), "unsupported-clause", "LATE ROWS INTO"),
    (late(grouped(TUMBLING), ""), "unsupported-clause", "LATE ROWS INTO"),
    (late(grouped(TUMBLING), "out"), "unsupported-clause", "LATE ROWS INTO out"),
    (late("SELECT a FROM t", "more"), "unsupported-clause", "LATE ROWS INTO more"),
    (late("SELECT lag(a) FROM t EMIT IMMEDIATELY", "more"), "unsupported-clause", "LATE ROWS INTO more"),
    (late("SELECT lag(a) FROM arrivals", "more"), "unsupported-clause", "LATE ROWS INTO more"),
    (late("SELECT lag(a) FROM batch", "more"), "unsupported-clause", "LATE ROWS INTO more"),
    (late("SELECT rank() OVER (ORDER BY a) FROM changes", "more"), "unsupported-clause", "LATE ROWS INTO more"),
    (late("SELECT rank() OVER (ORDER BY a) FROM t EMIT CHANGES", "more"), "unsupported-clause", "LATE ROWS INTO more"),
    (
        late(
            f"WITH w AS ({grouped(TUMBLING + ', k', 'k, window_end() AS e')}), "
            "j AS (SELECT e FROM w JOIN untimed USING (k)) SELECT lag(e) FROM j",
            "more",
        ),
        "unsupported-clause",
        "LATE ROWS INTO more",
    ),
    (
        late(f"SELECT count(*) FROM (SELECT ts, hash(t.*) FROM t JOIN untimed USING (k)) GROUP BY {TUMBLING}", "more"),
        "unsupported-clause",
        "t",
    ),
    (late(f"SELECT count(*) FROM clocked GROUP BY {TUMBLING}", "more"), "unsupported-clause", "LATE ROWS INTO more"),
    (late(grouped(TUMBLING), "nowhere"), "unknown-sink", "LATE ROWS INTO nowhere"),
    (grouped(TUMBLING, rest="EMIT NONSENSE"), "unsupported-clause", "EMIT NONSENSE"),
    (grouped(TUMBLING, rest="EMIT"), "unsupported-clause", "EMIT"),
    (grouped(TUMBLING, rest="EMIT CHANGES EMIT CHANGES"), "unsupported-clause", "EMIT"),
    (grouped(TUMBLING, rest="EMIT ON WINDOW CLOSE CHANGES"), "unsupported-clause", "EMIT ON WINDOW CLOSE CHANGES"),
    (grouped(TUMBLING, rest="EMIT IMMEDIATELY"), "unsupported-clause", "EMIT IMMEDIATELY"),
    (grouped("countwindow(2)", rest="EMIT CHANGES"), "unsupported-clause", "EMIT CHANGES"),
    (grouped(STATE, rest="EMIT ON WINDOW CLOSE"), "unsupported-clause", "EMIT ON WINDOW CLOSE"),
    ("SELECT a FROM t EMIT ON WINDOW CLOSE", "unsupported-clause", "EMIT ON WINDOW CLOSE"),
    ("SELECT lag(a) FROM t EMIT ON WINDOW CLOSE", "unsupported-clause", "EMIT ON WINDOW CLOSE"),
    ("SELECT lag(a) FROM t EMIT CHANGES", "unsupported-clause", "EMIT CHANGES"),
    ("SELECT lag(a) FROM arrivals EMIT IMMEDIATELY", "unsupported-clause", "EMIT IMMEDIATELY"),
    ("SELECT sum(a) OVER (ORDER BY ts) FROM t EMIT IMMEDIATELY", "unsupported-clause", "EMIT IMMEDIATELY"),
    (
        "SELECT sum(a) OVER (ORDER BY ts) FROM changes EMIT ON WINDOW CLOSE",
        "unsupported-clause",
        "EMIT ON WINDOW CLOSE",
    ),
    ("SELECT a FROM t QUALIFY a > 1", "unsupported-clause", "QUALIFY"),
    ("SELECT a FROM t WHERE a + 1", "not-boolean", "a + 1"),
    (f"SELECT count(*) FROM changes GROUP BY {TUMBLING}", "changelog-not-supported", TUMBLING),
    ("SELECT count(*) FROM changes GROUP BY countwindow(2)", "changelog-not-supported", "countwindow(2)"),
    ("SELECT lag(a) FROM changes", "changelog-not-supported", "lag(a)"),
    ("SELECT lag(r) FROM (SELECT rank() OVER (ORDER BY a) AS r FROM changes)", "changelog-not-supported", "lag(r)"),
    ("SELECT k, sum(a) FROM changes GROUP BY k", "changelog-not-supported", "SELECT k, sum(a) FROM changes GROUP BY k"),
]

NAMES = [
    ("SELECT a FROM tt", "unknown-stream", "tt"),
    ("SELECT lag(a) FROM arival", "unknown-stream", "arival"),
    ("SELECT tt.*, lag(a) FROM t", "unknown-stream", "tt.*"),
    ("SELECT flags FROM t", "unknown-column", "flags"),
    ("SELECT lag(flags) FROM t", "unknown-column", "flags"),
    ("SELECT x.a, lag(x.flags) FROM t AS x", "unknown-column", "x.flags"),
    ("SELECT * EXCEPT (flags), lag(a) FROM t", "unknown-column", "flags"),
    (grouped(TUMBLING, "sum(flags)"), "unknown-column", "flags"),
    (grouped(f"{TUMBLING}, flags"), "unknown-column", "flags"),
    ("SELECT sum(a) OVER (PARTITION BY flags ORDER BY ts) FROM t", "unknown-column", "flags"),
    ("SELECT latst(a) OVER (PARTITION BY k) FROM t", "unknown-function", "latst(a) OVER (PARTITION BY k)"),
    ("SELECT summ(a) OVER (ORDER BY ts) FROM t", "unknown-function", "summ(a) OVER (ORDER BY ts)"),
    ("INSERT INTO outt SELECT a FROM t", "unknown-sink", "INSERT INTO outt SELECT a FROM t"),
    ("SELECT a FROM (SELECT a, b AS a FROM t)", "ambiguous-column", "a"),
]

# What the user can only rewrite: the message says it all.
WITHOUT_HINT = [
    ("SELECT", "parse-error", "SELECT"),
    ("SELECT lag(a +) FROM t", "parse-error", "+"),
    ("SELECT lag(a b) FROM t", "parse-error", "a b"),
    ("SELECT a FROM t WHERE a > 1 AS b", "parse-error", "a > 1 AS b"),
    (grouped(f"{TUMBLING}, 9"), "parse-error", "9"),
    (grouped(f"{TUMBLING}, sum(a)"), "aggregate-in-group-by", "sum(a)"),
    (grouped("statewindow(sum(a) > 1, flag)"), "aggregate-in-group-by", "sum(a)"),
    (grouped(f"{TUMBLING}, n", "count(*) AS n"), "aggregate-in-group-by", "n"),
    ("SELECT lag(DISTINCT a) FROM t", "unsupported-clause", "lag(DISTINCT a)"),
    ("SELECT lag(a) FILTER (WHERE flag) OVER (WHEN flag) FROM t", "unsupported-clause", "flag"),
    ("SELECT rank() OVER (PARTITION BY k) FROM t", "over-arguments", "OVER (PARTITION BY k)"),
    ("SELECT rank() OVER (ORDER BY ts ROWS 1 PRECEDING) FROM t", "over-arguments", "ROWS 1 PRECEDING"),
    ("SELECT sum(a) OVER (ORDER BY ts ROWS 1 FOLLOWING) FROM t", "over-arguments", "ROWS 1 FOLLOWING"),
    ("SELECT sum(a) OVER (ORDER BY ts ROWS 2147483648 PRECEDING) FROM t", "over-arguments", "2147483648"),
    ("SELECT lag(a, 2147483648) OVER (ORDER BY ts) FROM t", "function-arguments", "2147483648"),
    ("WITH x AS (SELECT a FROM t), x AS (SELECT b FROM t) SELECT * FROM x", "duplicate-name", "x"),
    ("SELECT a FROM loop", "stream-options", "loop"),
]

WITH_HINT = [*WINDOWS, *GROUPS, *STATEFUL, *OVER, *LAMBDAS, *CLAUSES, *NAMES]

# Given where something is declared, dropped or run, not where a query is compiled.
NOT_OF_A_QUERY = {
    "unknown-variable",
    *("unknown-view", "watermark-already-set", "not-executable", "state-mismatch", "stream-ended", "type-mismatch"),
    *(
        "function-failed",
        "value-failed",
        "inconsistent-change",
        "malformed-record",
        "missing-package",
        "missing-secret",
        "missing-spark",
        "spark-settings",
        "unfit-workers",
        "broker-failed",
        "store-failed",
        "database-failed",
        "sink-mismatch",
        "delta-failed",
        "unsafe-checkpoint",
        "checkpoint-in-use",
        "cannot-rescale",
    ),
}


def refused(sql: str) -> PanesError:
    with pytest.raises(PanesError) as caught:
        compile_query(sql, catalog(), Functions())
    return caught.value


@pytest.mark.parametrize(("sql", "code", "place"), [*WITH_HINT, *WITHOUT_HINT])
def test_refused(sql: str, code: str, place: str) -> None:
    error = refused(sql)
    assert (error.code, present(error.span).text) == (code, place)


@pytest.mark.parametrize(("sql", "code", "place"), WITH_HINT)
def test_the_way_out(sql: str, code: str, place: str) -> None:
    assert refused(sql).hint


@pytest.mark.parametrize(
    ("sql", "meant"),
    [
        ("SELECT lag(a) FROM arival", "arrivals"),
        ("SELECT flags FROM t", "flag"),
        ("SELECT lag(t.flags) FROM t", "flag"),
        ("INSERT INTO outt SELECT a FROM t", "out"),
        (grouped("tumblingwindw('ss', 10)"), "tumblingwindow"),
        (grouped(TUMBLING, "percentile_cont(a)"), "percentile"),
        ("SELECT latst(a) OVER (PARTITION BY k) FROM t", "latest"),
        (grouped("tumblingwindow('s', 10)"), "ss"),
        (grouped("tumblingwindow('mins', 10)"), "mi"),
        (grouped("tumblingwindow('minuts', 10)"), "mi"),
        (grouped("tumblingwindow('m', 10)"), "mi"),
        (grouped("tumblingwindow('millis', 10)"), "ms"),
        (grouped("tumblingwindow('HRS', 10)"), "hh"),
        (grouped("tumblingwindow('xx', 10)"), "dd, hh, mi, ms, ss"),
    ],
)
def test_what_was_meant(sql: str, meant: str) -> None:
    assert meant in present(refused(sql).hint)


def test_every_code_has_a_case() -> None:
    covered = {code for _, code, _ in [*WITH_HINT, *WITHOUT_HINT]}
    assert covered | NOT_OF_A_QUERY == set(CODES)
    assert not covered & NOT_OF_A_QUERY


@pytest.mark.parametrize(
    "sql",
    [
        grouped(f"{TUMBLING}, k", "k, sum(a), window_start()", "HAVING count(*) > 1 EMIT CHANGES"),
        grouped(f"{TUMBLING}, k", "*"),
        grouped(f"{STATE} OVER (PARTITION BY k)", "k, last_row(lag(a))"),
        grouped("statewindow(lag(a) OVER (PARTITION BY k) > 1, flag) OVER (PARTITION BY latest(k))"),
        grouped("slidingwindow('ss', 10, 15) OVER (PARTITION BY k WHEN flag)", "window_trigger(), count(*)"),
        f"SELECT count(*) FROM arrivals GROUP BY {TUMBLING}",
        "SELECT lag(a) FROM t WHERE lag(a) > 1 EMIT IMMEDIATELY",
        "SELECT sum(a) FILTER (WHERE flag) OVER (PARTITION BY k ORDER BY ts) FROM t",
        "SELECT collect_list(a) OVER (ORDER BY ts ROWS 3 PRECEDING) FROM t",
        "SELECT ntile(4) OVER (ORDER BY a DESC) FROM arrivals EMIT CHANGES",
        "SELECT rank() OVER (ORDER BY a) FROM changes",
        "SELECT sum(a) OVER () FROM batch",
        "SELECT a FROM batch ORDER BY a LIMIT 5",
        "SELECT k, n FROM (SELECT k, count(*) AS n, window_end() AS e FROM t "
        f"GROUP BY {TUMBLING}, k) QUALIFY row_number() OVER (PARTITION BY e ORDER BY n DESC) <= 3",
        "SELECT window, count(*) FROM t GROUP BY window(ts, '10 seconds')",
        "INSERT INTO out SELECT a FROM t",
        "EXPLAIN SELECT lag(a) FROM t",
    ],
)
def test_near_misses_compile(sql: str) -> None:
    compile_query(sql, catalog(), Functions())
