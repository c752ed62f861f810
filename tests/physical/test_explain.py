"""The physical plan as rows for EXPLAIN: what was decided, in words."""

from __future__ import annotations

import pytest
from planning import catalog, compiled, physical_nodes

from panes.catalog import Catalog
from panes.explain import info_text
from panes.physical.explain import rows


def info(sql: str, node: str, known: Catalog | None = None) -> dict[str, str]:
    """What EXPLAIN says about the first node of that name, by word."""
    found = next(one for one in physical_nodes(compiled(sql, known).physical) if type(one).__name__ == node)
    return {name: info_text({name: value}).partition("=")[2] for name, value in rows(found).info.items()}


WORDS = [
    ("SELECT lag(a) FROM t", "Watermark", "mode=event_time time=ts delay=10 s"),
    ("SELECT lag(a) FROM t", "DataSource", "stream=t columns=[ts, k, a] input=append-only"),
    ("SELECT lag(a) FROM files", "DataSource", "input=batch append-only"),
    ("SELECT k FROM changes WHERE a > 0", "DataSource", "input=changelog"),
    ("SELECT k FROM changes WHERE a > 0", "Filter", "predicates=[a > 0] changes=both sides"),
    ("SELECT lag(a) FROM t WHERE a > 0", "Filter", "predicates=[a > 0]"),
    ("SELECT k FROM changes WHERE a > 0", "DataSink", "sink=result output=changelog key=[k]"),
    ("SELECT a FROM changes", "DataSink", "output=changelog key=none"),
    ("SELECT a FROM t", "DataSink", "sink=result output=append"),
    ("INSERT INTO out SELECT a FROM t", "DataSink", "sink=out"),
    ("SELECT a FROM t", "SparkQuery", "sql=SELECT a FROM `t` engine=spark"),
    # order
    (
        "SELECT lag(a) FROM t",
        "StatefulFunction",
        "mode=event_time order=[ts, k, arrival] emits=on-release late=dropped",
    ),
    ("SELECT lag(a) FROM arrivals", "StatefulFunction", "mode=arrival order=arrival"),
    ("SELECT lag(a) FROM (SELECT a FROM arrivals)", "StatefulFunction", "mode=arrival order=arrival"),
    ("SELECT lag(a) FROM files", "StatefulFunction", "mode=batch order=[ts, k, arrival]"),
    ("SELECT lag(a) FROM rows", "StatefulFunction", "mode=batch order=arrival"),
    ("SELECT lag(a) FROM t EMIT IMMEDIATELY", "StatefulFunction", "mode=event_time order=arrival emits=immediately"),
    (
        "SELECT rank() OVER (ORDER BY a) FROM changes",
        "OverWindow",
        "mode=arrival order=[a, k] sequence=b emits=changes",
    ),
    ("SELECT rank() OVER (ORDER BY ts) FROM t", "OverWindow", "order=[ts, k, arrival]"),
    ("SELECT rank() OVER (ORDER BY ts, a DESC) FROM t", "OverWindow", "order=[ts, a DESC, k, arrival]"),
    ("SELECT rank() OVER (ORDER BY a, K) FROM t EMIT CHANGES", "OverWindow", "order=[a, K, ts, arrival]"),
    ("SELECT rank() OVER (ORDER BY a) FROM arrivals EMIT CHANGES", "OverWindow", "order=[a, arrival]"),
    ("SELECT rank() OVER (ORDER BY v) FROM files", "OverWindow", "order=[v, k, ts, arrival]"),
    (
        "SELECT rank() OVER (PARTITION BY window_end() ORDER BY count(*)) FROM t GROUP BY tumblingwindow('ss', 1), k",
        "OverWindow",
        "order=[col_2, k, col_1 - 1 µs, arrival]",
    ),
    (
        "SELECT lag(c) FROM (SELECT k, window_end() AS e, count(*) AS c FROM t GROUP BY tumblingwindow('ss', 1), k)",
        "StatefulFunction",
        "order=[e - 1 µs, k, arrival]",
    ),
    # state and parallelism
    ("SELECT lag(a) FROM t", "StatefulFunction", "partition_by=[] state=per-key parallelism=1"),
    ("SELECT lag(a) OVER (PARTITION BY k) FROM t", "StatefulFunction", "partition_by=[k] parallelism=shards"),
    ("SELECT rank() OVER (ORDER BY a) FROM t EMIT CHANGES", "OverWindow", "state=all-rows parallelism=1"),
    ("SELECT count(*) FROM t GROUP BY tumblingwindow('ss', 1), k", "Window", "state=accumulators parallelism=shards"),
    ("SELECT * FROM t GROUP BY tumblingwindow('ss', 1)", "Window", "rows=as they are state=rows parallelism=1"),
    # waits
    ("SELECT rank() OVER (ORDER BY ts) FROM t", "OverWindow", "waits=watermark"),
    ("SELECT lead(a) OVER (ORDER BY ts) FROM t", "OverWindow", "waits=rows"),
    (
        "SELECT lead(k) OVER (PARTITION BY window_end() ORDER BY k) FROM t GROUP BY tumblingwindow('ss', 1), k",
        "OverWindow",
        "waits=window",
    ),
    ("SELECT count(*) FROM t GROUP BY slidingwindow('ss', 1, 2)", "Window", "lookback=1 lookahead=2 waits=watermark"),
    # what the node does
    (
        "SELECT sum(a), window_end() FROM t GROUP BY hoppingwindow('ss', 2, 1), k, upper(k)",
        "Window",
        "kind=hopping unit=ss size=2 hop=1 keys=[k, upper(k) -> col_3] aggregates=[sum(a) -> col_2] "
        "bounds=[window_end() -> col_1]",
    ),
    ("SELECT count(*) FROM t GROUP BY statewindow(a > 0, ok)", "Window", "kind=state open=a > 0 emit=ok"),
    ("SELECT count(*) FROM t GROUP BY countwindow(3, 2)", "Window", "kind=count count=3 every=2"),
    ("SELECT count(*) FROM t GROUP BY sessionwindow('mi', 3)", "Window", "kind=session unit=mi gap=3"),
    ("SELECT count(*) FROM t GROUP BY slidingwindow('ss', 1) OVER (WHEN ok)", "Window", "lookahead=none when=ok"),
    (
        "SELECT sum(a) OVER (ORDER BY ts, a DESC NULLS FIRST ROWS 2 PRECEDING) FROM t",
        "OverWindow",
        "order_by=[ts, a DESC NULLS FIRST] calls=[sum(a) ROWS BETWEEN 2 PRECEDING AND CURRENT ROW -> col_1]",
    ),
    ("SELECT rank() OVER (ORDER BY v) AS r FROM files QUALIFY r <= 2", "OverWindow", "top_n=col_1 <= 2"),
    ("SELECT lag(a), k AS x FROM t", "Project", "fields=[col_1 -> lag(a), k -> x]"),
]


@pytest.mark.parametrize(("sql", "node", "words"), WORDS)
def test_words(sql: str, node: str, words: str) -> None:
    text = " ".join(f"{name}={value}" for name, value in info(sql, node).items())
    for name, value in info(sql, node).items():
        if f"{name}=" in words:
            assert f"{name}={value}" in words, text
    for name in [part.partition("=")[0] for part in words.split() if "=" in part and part[0].isalpha()]:
        assert name in text


@pytest.mark.parametrize(
    ("sql", "node", "absent"),
    [
        ("SELECT rank() OVER (ORDER BY a) FROM t EMIT CHANGES", "OverWindow", "waits"),
        ("SELECT rank() OVER (ORDER BY a) FROM files", "OverWindow", "waits"),
        ("SELECT lag(a) FROM arrivals", "StatefulFunction", "late"),
        ("SELECT lag(a) FROM t", "StatefulFunction", "hint"),
        ("SELECT lag(a) OVER (PARTITION BY k) FROM files", "StatefulFunction", "hint"),
        ("SELECT a FROM t", "DataSink", "key"),
    ],
)
def test_what_does_not_apply_is_not_said(sql: str, node: str, absent: str) -> None:
    assert absent not in info(sql, node)


def test_state_per_key_hints_at_state_ttl_until_it_is_set() -> None:
    sql = "SELECT lag(a) OVER (PARTITION BY k) FROM t"
    assert "state_ttl" in info(sql, "StatefulFunction")["hint"]
    told = info(sql, "StatefulFunction", catalog(state_ttl="1 day"))
    assert "hint" not in told
    assert told["state_ttl"] == "1 d"
