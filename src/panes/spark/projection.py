"""The pre-projection of an operator: the columns that Spark computes for its kernel, each text once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StructType

from panes.errors import PanesError
from panes.kernels.changelog.changes import CHANGE
from panes.kernels.kernel import SHARD
from panes.kernels.late_rows import WHOLE
from panes.physical import plan as physical
from panes.physical.identity import column_name
from panes.physical.lineage import Definitions, written_out
from panes.spark.expressions import compared_type, known_type, quoted, shifted, type_of
from panes.spark.pack import BATCH, BESIDE, IDENTITY, KEEP, MOMENT, NOW, PLACE, STARTED, TIME, WATERMARK

NAME = re.compile(r"\(*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[A-Za-z_]\w*))\)*")
HIDDEN = frozenset((KEEP, WATERMARK, NOW, STARTED, CHANGE, WHOLE, *BESIDE, *IDENTITY))


def _without_guard(sql: str) -> str:
    """An expression as the query has it.

    >>> _without_guard("CASE WHEN panes_keep THEN (a + 1) END"), _without_guard("(`k`)")
    ('(a + 1)', 'k')
    """
    guard = f"CASE WHEN {KEEP} THEN "
    plain = sql.removeprefix(guard).removesuffix(" END") if sql.startswith(guard) else sql
    found = NAME.fullmatch(plain)
    return plain if found is None else (found["quoted"] or found["plain"]).replace("``", "`")


def _in_order(sql: str, type_: DataType) -> Iterator[str]:
    """What a value is sorted by: whether it is there, and itself; a struct's fields one by one, as Spark sorts it."""
    yield f"({sql} IS NOT NULL)"
    if isinstance(type_, StructType):
        for field in type_.fields:
            yield from _in_order(f"{sql}.{quoted(field.name)}", field.dataType)
    else:
        yield sql


class Projection:
    """Columns over the rows below. What it is asked for, it names by what it is: equal texts have one name.

    `definitions` say what the columns below are.
    """

    def __init__(self, below: DataFrame, placement: physical.Placement, definitions: Definitions) -> None:
        self.below = below
        self.placement = placement
        self.definitions = definitions
        self.legend: dict[str, str] = {}  # what columns are, written out
        self._names: dict[str, str] = {}
        self._types: dict[str, str] = {}
        self.functions: dict[str, str] = {}  # calls, by the columns of their values

    def column(self, sql: str) -> str:
        """The name of an expression; it is not evaluated for rows that WHERE removed."""
        sql = self._plain(sql)
        guarded = f"CASE WHEN {KEEP} THEN {sql} END" if KEEP in self.below.columns else sql
        return self._named(guarded, sql)

    def _named(self, sql: str, plain: str) -> str:
        if sql not in self._names:
            self._names[sql] = self.new_name(written_out(plain, self.definitions))
        return self._names[sql]

    def new_name(self, text: str) -> str:
        """A name for what the text says; another one for the second of two that are written out alike."""
        name = column_name(text)
        alike = sum(one == text for one in self.legend.values())
        name = f"{name}_{alike + 1}" if alike else name
        self.legend[name] = text
        return name

    def key_column(self, name: str) -> str:
        """The name of a column that is read also of rows that WHERE removed."""
        sql = self._plain(quoted(name))
        return self._typed(self._named(sql, sql), known_type(sql, self.below))

    def _plain(self, sql: str) -> str:
        """A column by its own name, however it is written: `(k)`, `K` and k are one."""
        found = NAME.fullmatch(sql)
        if found is None:
            return sql
        wanted = (found["quoted"] or found["plain"]).replace("``", "`").lower()
        return next((quoted(name) for name in self.below.columns if name.lower() == wanted), sql)

    def key(self, sql: str) -> str:
        """The name of a key, as Spark's GROUP BY sees it: -0.0 is 0.0, every NaN is one NaN."""
        type_ = compared_type(sql, self.below)
        if type_ in ("double", "float"):
            one = f"WHEN isnan({sql}) THEN CAST('NaN' AS {type_}) WHEN {sql} = 0 THEN CAST(0 AS {type_})"
            return self._typed(self.column(f"(CASE {one} ELSE {sql} END)"), type_)
        return self._typed(self.column(f"({sql})"), type_)

    def sort_key(self, sql: str) -> str:
        """The name of an ORDER BY expression."""
        return self._typed(self._timed(sql), compared_type(sql, self.below))

    def keys(self, texts: Iterable[str]) -> tuple[str, ...]:
        """The names of keys, each once."""
        return tuple(dict.fromkeys(self.key(sql) for sql in texts))

    def row_column(self, name: str) -> str:
        """The name of a column that goes through as it is."""
        return self._typed(self._timed(quoted(name)), known_type(quoted(name), self.below))

    def _timed(self, sql: str) -> str:
        """The stream's time is there already."""
        time = self.placement.time
        is_time = time is not None and not self.placement.time_shift and self._plain(sql) == self._plain(quoted(time))
        return TIME if is_time else self.column(f"({sql})")

    def identity(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns of the stream's key."""
        return tuple(self._typed(self.column(quoted(name)), compared_type(quoted(name), self.below)) for name in names)

    def order(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns by which the stream's key breaks ties.

        Before each is a column that is false for NULL: so NULLs come first, wherever Arrow and DuckDB would put them.
        """
        types = {field.name.lower(): field.dataType for field in self.below.schema.fields}
        return tuple(self.column(sql) for name in names for sql in _in_order(quoted(name), types[name.lower()]))

    @property
    def arrival(self) -> tuple[str, ...]:
        """When a row came, to the first of the operators that passed it on."""
        passed_on = IDENTITY[0] in self.below.columns
        return tuple(self.column(name) for name in IDENTITY) if passed_on else (BATCH, PLACE)

    def condition(self, sql: str | None) -> str | None:
        return None if sql is None else self.column(f"({sql})")

    def texts(self, first: Iterable[str]) -> dict[str, str]:
        """What the columns are in the query; those that are named come first."""
        texts = {name: _without_guard(text) for text, name in self._names.items()}
        return {**{name: texts[name] for name in first if name in texts}, **texts, TIME: self.placement.time or "time"}

    def type(self, name: str) -> str:
        """The Spark type of a key."""
        return self._types[name]

    def _typed(self, name: str, type_: str) -> str:
        self._types[name] = type_
        return name

    def own(self) -> list[str]:
        """The columns of the rows below that are the query's."""
        return [name for name in self.below.columns if name not in HIDDEN]

    def rows(self, by: Iterable[str], shards: int, clocked: bool, idle: bool) -> DataFrame:
        """The kernel's rows, with their time and their shard; `clocked` if a clock is there already.

        With `idle` they tell when they came, and heartbeats do.
        """
        sql = {name: text for text, name in self._names.items()}
        shard_by = ", ".join(sql[name] for name in by)
        shard = f"pmod(hash({shard_by}), {shards})" if shard_by and shards > 1 else "0"
        columns = [f"{text} AS {name}" for name, text in sql.items()]
        columns += [f"{self.time} AS {TIME}", f"CAST({shard} AS INT) AS {SHARD}"]
        columns += [name for name in (KEEP, WHOLE, *BESIDE) if name in self.below.columns]
        columns += [f"unix_micros(CAST({self.now} AS TIMESTAMP)) AS {MOMENT}"] if idle else []
        columns += [STARTED] if idle and STARTED in self.below.columns else []
        columns += [self._clock()] if self.below.isStreaming and not clocked else []
        return self.below.selectExpr(*columns)

    def _clock(self) -> str:
        """What moves the watermark: the stream's time, or in arrival mode the micro-batch's."""
        if WATERMARK in self.below.columns:
            return WATERMARK
        if self.placement.mode == physical.Mode.EVENT_TIME:
            raise PanesError("watermark-required", f"the watermark of {self.placement.time} is lost on the way")
        return f"{shifted(self.now)} AS {WATERMARK}"

    @property
    def now(self) -> str:
        """The micro-batch's time, where nobody scripts another."""
        return NOW if NOW in self.below.columns else "current_timestamp()"

    @property
    def time(self) -> str:
        """A row's time: its time column, or in arrival mode the micro-batch's."""
        time = quoted(self.placement.time) if self.placement.time is not None else self.now
        return f"({time} - INTERVAL '0.000001' SECOND)" if self.placement.time_shift else time

    @property
    def time_type(self) -> str:
        return type_of(self.time, self.below)
