"""Scripts: declarations are carried out, queries are compiled, in order."""

import json
import re
from typing import Any

import pytest
from present import present

from panes.catalog import Catalog
from panes.compile import Compiled
from panes.errors import PanesError
from panes.functions import Functions
from panes.script import Done, Explanation, Listing, steps

STREAM = "CREATE STREAM t (a INT, k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS, PRIMARY KEY (k))"
SINK = "CREATE SINK out WITH (connector = 'console')"


def run(*statements: str, catalog: Catalog | None = None, name: str = "") -> list[Any]:
    return list(steps(";\n".join(statements), catalog if catalog is not None else Catalog(), Functions(), name))


def refused(*statements: str) -> tuple[PanesError, Catalog]:
    catalog = Catalog()
    with pytest.raises(PanesError) as caught:
        run(*statements, catalog=catalog)
    return caught.value, catalog


def test_a_script() -> None:
    found = run(STREAM, SINK, "CREATE VIEW v AS SELECT lag(a) AS p FROM t", "INSERT INTO out SELECT p FROM v")
    assert [type(step) for step in found] == [Done, Done, Done, Compiled]
    assert found[-1].physical.sink == "out"


def test_steps_are_taken_one_by_one() -> None:
    catalog = Catalog()
    script = steps(f"{STREAM}; SELECT nope FROM t", catalog, Functions())
    assert catalog.streams.names() == []
    next(script)
    assert catalog.streams.names() == ["t"]
    with pytest.raises(PanesError):
        next(script)


@pytest.mark.parametrize(
    ("what", "rows"),
    [
        ("STREAMS", [("t", "a int, k string, ts timestamp", "ts", "k")]),
        ("VIEWS", [("v", "SELECT a FROM t")]),
        ("SINKS", [("out", "console")]),
    ],
)
def test_show(what: str, rows: list[tuple[str, ...]]) -> None:
    listing = run(STREAM, SINK, "CREATE VIEW v AS SELECT a FROM t", f"SHOW {what}")[-1]
    assert isinstance(listing, Listing)
    assert list(listing.rows) == rows
    assert all(len(row) == len(listing.header) for row in listing.rows)


def test_show_of_nothing() -> None:
    assert run("SHOW STREAMS")[0].rows == ()


def test_describe_a_stream() -> None:
    rows = dict(run(f"{STREAM} WITH (connector = 'json', state_ttl = '1 day')", "DESCRIBE T")[-1].rows)
    assert rows["a"] == "int" and rows["ts"] == "timestamp"
    assert rows["(watermark)"] == "ts - 5 s" and rows["(key)"] == "k"
    assert rows["(state_ttl)"] == "1 d" and rows["(connector)"] == "json"


def test_describe_a_view_and_a_sink() -> None:
    view, sink = run(STREAM, SINK, "CREATE VIEW v AS SELECT a, lag(a) AS p, k AS q FROM t", "DESC v", "DESC out")[-2:]
    assert view.rows == (("a", "int"), ("p", ""), ("q", "string"))
    assert sink.rows == (("connector", "console"),)


def test_secrets_are_not_printed() -> None:
    kafka = "connector = 'kafka', bootstrap_servers = 'b:9092', topic = 'a', format = 'json'"
    stream = f"CREATE STREAM t (a INT) WITH ({kafka}, kafka.sasl.jaas.config = 'hunter2')"
    sink = "CREATE SINK s WITH (connector = 'pg', PassWord = 'hunter2', url = 'pg://me:hunter2@db/x', key = 'shop')"
    *_, of_stream, of_sink = run(stream, sink, "DESCRIBE t", "DESCRIBE s")
    assert "hunter2" not in f"{of_stream} {of_sink}"
    assert of_sink.rows == (("connector", "pg"), ("PassWord", "***"), ("url", "pg://me:***@db/x"), ("key", "shop"))


def test_options_of_a_sink_have_no_case() -> None:
    catalog = Catalog()
    run("CREATE SINK s WITH (Connector = 'JSON', PATH = 'Out', ChangeLog = 'rows', dateFormat = 'y')", catalog=catalog)
    expected = {"connector": "json", "path": "Out", "changelog": "rows", "dateFormat": "y"}
    assert present(catalog.sinks.get("s")).options == expected


def test_explain() -> None:
    text, document = run(STREAM, "EXPLAIN SELECT lag(a) FROM t", "EXPLAIN FORMAT JSON SELECT lag(a) FROM t")[1:]
    assert isinstance(text, Explanation) and "StatefulFunction" in text.text
    assert set(json.loads(document.text)) == {"logical", "physical"}


def test_drop() -> None:
    catalog = Catalog()
    run(
        STREAM,
        SINK,
        "CREATE VIEW v AS SELECT a FROM t",
        "DROP VIEW V",
        "DROP STREAM t",
        "DROP SINK out",
        catalog=catalog,
    )
    assert [*catalog.relations(), *catalog.sinks.names()] == []


@pytest.mark.parametrize("kind", ["STREAM", "VIEW", "SINK"])
def test_drop_if_exists(kind: str) -> None:
    assert [type(step) for step in run(f"DROP {kind} IF EXISTS x")] == [Done]
    error, _ = refused(f"DROP {kind} x")
    assert (error.code, present(error.span).text) == (f"unknown-{kind.lower()}", f"DROP {kind} x")


def test_or_replace() -> None:
    catalog = Catalog()
    run(STREAM, "CREATE OR REPLACE STREAM t (b INT)", catalog=catalog)
    assert present(catalog.streams.get("t")).column_names == ("b",)
    run("CREATE VIEW v AS SELECT b FROM t", "CREATE OR REPLACE VIEW v AS SELECT b + 1 AS c FROM t", catalog=catalog)
    assert present(catalog.views.get("v")).sql == "SELECT b + 1 AS c FROM t"
    run(SINK, "CREATE OR REPLACE SINK out WITH (connector = 'memory')", catalog=catalog)
    assert present(catalog.sinks.get("out")).options == {"connector": "memory"}


def test_if_not_exists() -> None:
    catalog = Catalog()
    run(STREAM, "CREATE STREAM IF NOT EXISTS t (b INT)", catalog=catalog)
    assert present(catalog.streams.get("t")).column_names == ("a", "k", "ts")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (STREAM, "CREATE STREAM T (b INT)"),
        (STREAM, "CREATE VIEW t AS SELECT 1 AS a"),
        (STREAM, "CREATE OR REPLACE VIEW t AS SELECT 1 AS a"),
        ("CREATE VIEW t AS SELECT 1 AS a", "CREATE OR REPLACE STREAM t (b INT)"),
        (SINK, "CREATE SINK OUT WITH (connector = 'console')"),
    ],
)
def test_a_name_is_taken_once(first: str, second: str) -> None:
    error, _ = refused(first, second)
    assert (error.code, present(error.span).text) == ("duplicate-name", second)
    assert error.hint


def test_a_sink_may_have_a_stream_s_name() -> None:
    run(STREAM, "CREATE SINK t WITH (connector = 'console')")


@pytest.mark.parametrize(
    ("statement", "code", "place"),
    [
        ("CREATE VIEW v AS SELECT nope FROM t", "unknown-column", "nope"),
        ("CREATE VIEW v AS SELECT a FROM nowhere", "unknown-stream", "nowhere"),
        (
            "CREATE VIEW v AS SELECT sum(a) OVER (PARTITION BY k) FROM t",
            "unbounded-state",
            "sum(a) OVER (PARTITION BY k)",
        ),
        ("CREATE VIEW v AS SELECT lag(a) FROM t EMIT IMMEDIATELY", "unsupported-clause", "EMIT IMMEDIATELY"),
        ("CREATE VIEW v AS SELECT a FROM v", "unknown-stream", "v"),
    ],
)
def test_a_view_is_checked_when_it_is_created(statement: str, code: str, place: str) -> None:
    error, catalog = refused(STREAM, statement)
    assert (error.code, present(error.span).text) == (code, place)
    assert catalog.views.names() == []


@pytest.mark.parametrize(
    ("statement", "code", "place"),
    [
        ("SELECT a,\n  nope\nFROM t", "unknown-column", "nope"),
        ("DESCRIBE nope", "unknown-stream", "DESCRIBE nope"),
        ("INSERT INTO nope SELECT a FROM t", "unknown-sink", "INSERT INTO nope SELECT a FROM t"),
        ("CREATE SINK s", "stream-options", "CREATE SINK s"),
        ("CREATE STREAM s (a INT, PRIMARY KEY (b))", "unknown-column", "CREATE STREAM s (a INT, PRIMARY KEY (b))"),
        ("SELECT (a FROM t", "parse-error", "("),
    ],
)
def test_errors_stand_where_they_were_written(statement: str, code: str, place: str) -> None:
    error, _ = refused(STREAM, statement)
    assert (error.code, present(error.span).text) == (code, place)


def test_an_error_names_the_file_and_the_line() -> None:
    with pytest.raises(PanesError) as caught:
        run(STREAM, "SELECT nope FROM t", name="job.sql")
    assert (present(caught.value.span).source.name, present(caught.value.span).line) == ("job.sql", 2)


def test_an_error_inside_a_view_names_the_view() -> None:
    catalog = Catalog()
    run(STREAM, "CREATE VIEW v AS SELECT a FROM t", "CREATE OR REPLACE STREAM t (b INT)", catalog=catalog)
    with pytest.raises(PanesError) as caught:
        run("SELECT a FROM v", catalog=catalog)
    assert (caught.value.code, present(caught.value.span).source.name) == ("unknown-column", "view v")


def test_a_user_s_col_1_does_not_clash() -> None:
    found = run("CREATE STREAM s (col_1 INT)", "SELECT *, lag(col_1) AS p FROM s")[-1]
    assert found.physical.columns == ("col_1", "p")
    assert "col_2" in found.explain()


def test_views_and_queries_share_no_placeholder() -> None:
    found = run(STREAM, "CREATE VIEW v AS SELECT lag(a) AS p, ts FROM t", "SELECT lag(p) AS q FROM v")[-1]
    logical, _ = found.explain().split("physical plan")
    assert sorted(re.findall(r"lag\(\w\) -> (col_\d)", logical)) == ["col_1", "col_2"]
