"""Tables of a test, in a schema of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from postgres_server import Server


@dataclass(frozen=True)
class Tables:
    """A schema of a server: `sql` runs in it."""

    server: Server
    schema: str

    def sql(self, text: str, *values: Any) -> list[Any]:
        with psycopg.connect(self.server.url, password=self.server.password) as connection:
            connection.execute(f"SET search_path = {self.schema}".encode())
            connection.execute("SET timezone = 'UTC'")
            done = connection.execute(text.encode(), values or None)
            return done.fetchall() if done.description is not None else []

    def names(self) -> set[str]:
        return {name for (name,) in self.sql(f"SELECT tablename FROM pg_tables WHERE schemaname = '{self.schema}'")}

    def options(self, sql: str) -> str:
        """Options of a stream or sink whose table is in this schema: `table` stands at their beginning."""
        table, _, rest = sql.partition(",")
        return self.server.with_options(f"table = '{self.schema}.{table}'{',' if rest else ''}{rest}")


@contextmanager
def tables(server: Server, schema: str) -> Iterator[Tables]:
    found = Tables(server, schema)
    found.sql(f"CREATE SCHEMA {schema}")
    try:
        yield found
    finally:
        found.sql(f"DROP SCHEMA {schema} CASCADE")
