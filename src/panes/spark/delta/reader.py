"""A Delta table as a stream: the rows that it has at first, then what each version adds or changes.

offset       the last version that was read, and whether its rows, as a snapshot, are still to be read; before the
             first micro-batch of a stream without `starting_version`, BEGINNING; and the table's id: a table that was
             made anew at the same place has other versions (an old checkpoint may lack the id)
partition    a file of the snapshot, a file that a version has added, or the changes of a version: read by executors
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

import duckdb
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from panes.connectors.delta import STORAGE, DeltaSource
from panes.errors import PanesError
from panes.kernels.changelog.changes import AFTER, CHANGE, INSERT
from panes.kernels.duck import connection, quoted
from panes.spark.delta.commits import Commit, read_commit
from panes.spark.delta.table import files_of, open_table, told
from panes.spark.memory import Memory
from panes.spark.worker import set_up

if TYPE_CHECKING:
    from deltalake import DeltaTable

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow
except ImportError:  # Spark 4.1 has no limits, and reads all that is there in one micro-batch
    SupportsTriggerAvailableNow = object  # type: ignore[assignment,misc]

NAME = "panes_delta"
ROWS = 100_000  # of a record batch
BEGINNING = -1  # the table as the first micro-batch finds it
TABLE = "table"
COMES = f"{CHANGE} IN ('{INSERT}', '{AFTER}')"  # false is first
Offset: TypeAlias = dict[str, Any]


@dataclass
class DataFile(InputPartition):
    """A file of a version of the table."""

    version: int
    file: str


@dataclass
class Changes(InputPartition):
    """The changes of a version."""

    version: int


Part: TypeAlias = DataFile | Changes


@dataclass(frozen=True)
class Reading:
    """What a reader is told: the source, whether its rows are changes, and the columns that put them into order."""

    source: DeltaSource
    changelog: bool
    order: tuple[str, ...]
    memory: Memory

    def options(self) -> dict[str, str]:
        """As options of a data source of Spark: each by its own name, so that Spark hides those that are secret."""
        source = self.source
        given = {
            "path": source.path,
            "snapshot": str(source.snapshot),
            "changelog": str(self.changelog),
            "starting_version": source.starting_version,
            "max_versions": source.max_versions,
            "order": "\n".join(self.order),
            "memory": self.memory.total,
            "slots": self.memory.slots,
            **{f"{STORAGE}{name}": value for name, value in source.storage.items()},
        }
        return {name: str(value) for name, value in given.items() if value is not None}

    @staticmethod
    def of(options: Mapping[str, str]) -> Reading:
        def number(name: str) -> int | None:
            return int(options[name]) if name in options else None

        storage = {name[len(STORAGE) :]: value for name, value in options.items() if name.startswith(STORAGE)}
        snapshot = options["snapshot"] == "True"
        source = DeltaSource(options["path"], number("starting_version"), snapshot, number("max_versions"), storage)
        order = tuple(name for name in options["order"].split("\n") if name)
        return Reading(source, options["changelog"] == "True", order, Memory(number("memory"), number("slots")))


class DeltaStream(DataSource):
    @classmethod
    def name(cls) -> str:
        return NAME

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return Versions(Reading.of(self.options), schema)


class Versions(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans on the driver and reads on executors, which get it as it was at the start."""

    def __init__(self, reading: Reading, schema: StructType) -> None:
        self.reading = reading
        self.schema = schema
        self.last: Offset | None = None  # of a run that ends: what comes later is left to the next

    @property
    def source(self) -> DeltaSource:
        return self.reading.source

    def initialOffset(self) -> Offset:
        """The version to begin with, if it is still there.

        Spark asks again when it runs the first micro-batch, and when it repeats it, and keeps no answer: so it must be
        the same whatever has been written since. Where a micro-batch ends it does keep.
        """
        now, version = self._now(), self.source.starting_version
        if version is None:
            return now | {"version": BEGINNING, "snapshot": self.source.snapshot}
        if version > now["version"]:
            hint = f"Its latest version is {now['version']}."
            raise PanesError("delta-failed", f"{self.source.path} has no version {version} yet", None, hint)
        self._at(version)  # it may have been cleaned up
        return now | {"version": version, "snapshot": self.source.snapshot}

    def prepareForTriggerAvailableNow(self) -> None:
        self.last = self._now()

    def getDefaultReadLimit(self) -> ReadLimit:
        most = self.source.max_versions
        return ReadAllAvailable() if most is None else ReadMaxFiles(most)

    def latestOffset(self, start: Offset | None = None, limit: object = None) -> Offset:
        """Spark 4.1 says neither where to start nor how much to read."""
        now = self._now() if self.last is None else self.last
        most = self.source.max_versions
        if start is None or start["version"] == BEGINNING:
            return now
        self._check_table(now, start)
        end = now["version"]
        if most is not None and not isinstance(limit, ReadAllAvailable):
            end = start["version"] if start["snapshot"] else min(end, start["version"] + most)
        if end < start["version"] or (end == start["version"] and not start["snapshot"]):
            return start
        return now | {"version": end}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        self._check_table(self._now(), end)
        first = end["version"] if start["version"] == BEGINNING else start["version"]
        snapshot = start["snapshot"] and not end["snapshot"]
        rows = [DataFile(first, file) for file in sorted(self._files(first))] if snapshot else []
        later = [part for commit in self._commits(first, end["version"]) for part in self._parts(commit)]
        return [*rows, *later]

    def _commits(self, after: int, through: int) -> Iterator[Commit]:
        if through <= after:
            return
        files = files_of(self.source.path, self.source.storage)
        for version in range(after + 1, through + 1):
            with self._reading(version):
                commit = read_commit(files, self.source.path, version)
            yield commit

    def _parts(self, commit: Commit) -> list[Part]:
        if self.reading.changelog:
            return [Changes(commit.version)] if commit.changes else []
        if commit.removes:
            hint = "Read it as a changelog: PRIMARY KEY (…) and changelog = 'true', with its change feed enabled."
            text = f"version {commit.version} of {self.source.path} updates or deletes rows, the stream is append-only"
            raise PanesError("delta-failed", text, None, hint)
        return [DataFile(commit.version, file) for file in sorted(commit.added)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, DataFile | Changes)
        schema = _arrow_schema(self.schema)
        match partition:
            case DataFile():
                found = self._read_file(partition)
            case Changes():
                found = self._read_changes(partition)
            case _:
                assert_never(partition)
        for batch in found:
            yield from pa.Table.from_batches([batch]).cast(schema).to_batches(max_chunksize=ROWS)

    def _read_file(self, part: DataFile) -> Iterator[pa.RecordBatch]:
        """The rows of a file, as inserts where the stream is a changelog."""
        changelog = self.reading.changelog
        names = [name for name in self.schema.names if not (changelog and name == CHANGE)]
        with self._reading(part.version):
            rows = self._at(part.version).to_pyarrow_dataset()
            (file,) = [one for one in rows.get_fragments() if one.path == part.file]
            known = [name for name in names if name in rows.schema.names]  # the others came in a later version
            for batch in file.to_batches(schema=rows.schema, columns=known, use_threads=False, batch_size=ROWS):
                columns = [batch[name] if name in known else pa.nulls(batch.num_rows) for name in names]
                whole = pa.RecordBatch.from_arrays(columns, names)
                yield whole.add_column(0, CHANGE, pa.repeat(INSERT, batch.num_rows)) if changelog else whole

    def _read_changes(self, part: Changes) -> Iterator[pa.RecordBatch]:
        """The changes of a version, sorted: of a key, what goes is before what comes."""
        set_up(self.reading.memory)
        with self._reading(part.version):
            table = open_table(self.source.path, self.source.storage)  # as it was may be gone when its changes are not
            feed = table.load_cdf(part.version, part.version, columns=list(self.schema.names))
            con = connection().cursor()
            con.register("feed", pa.RecordBatchReader.from_stream(feed))
            columns = ", ".join(quoted(name) for name in self.schema.names)
            order = ", ".join(COMES if name == CHANGE else quoted(name) for name in self.reading.order)
            sql = f"SELECT {columns} FROM feed ORDER BY {order}"  # DuckDB writes to disk what is too much
            batches: pa.RecordBatchReader = con.sql(sql).to_arrow_reader(ROWS)
            yield from batches

    def _files(self, version: int) -> list[str]:
        with self._reading(version):
            return [one.path for one in self._at(version).to_pyarrow_dataset().get_fragments()]

    def _now(self) -> Offset:
        """The latest version of the table that is there."""
        table = open_table(self.source.path, self.source.storage)
        return {"version": table.version(), "snapshot": False, TABLE: str(table.metadata().id)}

    def _check_table(self, now: Offset, before: Offset) -> None:
        """Refuse to go on in another table than the one that was read before."""
        if before.get(TABLE) not in (None, now[TABLE]):
            hint = "Begin with a new checkpoint: it reads what is there now."
            text = f"the Delta table {self.source.path} was dropped and made anew since it was last read"
            raise PanesError("delta-failed", text, None, hint)

    def _at(self, version: int) -> DeltaTable:
        try:
            return open_table(self.source.path, self.source.storage, version)
        except PanesError as error:
            raise self._gone(version, error.message) from error

    @contextmanager
    def _reading(self, version: int) -> Iterator[None]:
        """What fails at a version, with its number: what was there once may have been removed by VACUUM."""
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (DeltaError, OSError, pa.ArrowException, duckdb.Error) as error:
            raise self._gone(version, told(error, self.source.storage)) from error

    def _gone(self, version: int, why: str) -> PanesError:
        text = f"version {version} of {self.source.path} cannot be read: {why}"
        hint = "If VACUUM or the clean-up of its log has removed it, begin with a new checkpoint."
        return PanesError("delta-failed", text, None, hint)


def _arrow_schema(schema: StructType) -> pa.Schema:
    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # Spark 4.1: times are in UTC there
        return to_arrow_schema(schema)
