"""A JDBC connection of the driver's Java; what goes wrong in it is an error of Panes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from panes.connectors.jdbc import JdbcSink
from panes.errors import PanesError
from panes.spark.java_errors import said


@dataclass(frozen=True)
class Connection:
    java: Any
    dialect: Any  # Spark's

    def run(self, sql: str, *values: str | int) -> None:
        statement = self._prepared(sql, values)
        statement.executeUpdate()
        statement.close()

    def number(self, sql: str, *values: str | int) -> int | None:
        """The number in the first row that a query finds."""
        statement = self._prepared(sql, values)
        rows = statement.executeQuery()
        found = int(rows.getLong(1)) if rows.next() else None
        statement.close()
        return found

    def _prepared(self, sql: str, values: tuple[str | int, ...]) -> Any:
        statement = self.java.prepareStatement(sql)
        for place, value in enumerate(values, start=1):
            if isinstance(value, str):
                statement.setString(place, value)
            else:
                statement.setLong(place, value)
        return statement

    def tables(self) -> list[str]:
        """The tables of all schemas that the user sees."""
        rows = self.java.getMetaData().getTables(None, None, "%", None)
        found = []
        while rows.next():
            found.append(str(rows.getString("TABLE_NAME")))
        rows.close()
        return found

    def run_once(self, sql: str, *values: str | int, done: Callable[[], object]) -> None:
        """Run a statement that another driver may just have run: it fails then, and `done` says so."""
        try:
            self.run(sql, *values)
        except Py4JJavaError:
            if not done():
                raise

    def has_table(self, table: str) -> bool:
        """Whether a table is there: how its name is spelled, and where it is looked for, the database knows best."""
        try:
            self.number(f"SELECT count(*) FROM {table} WHERE 1 = 0")
        except Py4JJavaError as error:
            if self.dialect.isObjectNotFoundException(error.java_exception):
                return False
            raise
        return True

    def succeeds(self, sql: str, *values: str | int) -> bool:
        """Whether a statement on its own can be run."""
        try:
            self.run(sql, *values)
        except Py4JJavaError:
            return False
        return True

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.java.setAutoCommit(False)
        try:
            yield
            self.java.commit()
        except BaseException:
            self.java.rollback()
            raise
        finally:
            self.java.setAutoCommit(True)


@contextmanager
def connected(sink: JdbcSink, spark: SparkSession) -> Iterator[Connection]:
    """A connection that is closed at the end, without a transaction of its own."""
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        hint = "Write to PostgreSQL with connector = 'postgres', and to others from a session without Spark Connect."
        raise PanesError("stream-options", "connector = 'jdbc' does not work over Spark Connect", None, hint)
    with told_by_jdbc(sink):
        given = jvm.java.util.HashMap()
        for name, value in sink.spark.items():
            given.put(name, value)
        scala = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(given)
        options = jvm.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(sink.spark["url"], sink.table, scala)
        dialect = jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(sink.spark["url"])
        connection = dialect.createConnectionFactory(options).apply(-1)
        try:
            yield Connection(connection, dialect)
        finally:
            connection.close()


@contextmanager
def told_by_jdbc(sink: JdbcSink) -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as error:
        text = said(error.java_exception, sink.spark)
        if text.startswith("ClassNotFoundException"):
            hint = "Start Spark with the jar of the database's JDBC driver: --packages or --jars."
            raise PanesError("missing-package", f"Spark has no {sink.spark['driver']}", None, hint) from None
        raise PanesError("database-failed", f"the database of the table {sink.table}: {text}") from None
