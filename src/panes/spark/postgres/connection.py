"""A connection to PostgreSQL, on the driver and on executors; what goes wrong in it is an error of Panes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from panes.connectors.postgres import Database
from panes.errors import PanesError
from panes.spark.last_of_key import two_rows_of_a_key

if TYPE_CHECKING:
    import psycopg

STAGING = "panes_staging"  # how the names of staging tables begin
PATIENCE = 10  # seconds
# Texts of times and numbers mean the same however the server is set; and it notices within a minute if a client is gone
# without a word, so that its locks do not outlive it.
SETTINGS = """
    SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL extra_float_digits = 1;
    SET LOCAL tcp_keepalives_idle = 30; SET LOCAL tcp_keepalives_interval = 10; SET LOCAL tcp_keepalives_count = 3
"""
# And a client notices if the server is: a connection stands still while executors copy.
KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
# SQLSTATE of texts in JSON that PostgreSQL cannot hold, and of a NULL where none may be.
NUL, NOT_NULL = ("22P05",), "23502"
COPIED = re.compile(r"COPY .*, line \d+, column (.*?): ")
TWICE = "21000"  # a statement that updates a row twice


@contextmanager
def connected(database: Database) -> Iterator[psycopg.Connection[Any]]:
    """A connection that is closed at the end, without a transaction of its own."""
    driver = _driver()
    try:
        with driver.connect(
            database.url,
            password=database.password,
            autocommit=True,
            prepare_threshold=None,  # poolers know no prepared statements
            connect_timeout=PATIENCE,
            client_encoding="utf8",
            application_name="panes",
            **{name: value for name, value in KEEPALIVES.items() if name not in database.url},
        ) as connection:
            yield connection
    except driver.Error as error:
        raise _failure(error, database) from None


@contextmanager
def transaction(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """All of it or nothing."""
    with connection.transaction():
        connection.execute(SETTINGS)
        yield


def execute(connection: psycopg.Connection[Any], sql: str) -> psycopg.Cursor[Any]:
    """Run SQL that was put together from names, and from numbers of ours."""
    return connection.execute(sql.encode())


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        hint = "pip install 'panes[postgres]', where Spark's driver runs and on all executors."
        raise PanesError("missing-package", "connector = 'postgres' needs the package psycopg", None, hint) from None
    return psycopg


def _failure(error: psycopg.Error, database: Database) -> PanesError:
    """What PostgreSQL says, in one line: Spark hands no more of it on."""
    if error.sqlstate in NUL and "u0000" in str(error):
        found = COPIED.search(error.diag.context or "")
        return nul_in(found[1] if found is not None else None)
    if error.sqlstate == NOT_NULL and (error.diag.table_name or "").startswith(STAGING):
        hint = "Keep rows without it out, or give the table a key that takes NULLs: UNIQUE NULLS NOT DISTINCT (…)."
        text = f"a row has no {error.diag.column_name}, which is in the key of the table"
        return PanesError("database-failed", text, None, hint)
    if error.sqlstate == TWICE:
        return two_rows_of_a_key()
    if error.sqlstate is None:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        hint = "Look at url and password, and whether the server runs and lets you in."
        return PanesError("database-failed", f"PostgreSQL at {database.place}: {database.masked(first)}", None, hint)
    said = [error.diag.message_primary, error.diag.message_detail, error.diag.context]
    text = "; ".join(" ".join(one.split()) for one in said if one)
    return PanesError("database-failed", f"PostgreSQL at {database.place}: {database.masked(text)}")


def nul_in(column: str | None) -> PanesError:
    """The error of a text with U+0000."""
    where = f"a text in the column {column}" if column is not None else "a text"
    hint = "Take it out of the text: replace(…, char(0), '')."
    return PanesError("database-failed", f"{where} has the character U+0000, which PostgreSQL cannot store", None, hint)


def identifier(name: str) -> str:
    """A name in PostgreSQL's SQL.

    >>> identifier('a "b" c')
    '"a ""b"" c"'
    """
    return '"' + name.replace('"', '""') + '"'
