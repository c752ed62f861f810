"""The options of JDBC sinks, without Spark."""

import pytest
from present import present

from panes.catalog import Catalog, Sink
from panes.connectors.jdbc import Upsert, jdbc_sink
from panes.errors import PanesError
from panes.functions import Functions
from panes.script import steps

URL = "url = 'jdbc:h2:mem:x'"


def run(sql: str) -> Catalog:
    catalog = Catalog()
    list(steps(sql, catalog, Functions()))
    return catalog


def test_a_sink() -> None:
    options = f"connector = 'JDBC', {URL}, table = 'a.board', key = 'k, l', user = 'me', password = 'hunter2'"
    sink = jdbc_sink(present(run(f"CREATE SINK s WITH ({options})").sinks.get("s")))
    assert (sink.table, sink.key, sink.create, sink.as_rows) == ("a.board", ("k", "l"), False, False)
    assert (sink.dialect.upsert, sink.beside("x")) == (Upsert.MERGE, "a.x")
    assert sink.spark == {"driver": "org.h2.Driver", "url": "jdbc:h2:mem:x", "user": "me", "password": "hunter2"}
    assert "hunter2" not in repr(sink)


@pytest.mark.parametrize(
    "options",
    [
        "table = 't'",
        URL,
        f"{URL}, table = 't; DROP TABLE u'",
        "url = 'jdbc:mysql://h/x', table = 't'",
        "url = 'postgresql://h/x', table = 't'",
        f"{URL}, table = 't', create = 'maybe'",
        f"{URL}, table = 't', kay = 'k'",
    ],
)
def test_refused_sinks(options: str) -> None:
    with pytest.raises(PanesError) as caught:
        run(f"CREATE SINK s WITH (connector = 'jdbc', {options})")
    assert caught.value.code == "stream-options"
    assert caught.value.span is not None


def test_a_url_begins_in_any_case() -> None:
    """Drivers know only the lower one, and look at nothing else of it."""
    for written in ("JDBC:PostgreSQL://Host/Db", "jdbc:postgresql://Host/Db"):
        sink = jdbc_sink(Sink("s", {"connector": "jdbc", "url": written, "table": "t"}))
        assert (sink.spark["url"], sink.spark["driver"]) == ("jdbc:postgresql://Host/Db", "org.postgresql.Driver")


def test_a_stream_is_refused() -> None:
    with pytest.raises(PanesError) as caught:
        run(f"CREATE STREAM s (a INT) WITH (connector = 'jdbc', {URL}, table = 't')")
    assert caught.value.code == "stream-options"


def test_what_the_environment_holds_is_looked_at_later() -> None:
    run("CREATE SINK s WITH (connector = 'jdbc', url = '${ENV:DATABASE_URL}', table = '${ENV:TABLE}')")
    with pytest.raises(PanesError):
        run("CREATE SINK s WITH (connector = 'jdbc', url = '${ENV:DATABASE_URL}', table = 't', tabel = 'x')")
