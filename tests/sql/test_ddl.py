"""CREATE, DROP, SHOW and DESCRIBE."""

from typing import Any

import pytest
from present import present

from panes.errors import PanesError
from panes.sql import parse
from panes.sql.statements import CreateSink, CreateStream, CreateView, Describe, Drop, ObjectKind, Show


def read(sql: str) -> Any:
    (statement,) = parse(sql)
    return statement


def test_create_stream() -> None:
    stream = read("""
        CREATE STREAM users (user_id STRING, a INT, `b c` DECIMAL(10, 2), ts TIMESTAMP,
                             WATERMARK FOR ts AS ts - INTERVAL 10 SECONDS, PRIMARY KEY (user_id, a))
        WITH (connector = 'json', path = 'data/users', state_ttl = '1 day', kafka.group.id = 'x')
    """)
    assert isinstance(stream, CreateStream)
    assert stream.name == "users"
    assert [(column.name, column.type) for column in stream.columns] == [
        ("user_id", "string"), ("a", "int"), ("b c", "decimal(10,2)"), ("ts", "timestamp"),
    ]  # fmt: skip
    assert (present(stream.watermark).column, present(stream.watermark).delay) == ("ts", 10_000_000)
    assert stream.key == ("user_id", "a")
    assert stream.options == {
        "connector": "json", "path": "data/users", "state_ttl": "1 day", "kafka.group.id": "x",
    }  # fmt: skip
    assert (stream.or_replace, stream.if_not_exists) == (False, False)


@pytest.mark.parametrize(
    ("delay", "length"),
    [
        ("", 0),
        (" - INTERVAL 10 SECONDS", 10_000_000),
        (" - INTERVAL '10' SECONDS", 10_000_000),
        (" - INTERVAL '10 seconds'", 10_000_000),
        (" - INTERVAL 1 MINUTE 30 SECONDS", 90_000_000),
        (" - INTERVAL 0 SECONDS", 0),
    ],
)
def test_watermarks(delay: str, length: int) -> None:
    stream = read(f"CREATE STREAM s (ts TIMESTAMP, WATERMARK FOR ts AS TS{delay})")
    assert stream.watermark.delay == length


@pytest.mark.parametrize("column", ["timestamp", "version"])
def test_a_watermark_for_a_column_whose_name_is_a_word(column: str) -> None:
    """sqlglot once took FOR TIMESTAMP and FOR VERSION for one word each."""
    stream = read(f"CREATE STREAM s ({column} TIMESTAMP, WATERMARK FOR {column} AS {column})")
    assert stream.watermark.column == column


@pytest.mark.parametrize(
    "column",
    [
        "a INT",
        "a INT NOT NULL",
        "a INT COMMENT 'x, (y'",
        "a INT NOT NULL COMMENT 'x'",
        "a INT COMMENT 'x' NOT NULL",
    ],
)
def test_columns(column: str) -> None:
    (found,) = read(f"CREATE STREAM s ({column})").columns
    assert (found.name, found.type, found.span.text) == ("a", "int", column)


def test_commas_inside_types() -> None:
    stream = read("CREATE STREAM s (m MAP<STRING, INT>, s STRUCT<a: ARRAY<MAP<INT, INT>>, b: DECIMAL(5, 2)>, c INT)")
    assert [(column.name, column.type) for column in stream.columns] == [
        ("m", "map<string,int>"),
        ("s", "struct<a:array<map<int,int>>,b:decimal(5,2)>"),
        ("c", "int"),
    ]


def test_words_of_ours_may_name_columns() -> None:
    stream = read("CREATE STREAM stream (watermark INT, comment STRING, primary INT, key INT)")
    assert [column.name for column in stream.columns] == ["watermark", "comment", "primary", "key"]


def test_create_view_and_sink() -> None:
    view = read("CREATE OR REPLACE VIEW v AS SELECT a,  b FROM t -- all")
    assert isinstance(view, CreateView) and (view.name, view.sql, view.or_replace) == ("v", "SELECT a,  b FROM t", True)
    sink = read("CREATE SINK IF NOT EXISTS `out put` WITH (connector = 'console', rows = 5)")
    assert isinstance(sink, CreateSink) and sink.if_not_exists
    assert (sink.name, sink.options) == ("out put", {"connector": "console", "rows": "5"})


@pytest.mark.parametrize("kind", ObjectKind)
@pytest.mark.parametrize("if_exists", [False, True])
def test_drop(kind: ObjectKind, if_exists: bool) -> None:
    dropped = read(f"drop {kind.value} {'IF EXISTS ' if if_exists else ''}x")
    assert isinstance(dropped, Drop)
    assert (dropped.kind, dropped.name, dropped.if_exists) == (kind, "x", if_exists)


@pytest.mark.parametrize("kind", ObjectKind)
def test_show(kind: ObjectKind) -> None:
    shown = read(f"SHOW {kind.value.lower()}s")
    assert isinstance(shown, Show) and shown.kind == kind


@pytest.mark.parametrize("sql", ["DESCRIBE x", "DESC x", "DESCRIBE STREAM x", "describe view `x`", "DESC SINK x"])
def test_describe(sql: str) -> None:
    assert isinstance(read(sql), Describe) and read(sql).name == "x"


@pytest.mark.parametrize(
    ("sql", "code", "place"),
    [
        ("CREATE TABLE x (a INT)", "parse-error", "TABLE"),
        ("CREATE", "parse-error", "CREATE"),
        ("CREATE STREAM", "parse-error", "STREAM"),
        ("CREATE STREAM s", "parse-error", "s"),
        ("CREATE STREAM s ()", "parse-error", "CREATE STREAM s ()"),
        ("CREATE STREAM s (a)", "parse-error", "a"),
        ("CREATE STREAM s (a INT,)", "parse-error", "a INT,"),
        ("CREATE STREAM s (a COMMENT 'x')", "parse-error", "a COMMENT 'x'"),
        ("CREATE STREAM s (a NONSENSE)", "parse-error", "NONSENSE"),
        ("CREATE STREAM s (a INT INT)", "parse-error", "INT INT"),
        ("CREATE STREAM s (a INT) WITH", "parse-error", "WITH"),
        ("CREATE STREAM s (a INT) WITH (x 'y')", "parse-error", "x 'y'"),
        ("CREATE STREAM s (a INT) WITH (x = )", "parse-error", "x ="),
        ("CREATE STREAM s (a INT) WITH (x = 'y', X = 'z')", "stream-options", "X = 'z'"),
        ("CREATE STREAM s (a INT) nonsense", "parse-error", "nonsense"),
        ("CREATE OR REPLACE SINK IF NOT EXISTS s", "parse-error", "CREATE OR REPLACE SINK IF NOT EXISTS s"),
        ("CREATE STREAM s (a INT, PRIMARY KEY ())", "parse-error", "PRIMARY KEY ()"),
        ("CREATE STREAM s (a INT, PRIMARY KEY (a + 1))", "parse-error", "PRIMARY KEY (a + 1)"),
        ("CREATE STREAM s (a INT, PRIMARY KEY (a), PRIMARY KEY (a))", "stream-options", "PRIMARY KEY"),
        ("CREATE STREAM s (t TIMESTAMP, WATERMARK FOR t)", "parse-error", "WATERMARK FOR t"),
        ("CREATE STREAM s (t TIMESTAMP, WATERMARK FOR t AS u)", "stream-options", "u"),
        (
            "CREATE STREAM s (t TIMESTAMP, WATERMARK FOR t AS t + INTERVAL 1 DAY)",
            "stream-options",
            "t + INTERVAL 1 DAY",
        ),
        ("CREATE STREAM s (t TIMESTAMP, WATERMARK FOR t AS t - 10)", "stream-options", "t - 10"),
        (
            "CREATE STREAM s (t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 1 MONTH)",
            "stream-options",
            "INTERVAL 1 MONTH",
        ),
        ("CREATE STREAM s (t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL -1 DAY)", "stream-options", "INTERVAL -1 DAY"),
        ("CREATE STREAM s (t TIMESTAMP, WATERMARK FOR t AS t, WATERMARK FOR t AS t)", "stream-options", "WATERMARK"),
        ("CREATE VIEW v", "parse-error", "v"),
        ("CREATE VIEW v AS", "parse-error", "CREATE VIEW v AS"),
        ("CREATE VIEW v AS SELECT lag(a) FROM t EMIT IMMEDIATELY", "unsupported-clause", "EMIT IMMEDIATELY"),
        ("DROP TABLE x", "parse-error", "TABLE"),
        ("DROP STREAM x y", "parse-error", "y"),
        ("SHOW TABLES", "parse-error", "SHOW TABLES"),
        ("SHOW", "parse-error", "SHOW"),
        ("DESCRIBE", "parse-error", "DESCRIBE"),
        ("DESCRIBE x y", "parse-error", "y"),
    ],
)
def test_refused(sql: str, code: str, place: str) -> None:
    with pytest.raises(PanesError) as caught:
        parse(sql)
    assert (caught.value.code, present(caught.value.span).text) == (code, place)
