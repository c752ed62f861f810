"""What is secret in a text: in scripts, which keep their length, and in the values of options."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.errors import PanesError
from panes.hiding import hidden
from panes.options import shown_options
from panes.source import Source, Span, shown

WORD = "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        "password = 'hunter2'",
        'password = "hunter2"',
        "'password' = 'hunter2'",
        '"kafka.sasl.password"="hunter2"',
        "my.`api-key` = 'hunter2'",
        "password =\n  'hunter2'",
        "password\n  = -- of the test database\n  'hunter2'",
        "password /* old */ = 'hunter2'",
        "password = r'hunter2'",
        r"password = 'it\'s hunter2'",
        "password = 'it''s hunter2'",
        "password = '-----\nhunter2\n-----'",
        "password = 'hunter2",
        "password 'hunter2'",
        "url = 'x, password = 'hunter2'",
        "-- don't\npassword = 'hunter2'",
        "password => 'hunter2'",
        "password: 'hunter2'",
        "password = 'a' 'hunter2'",
        "SET password = hunter2",
        "CREATE SINK s (password : hunter2)",
        "CREATE SINK s WITH (password = hunter2)",
        "CREATE SINK s WITH (connector = x, password=hunter2, user = me)",
        "url = 'x://me:hunter2@db'",
        "url = 'x://me:hun/ter2hunter2@db'",
        "url = 'x://me:it''s,hunter2@db', x = 1",
        "url = 'jdbc:x://db;user=me;password=hunter2', x = 1",
        "-- x://me:hunter2@db",
    ],
)
def test_a_script(text: str) -> None:
    assert WORD not in hidden(text)
    assert len(hidden(text)) == len(text)
    assert hidden(text).count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "password = '${ENV:WORD}', token = '${FILE:/run/token}', pwd = '${pwd}'",
        "url = 'x://${ENV:ME}:${FILE:/run/word}@db?password=${ENV:WORD}'",
        "url = 'x://me@db:5432/y?sslmode=require', mail = 'me@here'",
        "SELECT a.token FROM a JOIN b ON (a.token = b.token AND a.x=b.x)",
        "SELECT 'abfss://box@account/x', \"http://h:1/y\", 'me@here'",
    ],
)
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert hidden(text) == text


@given(st.text("pwd='\"\\=(),;:/@?&-*${} \n\tWITH", max_size=60))
def test_places_stay(text: str) -> None:
    found = hidden(text)
    assert len(found) == len(text)
    assert all(one in (other, "*") for one, other in zip(found, text, strict=True))


@pytest.mark.parametrize(
    "part", ["token -- ", "token = ", "://a:", ";pwd={", "password='", "/*a", "a", "SINK token=a,"]
)
def test_a_long_text_takes_no_longer_than_it_must(part: str) -> None:
    """None is searched to its end from each of its places."""
    assert len(hidden(part * 10_000)) == len(part) * 10_000


def test_a_value_in_the_line_below_its_name() -> None:
    text = "CREATE SINK s WITH (password =\n  'hunter2')"
    span = Span(Source(text), text.index("'hunter2'"), len(text) - 1)
    assert shown(span) == "'*******'"
    assert WORD not in str(PanesError("parse-error", "no", span))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("s3a://key:word@bucket/x", "s3a://key:***@bucket/x"),
        ("jdbc:postgresql://db/x?user=me&password=hunter2", "jdbc:postgresql://db/x?user=me&password=***"),
        ("postgresql://db/x?sslpassword=a&x=1&PWD=hun%20ter", "postgresql://db/x?sslpassword=***&x=1&PWD=***"),
        ("jdbc:sqlserver://db;user=me;password={a;b};x=1", "jdbc:sqlserver://db;user=me;password=***;x=1"),
        ("jdbc:x://db;password=two words;x=1", "jdbc:x://db;password=***;x=1"),
        ("pg://me:hun/ter2@db", "pg://me:***@db"),
        ("pg://me:p@ss@db/x", "pg://me:***@db/x"),
        ("pg://me@corp:pass@db", "pg://me@corp:***@db"),
        ("redis://:pw@h", "redis://:***@h"),
        ("pg://me:it's@db", "pg://me:***@db"),
        ("pg://me:a@db?password=b", "pg://me:***@db?password=***"),
        ("pg://me:${ENV:WORD}@db?password=${FILE:/run/w}", "pg://me:${ENV:WORD}@db?password=${FILE:/run/w}"),
        ("jdbc:oracle:thin:scott/tiger@db:1521:x", "jdbc:oracle:thin:scott/***@db:1521:x"),
        ("https://h/x?sv=1&sig=abc", "https://h/x?sv=1&sig=***"),
        ("host=db user=me password=hunter2 port=1", "host=db user=me password=*** port=1"),
        ("password=hunter2", "password=***"),
        ("pg://me@db:5432/x?sslmode=require", "pg://me@db:5432/x?sslmode=require"),
        ("abfss://box@account/x", "abfss://box@account/x"),
    ],
)
def test_the_value_of_an_option(url: str, expected: str) -> None:
    assert shown_options({"url": url}) == {"url": expected}


@pytest.mark.parametrize(
    "name",
    ["kafka.ssl.keystore.key", "private_key", "ssl.key.passphrase", "pwd", "sfPassword", "fs.azure.account.key.x"],
)
def test_names_of_secrets(name: str) -> None:
    assert shown_options({name: WORD}) == {name: "***"}


@pytest.mark.parametrize("name", ["key", "kafka.ssl.keystore.location", "path", "user", "value.format", "table"])
def test_other_names(name: str) -> None:
    assert shown_options({name: "x"}) == {name: "x"}
