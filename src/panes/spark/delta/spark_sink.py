"""Delta out with Spark's own Delta: a micro-batch is one commit, an append or a MERGE that Spark's executors run.

keep       the rows are computed once, and kept by the executors: always, since state is kept on the way
commit     unless the table says that this micro-batch is in it; Delta looks again as it commits, and says so if another
           driver has come before
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from panes.connectors.delta import DeltaSink
from panes.errors import PanesError
from panes.spark.delta.columns import Result, key_of, matched, new_schema
from panes.spark.delta.once import ATTEMPTS, has_batch, never_committed
from panes.spark.delta.table import not_there
from panes.spark.expressions import quoted
from panes.spark.folders import folder, is_local
from panes.spark.last_of_key import DELETED, last_of_key
from panes.spark.store_errors import full_or_forbidden, shortened

BAD_NAMES = re.compile(r"^Invalid column names: (.+?)\.?$", re.MULTILINE)
CONFLICT = re.compile(r"\[DELTA_(CONCURRENT_\w+|METADATA_CHANGED|PROTOCOL_CHANGED)\b")
TRANSACTION = "spark.databricks.delta.write.txn"
TURNS: dict[str, RLock] = {}  # by the session
COPIES = "spark.databricks.delta.merge.materializeSource"


@dataclass(frozen=True)
class SparkWriter:
    """Writes micro-batches with Spark. `id` tells the sink apart from all others of the table."""

    id: str
    sink: DeltaSink
    changelog: bool  # whether rows are changes, to be applied by the key

    def __call__(self, rows: DataFrame, batch: int) -> None:
        spark, result = rows.sparkSession, Result(rows.schema, self.sink, self.changelog)
        columns = matched(result, self._schema(spark, result))
        values = {name: quoted(column) for name, column in columns.items()}
        if self.changelog:
            rows, values = last_of_key(rows, self.sink.key), {**values, DELETED: DELETED}
        with kept(rows.selectExpr(*(f"{value} AS {quoted(name)}" for name, value in values.items()))) as named:
            if not named.isEmpty():
                self._commit(named, tuple(columns), batch)

    def find(self, spark: SparkSession) -> StructType | None:
        """The schema of the table; None if it is yet to be made."""
        with self._failures():
            log = _delta(spark).DeltaLog.forTable(spark._jsparkSession, self._path)
            if log.tableExists():
                return StructType.fromJson(_json(log.update(False, _none(spark), _none(spark)).schema()))
        if self.sink.create:
            return None
        raise not_there(self.sink.path)

    @property
    def _path(self) -> str:
        """As Hadoop reads it: a path without a scheme is on this machine, as it is for delta-rs."""
        path = self.sink.path
        return f"file:{folder(path)}" if is_local(path) else path

    def _schema(self, spark: SparkSession, result: Result) -> StructType:
        """The schema of the table, which is made if it is not there."""
        found = self.find(spark)
        for _ in range(ATTEMPTS):
            if found is not None:
                return found
            with self._failures(conflicts=False):
                _create(spark, result, self._path)
            found = self.find(spark)
        raise never_committed(self.sink.path, 0)

    def _commit(self, rows: DataFrame, columns: tuple[str, ...], batch: int) -> None:
        for _ in range(ATTEMPTS):
            if self._has(rows.sparkSession, batch):
                return
            session = rows.sparkSession
            with _turn(session), self._failures(conflicts=False), _transaction(session, self.id, batch):
                self._apply(rows, columns)
        if not self._has(rows.sparkSession, batch):
            raise never_committed(self.sink.path, batch)

    def _has(self, spark: SparkSession, batch: int) -> bool:
        with self._failures():
            log = _delta(spark).DeltaLog.forTable(spark._jsparkSession, self._path)
            last = log.update(False, _none(spark), _none(spark)).transactions().get(self.id)
        return has_batch(int(last.get()) if last.isDefined() else None, batch, self.id, self.sink.path)

    def _apply(self, rows: DataFrame, columns: tuple[str, ...]) -> None:
        """One commit, whose transaction Delta takes from the session; columns that are left out are NULL."""
        if not self.changelog:
            rows.write.format("delta").mode("append").save(self._path)
            return
        spark, view = rows.sparkSession, f"panes_changes_{uuid.uuid4().hex}"
        rows.createOrReplaceTempView(view)
        try:
            spark.sql(merge_statement(self._path, view, key_of(self.sink, columns), columns)).collect()
        finally:
            spark.catalog.dropTempView(view)

    @contextmanager
    def _failures(self, conflicts: bool = True) -> Iterator[None]:
        """What Delta says, as an error of Panes; a conflict with another driver is none if the caller looks again."""
        try:
            yield
        except (PySparkException, Py4JJavaError) as error:
            text = str(error.java_exception.toString() if isinstance(error, Py4JJavaError) else error)
            if not conflicts and CONFLICT.search(text):
                return
            refused = full_or_forbidden(text, f" (the Delta table {self.sink.path})")
            told = f"the Delta table {self.sink.path}: {shortened(text)}"
            names = BAD_NAMES.search(text)
            hint = f"Rename {names[1]} with AS, or let delta-rs write: engine = 'delta-rs'." if names else None
            raise refused or PanesError("delta-failed", told, hint=hint) from error


def merge_statement(path: str, view: str, key: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """What applies the changes of a view to a table.

    >>> print(merge_statement("file:/t", "v", ("k",), ("k", "n")))
    MERGE INTO delta.`file:/t` AS t USING v AS s ON t.`k` <=> s.`k`
    WHEN MATCHED AND s.panes_deleted THEN DELETE
    WHEN MATCHED THEN UPDATE SET t.`k` = s.`k`, t.`n` = s.`n`
    WHEN NOT MATCHED AND NOT s.panes_deleted THEN INSERT (`k`, `n`) VALUES (s.`k`, s.`n`)
    """
    same = " AND ".join(f"t.{quoted(name)} <=> s.{quoted(name)}" for name in key)
    changed = ", ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in columns)
    named, values = ", ".join(map(quoted, columns)), ", ".join(f"s.{quoted(name)}" for name in columns)
    return (
        f"MERGE INTO delta.{quoted(path)} AS t USING {view} AS s ON {same}\n"
        f"WHEN MATCHED AND s.{DELETED} THEN DELETE\n"
        f"WHEN MATCHED THEN UPDATE SET {changed}\n"
        f"WHEN NOT MATCHED AND NOT s.{DELETED} THEN INSERT ({named}) VALUES ({values})"
    )


@contextmanager
def kept(rows: DataFrame) -> Iterator[DataFrame]:
    """Rows that are computed here and now, and never again: if an executor is lost with them, what reads them fails."""
    found = rows.localCheckpoint()
    try:
        yield found
    finally:
        found._jdf.queryExecution().logical().rdd().unpersist(False)


def _turn(spark: SparkSession) -> RLock:
    """One commit of a session at a time: each query has its own, but a user's threads may share one."""
    return TURNS.setdefault(spark._jsparkSession.sessionUUID(), RLock())


@contextmanager
def _transaction(spark: SparkSession, id: str, batch: int) -> Iterator[None]:
    """What is committed within carries the micro-batch's number. The session is that of one query's micro-batches.

    Rows that are kept need no copies, which MERGE would make to read them twice.
    """
    with _settings(spark, {f"{TRANSACTION}AppId": id, f"{TRANSACTION}Version": str(batch), COPIES: "none"}):
        yield


@contextmanager
def _settings(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in wanted}
    try:
        for name, value in wanted.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def _create(spark: SparkSession, result: Result, path: str) -> None:
    """Make the table, unless another driver has."""
    sink, empty = result.sink, spark.createDataFrame([], new_schema(result))
    writer = empty.write.format("delta").mode("ignore").options(**sink.properties)
    writer.partitionBy(*sink.partition_by).save(path)


def _delta(spark: SparkSession) -> Any:
    return spark._jvm.org.apache.spark.sql.delta  # type: ignore[union-attr]


def _none(spark: SparkSession) -> Any:
    return spark._jvm.scala.Option.empty()  # type: ignore[union-attr]


def _json(schema: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(schema.json())
    return found
