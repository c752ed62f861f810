"""Random queries, stage by stage: each has its SQL and, where there is one, its oracle."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from .calls import Stateful, aggregate, stateful
from .choices import Choices
from .definitions import SECOND, Kind
from .grammar import Scope, condition, expression
from .oracle import joined_rows, plain_rows, stateful_rows, window_rows
from .rows import TABLE

Oracle = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True)
class Shape:
    """A query that another may read.

    `time` is its time column, `shift` if that is the end of a window; `ordered` if its rows have a total order;
    `bounds` are columns that hold a window's bound; `unique` if no two rows have a time. An oracle takes the stream's
    rows; without one, streams and batches are compared with each other.
    """

    select: str
    columns: Mapping[str, str]
    oracle: Oracle | None
    time: str | None = None
    shift: bool = False
    ordered: bool = True
    unique: bool = True
    key: tuple[str, ...] = ()  # of the stream, which breaks ties
    bounds: tuple[str, ...] = ()
    name: str = ""  # what stands in FROM, if not the query itself
    ctes: tuple[str, ...] = ()
    depth: int = 0
    views: Mapping[str, str] = field(default_factory=dict)
    lags: bool = False  # rows wait for the watermark before they are in a changelog
    guessed: bool = False  # the oracle leaves a column open, which nobody above may read

    @property
    def scope(self) -> Scope:
        return Scope(self.columns)

    @property
    def source(self) -> str:
        return self.name or f"({self.select})"

    @property
    def keys(self) -> list[str]:
        """Columns to group by."""
        keys = ("k", "j", "c", "e", "day", "v", "st", "b", "d", "label", "size")
        return [name for name in self.columns if name in keys or name.startswith("key")]

    @property
    def sql(self) -> str:
        return f"WITH {', '.join(self.ctes)} {self.select}" if self.ctes else self.select


def named(c: Choices, shape: Shape) -> Shape:
    """Sometimes a query's text stands in WITH, or in a view."""
    if not c.chance(30):
        return shape
    if c.chance(30) and not shape.ctes:
        name = f"view{shape.depth}"
        return replace(shape, name=name, views={**shape.views, name: shape.select})
    name = f"cte{shape.depth}"
    return replace(shape, name=name, ctes=(*shape.ctes, f"{name} AS ({shape.select})"))


def then(below: Shape, step: Oracle | None) -> Oracle | None:
    before = below.oracle
    return None if before is None or step is None or below.guessed else lambda rows: step(before(rows))


def filtered(c: Choices, below: Shape, percent: int = 35) -> str | None:
    return condition(c, below.scope, 2) if c.chance(percent) else None


def where(text: str | None) -> str:
    return f" WHERE {text}" if text is not None else ""


def plain(c: Choices, below: Shape) -> Shape:
    """A sub-query of columns, expressions and a condition."""
    kept = {
        name: type_ for name, type_ in below.columns.items() if name in ("ts", "id", "k", below.time) or c.chance(85)
    }
    types = [c.pick(["int", "string", "double", "boolean"]) for _ in range(c.below(3))]
    made = {f"p{below.depth}_{i}": (expression(c, below.scope, type_), type_) for i, type_ in enumerate(types)}
    items = [*kept, *(f"{sql} AS {name}" for name, (sql, _) in made.items())]
    test = filtered(c, below, 50)
    select = f"SELECT {', '.join(items)} FROM {below.source}{where(test)}"
    columns = {**kept, **{name: type_ for name, (_, type_) in made.items()}}
    oracle = then(below, lambda rows: plain_rows(rows, items, test))
    return replace(below, select=select, columns=columns, oracle=oracle, name="", depth=below.depth + 1)


def with_table(c: Choices, below: Shape, table: pa.Table, once: bool = False) -> Shape:
    """What Spark does between a stream and a table, or with a row's array; `once` if no row may come out twice."""
    single = len(set(table["k"].to_pylist())) == table.num_rows
    assert single or not once
    kept = [name for name in below.columns if name in ("ts", "id") or c.chance(80)]
    kept += ["k"] if "k" not in kept else []
    items = ", ".join(f"t.{name}" for name in kept)
    joined = {name: type_ for name, type_ in TABLE.items() if name != "k"}
    match c.below(4 if once else 5):
        case 0 | 1:
            how = c.pick(["JOIN", "LEFT JOIN"])
            columns, ordered = joined, below.ordered and single
            select = f"SELECT {items}, u.size, u.label FROM t {how} lookup u ON t.k = u.k"
        case 2:
            columns, ordered = {}, below.ordered
            select = f"SELECT {items} FROM t WHERE t.k IN (SELECT k FROM lookup WHERE k IS NOT NULL)"
        case 3:
            columns, ordered = {}, below.ordered
            select = (
                f"SELECT {items} FROM t WHERE {c.pick(['', 'NOT '])}EXISTS (SELECT 1 FROM lookup u WHERE u.k = t.k)"
            )
        case _:
            columns, ordered = {"size": "int"}, False
            select = f"SELECT {items}, size FROM t LATERAL VIEW explode(arr) x AS size"
    inner = replace(below, select=select, columns={name: below.columns[name] for name in kept} | columns, name="")
    test = filtered(c, inner)
    outer = f"SELECT * FROM {inner.source}{where(test)}" if test is not None else select
    in_rows = select.replace("LATERAL VIEW explode(arr) x AS size", ", unnest(t.arr) AS x(size)")
    oracle = then(below, lambda rows: plain_rows(joined_rows(rows, in_rows, table), list(inner.columns), test))
    return replace(inner, select=outer, oracle=oracle, ordered=ordered, unique=False, depth=below.depth + 1)


def with_stateful(c: Choices, below: Shape, inner: bool) -> Shape:
    """Rows with stateful calls; WHERE may have one too. `inner` keeps what another query needs."""
    assert below.ordered, "a call that sees rows in order is not defined where the order is not total"
    calls = {f"s{below.depth}_{i}": stateful(c, below.scope, below.keys) for i in range(1 + c.below(3))}
    kept = ["ts", "id"] if inner else []
    kept += [name for name in c.some(list(below.columns), 1, 4) if name not in kept]
    test = filtered(c, below)
    if test is not None and c.chance(30):
        call = c.pick(sorted(calls))
        test = f"({{{call}}} IS {c.pick(['NOT NULL', 'NULL'])} OR {test})"
    in_sql = test.format(**{name: one.sql for name, one in calls.items()}) if test is not None else None
    in_rows = test.format(**{name: name for name in calls}) if test is not None else None
    items = [*kept, *(f"{one.sql} AS {name}" for name, one in calls.items())]
    outer = [*kept, *calls]
    return replace(
        below,
        select=f"SELECT {', '.join(items)} FROM {below.source}{where(in_sql)}",
        columns={**{name: below.columns[name] for name in kept}, **{name: one.type for name, one in calls.items()}},
        oracle=then(below, lambda rows: plain_rows(stateful_rows(rows, calls), outer, in_rows)),
        name="",
        depth=below.depth + 1,
    )


# ── Windows ───────────────────────────────────────────────────────────────────────────────────────────────────────

TIMED = ("tumblingwindow", "hoppingwindow", "sessionwindow")


def with_window(c: Choices, below: Shape, timed: bool = False, inner: bool = False) -> Shape:
    """A window with aggregates, or its rows as they are; `timed` if it must be one of time."""
    count = 1 + c.below(2) if below.ordered and c.chance(15) else 0
    nested = {f"nested{i}": stateful(c, below.scope, below.keys) for i in range(count)}
    below = _with_columns(below, nested)
    own = () if timed or not below.ordered else ("countwindow", "slidingwindow", "statewindow")
    name = c.pick((*TIMED, *own) if below.time is not None else ("countwindow", "statewindow"))
    kind, call = _window_call(c, below, name)
    test = filtered(c, below)
    keys = {f"key{below.depth}_{i}": sql for i, sql in enumerate(c.some(below.keys, 0, 2))}
    if name not in TIMED:
        partition = c.keys(below.keys, 0, 2)
        when = condition(c, below.scope, 1) if name == "slidingwindow" and c.chance(35) else None
        call = replace(call, partition=tuple(partition), when=when)
    bounds = {"ws": "window_start()", "we": "window_end()"}
    bounds |= {"wt": "window_trigger()"} if name == "slidingwindow" else {}
    bounds = bounds if below.time is not None else {}
    if below.ordered and not inner and not nested and c.chance(12):
        return _raw(c, below, kind, call, test)
    calls = {f"a{below.depth}_{i}": aggregate(c, below.scope, below.ordered) for i in range(1 + c.below(3))}
    chosen = {"we": bounds["we"]} if inner else {}
    chosen |= {f"{one}{below.depth}": bounds[one] for one in c.some(list(bounds), 0, 2)}
    having = _having(c) if c.chance(25) else None
    items = [f"{sql} AS {name}" for name, sql in keys.items()]
    items += [f"{one.sql} AS {name}" for name, one in calls.items()] + [
        f"{one} AS {name}" for name, one in chosen.items()
    ]
    group = ", ".join([call.sql, *keys.values()])
    texts = {name: one.duck for name, one in calls.items()}
    time_type = below.columns[below.time or "ts"]
    columns = {name: below.columns[sql] for name, sql in keys.items()} | {name: one.type for name, one in calls.items()}
    oracle = then(
        below,
        lambda rows: window_rows(rows, below.time or "ts", below.shift, kind, call, test, keys, texts, chosen, having),
    )
    select = f"SELECT {', '.join(items)} FROM {below.source}{where(test)} GROUP BY {group}"
    for column, one in nested.items():
        select = re.sub(rf"\b{column}\b", one.sql, select)
    return Shape(
        select + (f" HAVING {having}" if having else ""),
        {**columns, **dict.fromkeys(chosen, time_type)},
        oracle,
        time="we" if name in TIMED and inner else None,
        shift=True,
        ordered=False,
        unique=False,
        bounds=tuple(chosen) if name in TIMED else (),
        ctes=below.ctes,
        views=below.views,
        depth=below.depth + 1,
        lags=bool(nested),
        guessed=None in texts.values(),
    )


def _with_columns(below: Shape, nested: Mapping[str, Stateful]) -> Shape:
    """Stateful calls that may stand wherever a column may; they see all rows, also those that WHERE removes."""
    if not nested:
        return below
    columns = {**below.columns, **{name: one.type for name, one in nested.items()}}
    return replace(below, columns=columns, oracle=then(below, lambda rows: stateful_rows(rows, nested)))


@dataclass(frozen=True)
class WindowCall:
    """The call in GROUP BY."""

    text: str
    partition: tuple[str, ...] = ()
    when: str | None = None
    open: str | None = None
    emit: str | None = None

    @property
    def sql(self) -> str:
        keys = f"PARTITION BY {', '.join(self.partition)}" if self.partition else ""
        inside = f"{keys} {f'WHEN {self.when}' if self.when else ''}".strip()
        return f"{self.text} OVER ({inside})" if inside else self.text


def _window_call(c: Choices, below: Shape, name: str) -> tuple[Kind, WindowCall]:
    seconds = [4, 2, 10, 1, 7]
    match name:
        case "tumblingwindow" | "sessionwindow":
            unit, scale = c.pick(
                [("ss", SECOND), ("ss", SECOND), ("ms", 1000), ("mi", 60 * SECOND), ("hh", 3600 * SECOND)]
            )
            size = c.pick(seconds) * (1 if unit != "ms" else 500)
            if name == "sessionwindow":
                return Kind(name, (size * scale,)), WindowCall(f"{name}('{unit}', {size})")
            if c.chance(10):
                return _days(c, below, name)
            offset, option = _offset(c, size * scale)
            return Kind(name, (size * scale, offset)), WindowCall(f"{name}('{unit}', {size}{option})")
        case "hoppingwindow":
            if c.chance(10):
                return _days(c, below, name)
            size, hop = c.pick(seconds), c.pick([2, 1, 3, 5])
            offset, option = _offset(c, hop * SECOND)
            numbers = (size * SECOND, hop * SECOND, offset)
            return Kind(name, numbers), WindowCall(f"{name}('ss', {size}, {hop}{option})")
        case "countwindow":
            count, every = c.pick([3, 1, 2, 5]), c.pick([None, None, 1, 2, 4])
            text = f"{name}({count})" if every is None else f"{name}({count}, {every})"
            return Kind(name, (count, every)), WindowCall(text)
        case "slidingwindow":
            back, ahead = c.pick([3, 0, 1, 10]), c.pick([None, None, 0, 2, 5])
            text = f"{name}('ss', {back})" if ahead is None else f"{name}('ss', {back}, {ahead})"
            return Kind(name, (back * SECOND, None if ahead is None else ahead * SECOND)), WindowCall(text)
        case _:
            open_, emit = condition(c, below.scope, 1), condition(c, below.scope, 1)
            return Kind("statewindow"), WindowCall(f"{name}({open_}, {emit})", open=open_, emit=emit)


def _offset(c: Choices, hop: int) -> tuple[int, str]:
    """An offset below the hop, and how it is written."""
    offset = c.pick([500, -500, 1_000, -1_500, 4_000]) * 1000 if c.chance(30) else 0
    if not 0 < abs(offset) < hop:
        return 0, ""
    return offset, f", offset => INTERVAL {offset // 1000} MILLISECONDS"


def _days(c: Choices, below: Shape, name: str) -> tuple[Kind, WindowCall]:
    """Windows of days, of a zone where rows tell instants."""
    size, hop = c.pick([1, 2, 3]), c.pick([1, 2])
    hours = c.pick([0, 8, -5]) if c.chance(50) else 0
    zoned = below.columns[below.time or "ts"] == "timestamp"
    zone = c.pick(["Europe/Berlin", "America/New_York", "Asia/Kolkata"]) if zoned and c.chance(60) else None
    options = f", offset => INTERVAL {hours} HOURS" if hours else ""
    options += f", zone => '{zone}'" if zone is not None else ""
    lengths = (size,) if name == "tumblingwindow" else (size, hop)
    numbers = tuple(length * 86_400 * SECOND for length in lengths)
    written = ", ".join(map(str, lengths))
    return Kind(name, (*numbers, hours * 3600 * SECOND), zone), WindowCall(f"{name}('dd', {written}{options})")


def _having(c: Choices) -> str:
    return c.pick(["count(*) > 1", "count(*) < 3", "count(*) <> 2"])


def _raw(c: Choices, below: Shape, kind: Kind, call: WindowCall, test: str | None) -> Shape:
    """A window's rows as they are."""
    kept = list(below.columns)
    select = f"SELECT * FROM {below.source}{where(test)} GROUP BY {call.sql}"
    oracle = then(
        below, lambda rows: window_rows(rows, below.time or "ts", below.shift, kind, call, test, {}, None, {}, None)
    )
    columns = {name: below.columns[name] for name in kept}
    return replace(
        below, select=select, columns=columns, oracle=oracle, time=None, ordered=False, unique=False, bounds=(), name=""
    )
