"""The options of sinks that JDBC reaches, and the SQL in which their databases differ."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from panes.catalog import Sink, Stream
from panes.connectors.options import Known, named, names, one_of, required
from panes.errors import PanesError
from panes.secrets import has_reference

CONNECTOR = "jdbc"
SINK_OPTIONS = Known(("url", "table", "user", "password", "driver", "key", "create", "changelog"))
TABLE = re.compile(r"[\w$]+(\.[\w$]+)*")  # as it stands in SQL, since Spark writes it so


class Upsert(Enum):
    """How a database inserts rows or updates those that are there."""

    ON_CONFLICT = "on-conflict"
    MERGE = "merge"


@dataclass(frozen=True)
class Dialect:
    driver: str
    upsert: Upsert
    end: str = ""  # of a MERGE
    select_into: bool = False  # where others have CREATE TABLE … AS SELECT


DIALECTS = {
    "postgresql": Dialect("org.postgresql.Driver", Upsert.ON_CONFLICT),
    "h2": Dialect("org.h2.Driver", Upsert.MERGE),
    "sqlserver": Dialect("com.microsoft.sqlserver.jdbc.SQLServerDriver", Upsert.MERGE, ";", select_into=True),
    "oracle": Dialect("oracle.jdbc.OracleDriver", Upsert.MERGE),
}


@dataclass(frozen=True)
class JdbcSink:
    """`spark` are the options for Spark's writer, of which some are secret."""

    dialect: Dialect
    table: str
    key: tuple[str, ...] = ()
    create: bool = False
    as_rows: bool = False
    spark: Mapping[str, str] = field(default_factory=dict, repr=False)

    def beside(self, name: str) -> str:
        """Another table in the same schema."""
        schema, dot, _ = self.table.rpartition(".")
        return f"{schema}{dot}{name}"


def check_stream(stream: Stream) -> None:
    if stream.options.get("connector") == CONNECTOR:
        hint = "Register a DataFrame: engine.stream('name', spark.read.jdbc(…)). PostgreSQL has a connector of its own."
        raise PanesError("stream-options", "connector = 'jdbc' is for sinks", None, hint)


def check_sink(sink: Sink) -> None:
    """Refuse what cannot work, as far as it is known: a reference is resolved when a query starts."""
    if sink.options["connector"] == CONNECTOR:
        options = named(CONNECTOR, sink.options, SINK_OPTIONS)
        if not any(has_reference(options.get(name, "")) for name in ("url", "table")):
            jdbc_sink(sink)


def jdbc_sink(sink: Sink) -> JdbcSink:
    """A sink's options, if they can work."""
    options = named(CONNECTOR, sink.options, SINK_OPTIONS)
    dialect, options["url"] = _dialect(required(options, "url", "jdbc:postgresql://host:5432/database"))
    table = required(options, "table", "name")
    if TABLE.fullmatch(table) is None:
        raise PanesError("stream-options", f"the option table is '{table}'", None, "Write 'name' or 'schema.name'.")
    spark = {"driver": dialect.driver} | {
        name: options[name] for name in ("url", "user", "password", "driver") if name in options
    }
    return JdbcSink(
        dialect,
        table,
        names(options.get("key", "")),
        one_of(options, "create", ("true", "false"), "false") == "true",
        one_of(options, "changelog", ("upsert", "rows"), "upsert") == "rows",
        spark,
    )


def _dialect(url: str) -> tuple[Dialect, str]:
    """The database of a URL, and the URL as its driver knows it: drivers tell upper from lower case."""
    scheme, name, rest = ([*url.split(":", 2), "", ""])[:3]
    scheme, name = scheme.lower(), name.lower()
    if scheme != "jdbc" or name not in DIALECTS:
        hint = f"It begins with jdbc: and one of {', '.join(DIALECTS)}: databases that have MERGE or ON CONFLICT."
        raise PanesError("stream-options", "the option url names no database that this sink knows", None, hint)
    return DIALECTS[name], f"{scheme}:{name}:{rest}"
