"""Python and SQL declare the same thing."""

from datetime import timedelta
from typing import Any

import pytest
from present import present

from panes.catalog import Column, Stream
from panes.declare import declare, declare_from
from panes.errors import PanesError
from panes.options import StreamOptions
from panes.sql import parse
from panes.sql.statements import CreateStream

COLUMNS = [Column("user_id", "string"), Column("a", "int"), Column("ts", "timestamp")]
DDL = "user_id STRING, a INT, ts TIMESTAMP"


def from_sql(sql: str) -> Stream:
    (statement,) = parse(sql)
    assert isinstance(statement, CreateStream)
    return declare_from(statement)


@pytest.mark.parametrize(
    ("sql", "python"),
    [
        (f"CREATE STREAM s ({DDL})", {}),
        (
            f"CREATE STREAM s ({DDL}, WATERMARK FOR ts AS ts - INTERVAL 10 SECONDS, PRIMARY KEY (user_id))",
            {"time": "ts", "watermark": "10 seconds", "key": ["user_id"]},
        ),
        (f"CREATE STREAM s ({DDL}, WATERMARK FOR ts AS ts)", {"time": "ts", "watermark": "0 seconds"}),
        (
            f"CREATE STREAM s ({DDL}, PRIMARY KEY (user_id)) WITH (changelog = 'true', sequence = 'a', path = 'x')",
            {"key": "user_id", "changelog": True, "sequence": "a", "options": {"path": "x"}},
        ),
        (
            f"CREATE STREAM s ({DDL}, PRIMARY KEY (user_id)) WITH (changelog = true, on_inconsistency = 'skip')",
            {"key": ["user_id"], "changelog": True, "on_inconsistency": "skip"},
        ),
        (
            f"CREATE STREAM s ({DDL}) WITH (STATE_TTL = '1 day', heartbeat = '1 second', connector = 'json')",
            {"state_ttl": "1 day", "heartbeat": "1 second", "options": {"connector": "json"}},
        ),
        (
            f"CREATE STREAM s ({DDL}, WATERMARK FOR ts AS ts) WITH (idle_timeout = '1 minute')",
            {"time": "ts", "watermark": "0 seconds", "heartbeat": "15 seconds", "idle_timeout": "1 minute"},
        ),
        (
            f"CREATE STREAM s ({DDL}) WITH (CONNECTOR = 'JSON', Path = 'In', maxFilesPerTrigger = '1')",
            {"options": {"connector": "json", "path": "In", "maxFilesPerTrigger": "1"}},
        ),
        (f"CREATE STREAM s ({DDL}) WITH (connector = 'Own.Source')", {"options": {"connector": "Own.Source"}}),
    ],
)
def test_both_ways(sql: str, python: dict[str, Any]) -> None:
    connector = python.pop("options", None)
    assert from_sql(sql) == declare("s", COLUMNS, StreamOptions(**python), streaming=True, options=connector)


def test_lengths_are_microseconds() -> None:
    stream = declare(
        "s", COLUMNS, StreamOptions(time="ts", watermark="10 seconds", state_ttl=timedelta(days=1)), streaming=True
    )
    assert (stream.delay, stream.state_ttl) == (10_000_000, 86_400_000_000)


def test_the_change_type_is_no_column_of_a_changelog() -> None:
    columns = [Column("_change_type", "string"), *COLUMNS]
    assert declare("s", columns, StreamOptions(key="user_id", changelog=True), streaming=True).columns == tuple(COLUMNS)
    assert len(declare("s", columns, streaming=True).columns) == 4


def test_a_batch_needs_no_watermark() -> None:
    assert declare("s", COLUMNS, StreamOptions(time="ts"), streaming=False).delay is None


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"time": "ts"}, "watermark-required"),
        ({"watermark": "10 seconds"}, "stream-options"),
        ({"time": "ts", "watermark": "soon"}, "stream-options"),
        ({"time": "ts", "watermark": "1 month"}, "stream-options"),
        ({"time": "ts", "watermark": "1 microsecond"}, "stream-options"),
        ({"time": "user_id", "watermark": "1 second"}, "stream-options"),
        ({"time": "nope", "watermark": "1 second"}, "unknown-column"),
        ({"key": ["nope"]}, "unknown-column"),
        ({"changelog": True}, "stream-options"),
        ({"state_ttl": "0 seconds"}, "stream-options"),
        ({"state_ttl": "a while"}, "stream-options"),
        ({"heartbeat": "often"}, "stream-options"),
        ({"heartbeat": 10}, "stream-options"),
        ({"idle_timeout": "1 second"}, "stream-options"),
        ({"idle_timeout": "0 seconds", "time": "ts", "watermark": "1 second"}, "stream-options"),
        ({"idle_timeout": "1 second", "changelog": True, "key": ["a"]}, "stream-options"),
    ],
)
def test_refused_in_python(options: dict[str, Any], code: str) -> None:
    with pytest.raises(PanesError) as caught:
        declare("s", COLUMNS, StreamOptions(**options), streaming=True)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("sql", "code", "place"),
    [
        (f"CREATE STREAM s ({DDL}, WATERMARK FOR nope AS nope)", "unknown-column", "WATERMARK FOR"),
        (f"CREATE STREAM s ({DDL}, WATERMARK FOR a AS a)", "stream-options", "WATERMARK FOR"),
        (
            "CREATE STREAM watermark (a INT, PRIMARY KEY (nope), WATERMARK FOR a AS a)",
            "unknown-column",
            "CREATE STREAM",
        ),
        (
            f"CREATE STREAM s ({DDL}, WATERMARK FOR ts AS ts - INTERVAL 1 MICROSECOND)",
            "stream-options",
            "WATERMARK FOR",
        ),
        (f"CREATE STREAM s ({DDL}, PRIMARY KEY (nope))", "unknown-column", "CREATE STREAM"),
        (f"CREATE STREAM s ({DDL}) WITH (idle_timeout = '1 second')", "stream-options", "CREATE STREAM"),
        ("CREATE STREAM s (a INT, A INT)", "ambiguous-column", "CREATE STREAM"),
        (f"CREATE STREAM s ({DDL}) WITH (changelog = 'true')", "stream-options", "CREATE STREAM"),
        (f"CREATE STREAM s ({DDL}) WITH (changelog = 'maybe')", "stream-options", "CREATE STREAM"),
        (f"CREATE STREAM s ({DDL}) WITH (sequence = 'a')", "stream-options", "CREATE STREAM"),
        (f"CREATE STREAM s ({DDL}) WITH (state_ttl = 'long')", "stream-options", "CREATE STREAM"),
    ],
)
def test_refused_in_sql(sql: str, code: str, place: str) -> None:
    with pytest.raises(PanesError) as caught:
        from_sql(sql)
    assert caught.value.code == code
    assert present(caught.value.span).text.startswith(place)
