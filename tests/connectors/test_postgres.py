"""The options of PostgreSQL sinks and tables, without Spark or a server."""

import re

import pytest
from present import present

from panes.catalog import Catalog
from panes.connectors.postgres import Database, TableName, database, postgres_sink, postgres_table
from panes.errors import PanesError
from panes.functions import Functions
from panes.script import steps

URL = "url = 'postgresql://me:hunter2@db:5433/shop?sslmode=require'"


def run(sql: str) -> Catalog:
    catalog = Catalog()
    list(steps(sql, catalog, Functions()))
    return catalog


def test_a_sink() -> None:
    options = (
        f"connector = 'Postgres', {URL}, TABLE = 'sales.Board', key = 'a, b', create = 'TRUE', password = 'hunter3'"
    )
    sink = postgres_sink(present(run(f"CREATE SINK s WITH ({options})").sinks.get("s")))
    assert (sink.table, sink.key, sink.create, sink.as_rows) == (TableName("Board", "sales"), ("a", "b"), True, False)
    assert (sink.database.place, sink.database.password) == ("db:5433/shop", "hunter3")
    assert "hunter" not in repr(sink)


def test_a_scheme_has_no_case() -> None:
    """Of a URL; libpq knows only the lower one."""
    assert database({"url": "PostgreSQL://Me@Db/Shop"}).url == "postgresql://Me@Db/Shop"


def test_a_table_is_no_stream() -> None:
    catalog = run(f"CREATE STREAM s (a INT) WITH (connector = 'postgres', {URL}, table = 't')")
    stream = present(catalog.streams.get("s"))
    assert not stream.streaming
    assert postgres_table(stream).table == TableName("t")


@pytest.mark.parametrize(
    "options",
    [
        "table = 't'",
        URL,
        "url = 'jdbc:postgresql://me:hunter2@db/x', table = 't'",
        f"{URL}, table = 'a.b.c'",
        f"{URL}, table = 'a.'",
        f"{URL}, table = 't', create = 'maybe'",
        f"{URL}, table = 't', changelog = 'append'",
        f"{URL}, table = 't', tabel = 'x'",
    ],
)
def test_refused_sinks(options: str) -> None:
    with pytest.raises(PanesError) as caught:
        run(f"CREATE SINK s WITH (connector = 'postgres', {options})")
    assert caught.value.code == "stream-options"
    assert "hunter" not in caught.value.message
    assert caught.value.span is not None


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE STREAM s (a INT) WITH (connector = 'postgres', {URL}, table = 't', create = 'true')",
        f"CREATE STREAM s (a INT, PRIMARY KEY (a)) WITH (connector='postgres', {URL}, table='t', changelog='true')",
        f"CREATE STREAM s (a INT) WITH (connector = 'postgres', {URL}, table = 't', heartbeat = '1 second')",
        f"CREATE STREAM s (a INT METADATA) WITH (connector = 'postgres', {URL}, table = 't')",
    ],
)
def test_refused_tables(statement: str) -> None:
    with pytest.raises(PanesError) as caught:
        run(statement)
    assert caught.value.code == "stream-options"


def test_what_the_environment_holds_is_looked_at_later() -> None:
    options = "connector = 'postgres', url = '${ENV:DATABASE_URL}', table = '${FILE:/etc/shop.d/table.txt}'"
    catalog = run(f"CREATE SINK s WITH ({options}); CREATE STREAM t (a INT) WITH ({options})")
    assert postgres_sink(present(catalog.sinks.get("s"))).database.url == "${ENV:DATABASE_URL}"
    run("CREATE SINK s WITH (connector = 'postgres', url = 'postgresql://${ENV:HOST}/shop', table = '${ENV:S}.t')")


@pytest.mark.parametrize("password", ["hunter2", "pa#ss-word", "se cret", "hun/ter2", "hu?nter", "hu@nter", "hun:ter"])
def test_no_part_of_a_password_is_printed(password: str) -> None:
    database = Database(f"postgresql://me:{password}@db:5433/shop?sslmode=require")
    assert database.place in ("db:5433/shop", "***")
    parts = re.split("[/?#@:]", password)
    told = database.masked(f"""invalid port "{parts[0]}", unexpected spaces found in "{password}" of {database.url}""")
    assert password not in told
    assert not any(f'"{part}"' in told for part in parts)


def test_the_place_of_a_database() -> None:
    assert Database("postgresql://db/shop").place == "db/shop"
    assert Database("postgresql://db/shop?user=me&password=hu@nter2").place == "***"
    assert Database("postgresql://db/shop", "hunter2").masked("no hunter2 here") == "no *** here"


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ("password=hun%zzter2", 'invalid percent-encoded token: "hun%zzter2"'),
        ("sslmode=require&sslpassword=hun%20ter2", 'wrong password "hun ter2"'),
        ("pass%77ord=hunter2", "wrong password hunter2"),
        ("password=one&hunter2&user=me", 'missing key/value separator "=" in URI query parameter: "hunter2"'),
        ("user=me&password=hun/ter2", 'unexpected character in "ter2"'),
    ],
)
def test_a_message_does_not_show_a_password_among_the_parameters(parameters: str, told: str) -> None:
    masked = Database(f"postgresql://me@h/db?{parameters}").masked(told)
    assert "ter2" not in masked
    assert masked.split()[0] == told.split()[0]
