"""The options of PostgreSQL sinks and tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from panes.catalog import Sink, Stream
from panes.connectors.options import Known, named, names, one_of, required
from panes.errors import PanesError
from panes.hiding import SECRET
from panes.secrets import MASK, has_reference, without

CONNECTOR = "postgres"
STREAM_OPTIONS = Known(("url", "table", "password"))
SINK_OPTIONS = Known(("url", "table", "password", "key", "create", "changelog"))
SCHEMES = ("postgresql", "postgres")
EXAMPLE = "postgresql://user@host:5432/database"
CHANGES = ("upsert", "rows")
PARAMETER = re.compile("[?&]([^=?&]*)=([^&]*(?:&[^=&]*(?![^&]))*)")  # a value may hold an & that nobody has quoted


@dataclass(frozen=True)
class Database:
    """Where a database is and how to get in; neither is printed."""

    url: str = field(repr=False)
    password: str | None = field(default=None, repr=False)

    @property
    def place(self) -> str:
        """What may be printed of it.

        >>> Database("postgresql://me:hunter2@db:5433/shop?sslmode=require").place
        'db:5433/shop'
        """
        user, _, place = self.url.partition("://")[2].rpartition("@")
        if "?" in user:
            return MASK  # a password with ? in it, or a parameter with @: nobody can tell
        return re.split("[?#]", place)[0]

    def masked(self, text: str) -> str:
        """A message without what the URL and the password have in it; a driver may quote any part of a wrong URL."""
        user = self.url.partition("://")[2].rpartition("@")[0]
        parameters = (one[2] for one in PARAMETER.finditer(self.url) if SECRET.search(unquote(one[1])))
        secrets = [self.url, self.password]
        for one in (user.partition(":")[2], *parameters):
            secrets += [one, unquote(one), *re.split("[/?#@:&]", one)]
        return without(text, [one for one in secrets if one])


@dataclass(frozen=True)
class TableName:
    """A table, and its schema if one was given; upper and lower case are as they were written."""

    name: str
    schema: str | None = None

    def __str__(self) -> str:
        return self.name if self.schema is None else f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class PostgresSink:
    """`key` is empty where the result's own key is meant; `as_rows` stores the changes of a changelog as rows."""

    database: Database
    table: TableName
    key: tuple[str, ...] = ()
    create: bool = False
    as_rows: bool = False


@dataclass(frozen=True)
class PostgresTable:
    database: Database
    table: TableName


def is_table(options: Mapping[str, str]) -> bool:
    """Whether a declared stream is a table: a batch input, and no stream."""
    return options.get("connector") == CONNECTOR


def check_stream(stream: Stream) -> None:
    if is_table(stream.options):
        postgres_table(stream)


def check_sink(sink: Sink) -> None:
    if sink.options["connector"] == CONNECTOR:
        postgres_sink(sink)


def postgres_table(stream: Stream) -> PostgresTable:
    """A table's options, if they can work."""
    options = named(CONNECTOR, stream.options, STREAM_OPTIONS)
    if stream.changelog or stream.heartbeat is not None:
        hint = "A table is read whole, for joins. Changes of a table come through Kafka: format = 'debezium-json'."
        raise PanesError("stream-options", f"{stream.name} is a table of PostgreSQL, and no stream", None, hint)
    return PostgresTable(database(options), table_name(required(options, "table", "name")))


def postgres_sink(sink: Sink) -> PostgresSink:
    """A sink's options, if they can work."""
    options = named(CONNECTOR, sink.options, SINK_OPTIONS)
    create = one_of(options, "create", ("true", "false"), "false") == "true"
    as_rows = one_of(options, "changelog", CHANGES, "upsert") == "rows"
    table = table_name(required(options, "table", "name"))
    return PostgresSink(database(options), table, names(options.get("key", "")), create, as_rows)


def database(options: Mapping[str, str]) -> Database:
    """The database that `url` names; a URL may hold a password, so that a wrong one is not shown."""
    url = required(options, "url", EXAMPLE)
    scheme, colon, rest = url.partition("://")
    if scheme.lower() in SCHEMES:
        url = f"{scheme.lower()}{colon}{rest}"  # libpq tells upper from lower case
    elif not has_reference(url):
        raise PanesError(
            "stream-options", "the option url is not that of a PostgreSQL", None, f"Write url = '{EXAMPLE}'."
        )
    return Database(url, options.get("password"))


def table_name(text: str) -> TableName:
    """A name, or a schema's and a name.

    >>> table_name("sales.Board")
    TableName(name='Board', schema='sales')
    """
    *schema, name = [text] if has_reference(text) else text.split(".")
    if len(schema) > 1 or not all((*schema, name)):
        raise PanesError("stream-options", f"the option table is '{text}'", None, "Write 'name' or 'schema.name'.")
    return TableName(name, schema[0] if schema else None)
