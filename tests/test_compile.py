"""The whole compiler: both plans of every feature, and that their text depends on nothing but the query."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from planning import bound, catalog, compiled, logical_nodes, node_names, physical_nodes, refused

from panes.catalog import Catalog
from panes.logical.plan import Aggregation, Window
from panes.logical.rules import optimise

SOURCE, CLOCKED = ["DataSource"], ["Watermark", "DataSource"]
OUT = ["DataSink", "Project"]

SHAPES = [
    *(
        (
            f"SELECT k, count(*) FROM t WHERE a > 0 GROUP BY {window}, k HAVING count(*) > 1",
            [*OUT, "Filter", "Aggregation", "Window", "Filter", *SOURCE],
            [*OUT, "Filter", "Window", "Filter", *CLOCKED],
        )
        for window in (
            "tumblingwindow('ss', 10)",
            "hoppingwindow('ss', 10, 5)",
            "sessionwindow('ss', 10)",
            "countwindow(3)",
            "slidingwindow('ss', 10, 5)",
            "statewindow(a > 0, ok)",
        )
    ),
    *(
        (f"SELECT * FROM t GROUP BY {window}", [*OUT, "Window", *SOURCE], [*OUT, "Window", *CLOCKED])
        for window in ("tumblingwindow('ss', 10)", "countwindow(3)", "slidingwindow('ss', 10)", "statewindow(ok, ok)")
    ),
    (
        "SELECT lag(a) OVER (PARTITION BY k) FROM t WHERE lag(a) OVER (PARTITION BY k) > 0",
        [*OUT, "Filter", "StatefulFunction", *SOURCE],
        [*OUT, "Filter", "StatefulFunction", *CLOCKED],
    ),
    (
        "SELECT last_row(lag(a)) FROM t GROUP BY tumblingwindow('ss', 10)",
        [*OUT, "Aggregation", "Window", "StatefulFunction", *SOURCE],
        [*OUT, "Window", "StatefulFunction", *CLOCKED],
    ),
    (
        "SELECT sum(a) OVER (PARTITION BY k ORDER BY ts) AS c FROM t QUALIFY c > 1",
        [*OUT, "Filter", "OverWindow", *SOURCE],
        [*OUT, "Filter", "OverWindow", *CLOCKED],
    ),
    (
        "SELECT sum(a) OVER (PARTITION BY k ORDER BY v) FROM changes WHERE a > 0",
        [*OUT, "OverWindow", "Filter", *SOURCE],
        [*OUT, "OverWindow", "Normalize", "Filter", *SOURCE],
    ),
    (
        "SELECT k, rank() OVER (PARTITION BY window_end() ORDER BY sum(a) DESC) AS r FROM t "
        "GROUP BY tumblingwindow('ss', 10), k QUALIFY r <= 3",
        [*OUT, "Filter", "OverWindow", "Aggregation", "Window", *SOURCE],
        [*OUT, "Filter", "OverWindow", "Window", *CLOCKED],
    ),
    (
        "SELECT v.k, lag(v.c) OVER (PARTITION BY v.k) FROM counts v WHERE v.c > 1",
        [*OUT, "Filter", "StatefulFunction", "Project", "Aggregation", "Window", "Project", "Filter", *SOURCE],
        [*OUT, "Filter", "StatefulFunction", "Project", "Window", "Project", "Filter", *CLOCKED],
    ),
    ("SELECT a + 1 FROM t WHERE ok", ["DataSink", "SparkQuery", *SOURCE], ["DataSink", "SparkQuery", *SOURCE]),
]
VIEW = """SELECT k, count(*) AS c FROM (SELECT ts, k FROM t WHERE ok) GROUP BY hoppingwindow('ss', 10, 5), k"""


def known() -> Catalog:
    return catalog(("counts", VIEW))


@pytest.mark.parametrize(("sql", "logical", "physical"), SHAPES)
def test_nodes_in_their_order(sql: str, logical: list[str], physical: list[str]) -> None:
    done = compiled(sql, known())
    assert node_names(logical_nodes(done.logical)) == logical
    assert node_names(physical_nodes(done.physical)) == physical
    titles = re.findall(r"^(?:logical|physical) plan$", done.explain(), re.MULTILINE)
    assert titles == ["logical plan", "physical plan"]
    assert re.findall(r"^\W*([A-Z]\w+?)_\d+ +\|", done.explain(), re.MULTILINE) == logical + physical


@pytest.mark.parametrize("items", ["*", "count(*)", "b, sum(a)"])
def test_the_window_is_no_group_key(items: str) -> None:
    done = compiled(f"SELECT {items} FROM t GROUP BY slidingwindow('ss', 10), b")
    (window,) = [node for node in logical_nodes(done.logical) if isinstance(node, Window)]
    grouping: list[Any] = [node for node in logical_nodes(done.logical) if isinstance(node, Aggregation)] or [window]
    assert [key.name for key in grouping[0].keys] == ["b"]
    (operator,) = [node for node in physical_nodes(done.physical) if type(node).__name__ == "Window"]
    assert [key.name for key in operator.keys] == ["b"]
    assert operator.raw == (items == "*")


# ── Text and JSON ─────────────────────────────────────────────────────────────────────────────────────────────────

SCRIPT = """
import sys
from planning import compiled
from test_compile import SHAPES, known
for sql, _, _ in SHAPES:
    done = compiled(sql, known())
    sys.stdout.buffer.write((done.explain() + done.explain_json()).encode())
"""


def explained(seed: str) -> bytes:
    folder = os.fspath(Path(__file__).parent)
    env = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": folder}
    return subprocess.run([sys.executable, "-c", SCRIPT], env=env, check=True, capture_output=True, timeout=120).stdout


def test_text_is_the_same_in_every_process() -> None:
    assert explained("1") == explained("2") != b""


def tree(node: dict[str, Any]) -> list[Any]:
    return [node["id"], [tree(one) for one in node["inputs"]]]


def table_tree(lines: list[str]) -> Any:
    """The same tree, from the indentation of the table."""
    root: list[Any] = []
    path: list[list[Any]] = []
    for line in lines:
        if not re.match(r"\W*[A-Z]\w*_\d+ +\|", line):
            continue  # what is told of the node above goes on
        drawn = line.split("|", 1)[0] if "│" not in line else line[: line.index(" |", line.index("_"))]
        name = re.search(r"\w+_\d+", drawn)
        assert name is not None
        node: list[Any] = [name[0], []]
        depth = name.start() // 2
        (path[depth - 1][1] if depth else root).append(node)
        path[depth:] = [node]
    return root[0]


@pytest.mark.parametrize("sql", [sql for sql, _, _ in SHAPES] + ["SELECT name FROM t JOIN dim USING (k)"])
def test_json_has_the_tree_of_the_text(sql: str) -> None:
    done = compiled(sql, known())
    plans = json.loads(done.explain_json())
    logical, physical = (part.splitlines()[3:] for part in done.explain().split("\n\n"))
    assert tree(plans["logical"]) == table_tree(logical)
    assert tree(plans["physical"]) == table_tree(physical)


# ── Equal queries ─────────────────────────────────────────────────────────────────────────────────────────────────

EQUAL = [
    ("SELECT k, lag(a) AS l FROM t WHERE a > 0", "select k,lag( a ) as l\nfrom t -- all\nwhere a>0"),
    ("SELECT sum(a) AS s FROM t GROUP BY tumblingwindow('ss', 10), k",
     "SELECT SUM(A) s FROM T /* x */ GROUP BY TumblingWindow(\"ss\",10) , K"),
    ("SELECT t.k, lag(t.a) AS l FROM t", "SELECT q.k, lag(q.a) AS l FROM t AS q"),
    ("SELECT rank() OVER (PARTITION BY k ORDER BY ts) AS r FROM t",
     "SELECT rank() OVER w AS r FROM t WINDOW w AS (PARTITION  BY k ORDER BY ts ASC)"),
    ("SELECT lag(a) FILTER (WHERE ok) AS l FROM t", "SELECT lag(a) OVER (WHEN ok) AS l FROM t"),
    ("SELECT l FROM (SELECT lag(a) AS l FROM t)", "WITH c AS (SELECT lag(a) AS l FROM t) SELECT l FROM c"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_queries_have_equal_plans(one: str, other: str) -> None:
    assert optimise(bound(one)) == optimise(bound(other))
    assert compiled(one).logical == compiled(other).logical


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT lag(a) AS l FROM t", "SELECT lag(b) AS l FROM t"),
        ("SELECT lag(a) AS l FROM t WHERE k = 'x'", "SELECT lag(a) AS l FROM t WHERE k = 'X'"),
        ("SELECT lag(a) AS l FROM t", "SELECT lag(a) AS l FROM files"),
    ],
)
def test_other_queries_have_other_plans(one: str, other: str) -> None:
    assert compiled(one).logical != compiled(other).logical


# ── What compiles ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_explain_is_read_over() -> None:
    sql = "SELECT lag(a) FROM t"
    assert compiled(f"EXPLAIN {sql}").logical == compiled(sql).logical


@pytest.mark.parametrize("sql", ["", ";", "SHOW STREAMS", "CREATE VIEW v AS SELECT a FROM t", "SELECT 1; SELECT 2"])
def test_one_query_is_wanted(sql: str) -> None:
    assert refused(sql) == "parse-error"


def test_a_query_without_a_stream_is_sparks() -> None:
    assert node_names(logical_nodes(compiled("SELECT 1 AS one").logical)) == ["DataSink", "SparkQuery"]


def test_placeholders_keep_out_of_the_way_of_columns() -> None:
    done = compiled("SELECT col_1, lag(col_1) AS l FROM (SELECT ts, a AS col_1 FROM t)")
    calls = [one.name for node in logical_nodes(done.logical) for one in getattr(node, "calls", ())]
    assert "col_1" not in calls
