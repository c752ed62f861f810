"""What a stream may do with malformed records, without Spark."""

import pytest
from present import present

from panes.catalog import Catalog, Stream
from panes.compile import Compiled
from panes.connectors.malformed import dead_letters_of, has_lines
from panes.errors import PanesError
from panes.functions import Functions
from panes.script import steps

DEAD = "on_error = 'dead_letter', dead_letter = 'bad'"
SCHEMA = """{"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]}"""
KAFKA = "connector = 'kafka', bootstrap_servers = 'h:1', topic = 't'"


def run(sql: str) -> Catalog:
    catalog = Catalog()
    list(steps(sql, catalog, Functions()))
    return catalog


def stream(options: str, columns: str = "a INT") -> Stream:
    return present(run(f"CREATE STREAM s ({columns}) WITH ({options})").streams.get("s"))


def test_a_stream_with_dead_letters() -> None:
    found = stream("connector = 'json', path = 'x', ON_ERROR = 'DEAD_LETTER', dead_letter = 'bad'")
    assert (found.on_error, found.dead_letter) == ("dead_letter", "bad")
    assert found.options == {"connector": "json", "path": "x"}
    assert (stream("connector = 'csv'").on_error, stream("connector = 'csv', on_error = 'fail'").dead_letter) == (
        "fail",
        None,
    )


@pytest.mark.parametrize(
    "options",
    [
        "connector = 'json', on_error = 'skip'",
        "connector = 'json', on_error = 'dead_letter'",
        "connector = 'json', dead_letter = 'bad'",
        f"connector = 'parquet', {DEAD}",
        f"connector = 'rate', {DEAD}",
        f"{KAFKA}, format = 'raw', {DEAD}",
        f"connector = 'json', columnNameOfCorruptRecord = 'a', {DEAD}",
        "connector = 'json', mode = 'DROPMALFORMED'",
        "connector = 'csv', Mode = 'permissive'",
        f"{KAFKA}, format = 'json', json.Mode = 'DROPMALFORMED'",
        f"{KAFKA}, format = 'csv', csv.mode = 'DROPMALFORMED'",
        f"{KAFKA}, format = 'json', json.columnNameOfCorruptRecord = 'a'",
        f"{KAFKA}, format = 'avro', avro_schema = '{SCHEMA}', avro.mode = 'FAILFAST'",
    ],
)
def test_refused(options: str) -> None:
    with pytest.raises(PanesError) as caught:
        stream(options, "a STRING")
    assert caught.value.code == "stream-options"
    assert caught.value.span is not None
    assert caught.value.hint is not None


def test_lines_that_are_looked_at() -> None:
    assert has_lines(stream("connector = 'json'"))
    assert not has_lines(stream("connector = 'json'", "a INT, _corrupt_record STRING"))
    assert not has_lines(stream("connector = 'csv', columnNameOfCorruptRecord = 'bad'", "a INT, bad STRING"))
    assert not has_lines(stream("connector = 'parquet'"))


def test_their_columns() -> None:
    def columns(options: str) -> dict[str, str | None]:
        return {column.name: column.type for column in dead_letters_of(stream(options)).columns}

    record = {
        "key": "binary", "topic": "string", "partition": "int", "offset": "bigint", "timestamp": "timestamp",
        "headers": "array<struct<key:string,value:binary>>",
    }  # fmt: skip
    schema = """{"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}"""
    assert columns(f"{KAFKA}, format = 'json', {DEAD}") == {"_error": "string", "_value": "string", **record}
    assert columns(f"{KAFKA}, format = 'avro', avro_schema = '{schema}', {DEAD}")["_value"] == "binary"
    assert columns(f"connector = 'csv', {DEAD}") == {"_error": "string", "_value": "string", "file_path": "string"}


def test_their_sink_is_there_when_an_insert_needs_it() -> None:
    declared = f"""
        CREATE STREAM s (a INT) WITH (connector = 'json', path = 'x', {DEAD});
        CREATE SINK out WITH (connector = 'noop');
    """
    insert = "INSERT INTO out SELECT a FROM (SELECT a FROM s WHERE a > 1)"
    run(f"{declared} SELECT a FROM s")
    with pytest.raises(PanesError) as caught:
        run(f"{declared} {insert}")
    assert caught.value.code == "unknown-sink"
    assert present(caught.value.span).text == insert
    found = list(steps(f"{declared} CREATE SINK bad WITH (connector = 'noop'); {insert}", Catalog(), Functions()))
    assert isinstance(found[-1], Compiled)
