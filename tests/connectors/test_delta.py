"""The options of Delta streams and sinks, without Spark."""

from posixpath import normpath

import pytest
from present import present

from panes.catalog import Catalog, Sink, Stream
from panes.connectors.delta import DeltaSink, DeltaSource, check_engine, check_loop, delta_sink, delta_source
from panes.errors import PanesError
from panes.functions import Functions
from panes.script import Listing, steps


def run(sql: str) -> Catalog:
    catalog = Catalog()
    list(steps(sql, catalog, Functions()))
    return catalog


def stream(options: str, columns: str = "a INT") -> Stream:
    return present(run(f"CREATE STREAM s ({columns}) WITH (connector = 'Delta', {options})").streams.get("s"))


def sink(options: str) -> Sink:
    return present(run(f"CREATE SINK s WITH (connector = 'delta', {options})").sinks.get("s"))


def test_a_stream() -> None:
    assert delta_source(stream("path = 't'")) == DeltaSource("t")
    options = """PATH = 't', Starting_Version = 0, snapshot = 'FALSE', max_versions_per_trigger = '5',
        storage.AWS_REGION = 'eu', changelog = 'true'"""
    found = stream(options, "a INT, PRIMARY KEY (a)")
    assert delta_source(found) == DeltaSource("t", 0, False, 5, {"AWS_REGION": "eu"})
    assert found.changelog


def test_what_the_environment_holds_is_looked_at_later() -> None:
    assert delta_source(stream("path = '${ENV:LAKE}/t', starting_version = '${ENV:VERSION}'")).path == "${ENV:LAKE}/t"


def test_a_sink() -> None:
    assert delta_sink(sink("path = 't'")) == DeltaSink("t")
    options = """path = 't', key = 'a, b', changelog = 'rows', create = 'True', partition_by = 'a',
        delta.enableChangeDataFeed = 'true', Storage.AWS_REGION = 'eu'"""
    properties = {"delta.enableChangeDataFeed": "true"}
    expected = DeltaSink("t", ("a", "b"), False, True, ("a",), properties, {"AWS_REGION": "eu"})
    assert delta_sink(sink(options)) == expected


def test_a_sink_names_its_engine() -> None:
    assert delta_sink(sink("path = 't', Engine = 'Spark'")) == DeltaSink("t", engine="spark")
    store = delta_sink(sink("path = 's3://b/t', engine = 'delta-rs', storage.AWS_REGION = 'eu'"))
    assert (store.engine, store.storage) == ("delta-rs", {"AWS_REGION": "eu"})
    with pytest.raises(PanesError) as caught:
        check_engine("Spark", {})  # in Python its name is as it is
    assert caught.value.code == "stream-options"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("starting_version = '1'", "path"),
        ("path = 't', starting_versoin = '1'", "starting_version"),
        ("path = 't', starting_version = '-1'", "at least 0"),
        ("path = 't', starting_version = 'latest'", "whole number"),
        ("path = 't', max_versions_per_trigger = '0'", "at least 1"),
        ("path = 't', snapshot = 'no'", "'true', 'false'"),
        ("path = 't', changelog = 'true'", "key"),
    ],
)
def test_streams_that_cannot_work(options: str, says: str) -> None:
    with pytest.raises(PanesError) as caught:
        stream(options)
    assert caught.value.code == "stream-options"
    assert says in str(caught.value)
    assert present(caught.value.span).text.startswith("CREATE STREAM")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("key = 'a'", "path"),
        ("path = 't', keys = 'a'", "key"),
        ("path = 't', changelog = 'merge'", "'upsert', 'rows'"),
        ("path = 't', engine = 'rust'", "'spark', 'delta-rs'"),
        ("path = 's3a://b/t', engine = 'spark', storage.AWS_REGION = 'eu'", "storage.AWS_REGION is an option of"),
        ("path = 't', partition_by = 'a'", "create = 'true'"),
        ("path = 't', create = 'false', delta.appendOnly = 'true'", "create = 'true'"),
    ],
)
def test_sinks_that_cannot_work(options: str, says: str) -> None:
    with pytest.raises(PanesError) as caught:
        sink(options)
    assert caught.value.code == "stream-options"
    assert says in str(caught.value)


def test_a_table_that_is_read_is_not_written() -> None:
    for path in ("lake/t/", "./lake/x/../t"):
        with pytest.raises(PanesError):
            check_loop(sink(f"path = '{path}'"), [stream("path = 'lake/t'")], normpath)
    check_loop(sink("path = 'lake/t2'"), [stream("path = 'lake/t'")], normpath)
    check_loop(Sink("s", {"connector": "json", "path": "lake/t"}), [stream("path = 'lake/t'")], normpath)


def test_keys_of_the_store_are_not_shown() -> None:
    catalog = Catalog()
    options = "storage.AWS_SECRET_ACCESS_KEY = 'hunter2', storage.AZURE_STORAGE_ACCOUNT_KEY = 'hunter2'"
    script = f"CREATE SINK s WITH (connector = 'delta', path = 't', {options}); DESCRIBE s"
    (*_, shown) = steps(script, catalog, Functions())
    assert isinstance(shown, Listing)
    assert "hunter2" not in str(shown)
    assert "***" in str(shown)
