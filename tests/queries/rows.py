"""Random rows of one wide stream, of a changelog and of tables: all types, their extremes, NULL, NaN, -0.0 and ''."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from .choices import Choices
from .double.types import arrow_type

Row = dict[str, Any]

NEW_YEAR, BEFORE, LEAP = datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 1)
PAIRS = [(1, "x"), (1, None), (None, ""), (2, "x")]
POOLS: Mapping[str, tuple[str, Sequence[Any]]] = {
    "k": ("string", ["a", "b", "", None]),
    "j": ("int", [1, 2, None]),
    "n": ("int", [0, 1, -1, 2, 3, 7, None]),
    "v": ("double", [0.0, 1.5, -2.25, -0.0, 1e6, None, math.nan, math.inf, -math.inf]),
    "w": ("double", [0.0, 1.5, -2.25, 0.1, 1e3, None]),
    "b": ("bigint", [0, 1, -1, 2**63 - 1, -(2**63), 2**62, None]),
    "d": ("decimal(10,2)", [Decimal("0.00"), Decimal("1.25"), Decimal("-99999999.99"), Decimal("12345678.90"), None]),
    "c": ("boolean", [True, False, None]),
    "e": ("string", ["", "x", "X", "ä", "xy", None]),
    "day": ("date", [date(1970, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31), None]),
    "moment": ("timestamp", [NEW_YEAR.replace(tzinfo=UTC), BEFORE.replace(tzinfo=UTC), LEAP.replace(tzinfo=UTC), None]),
    "z": ("timestamp_ntz", [NEW_YEAR, BEFORE, LEAP, None]),
    "st": ("struct<a:int,b:string>", [*({"a": a, "b": b} for a, b in PAIRS), None]),
    "arr": ("array<int>", [[1, 2], [], [None], [1], None]),
}
START = datetime(1969, 12, 31, 23, 59, 50, tzinfo=UTC)
FAR = [datetime(year, 6, 1, tzinfo=UTC) for year in (1, 1582, 1900, 2300, 9999)]
TABLE = {"k": "string", "size": "int", "label": "string"}  # what streams are joined with


@dataclass(frozen=True)
class Stream:
    """How the rows' stream is declared; `time` is its type, or None for arrival mode."""

    time: str | None = "timestamp"
    delay: int = 0  # milliseconds
    key: tuple[str, ...] = ("id",)
    changelog: bool = False
    sequence: bool = False
    preimages: str = "maybe"
    ttl: int | None = None  # seconds

    @property
    def types(self) -> dict[str, str]:
        first = {"_change_type": "string"} if self.changelog else {}
        return {
            **first,
            "ts": self.time or "timestamp",
            "id": "bigint",
            **({"seq": "bigint"} if self.sequence else {}),
            **{name: type_ for name, (type_, _) in POOLS.items()},
        }

    @property
    def columns(self) -> dict[str, str]:
        """Those that a query names."""
        return {name: type_ for name, type_ in self.types.items() if name != "_change_type"}

    def options(self, streaming: bool) -> dict[str, Any]:
        timed = {"time": "ts"} if self.time is not None and not self.changelog else {}
        with_delay = timed and (streaming or self.ttl is not None)
        delay = {"watermark": f"{self.delay} milliseconds"} if with_delay else {}
        changes = {"changelog": True, "preimages": self.preimages} if self.changelog else {}
        changes |= {"sequence": "seq"} if self.sequence else {}
        ttl = {"state_ttl": f"{self.ttl} seconds"} if self.ttl is not None else {}
        return {**timed, **delay, "key": list(self.key), **changes, **ttl}

    def table(self, rows: Sequence[Row]) -> pa.Table:
        schema = pa.schema([(name, arrow_type(type_)) for name, type_ in self.types.items()])
        return pa.Table.from_pylist(list(rows), schema)


def stream_rows(c: Choices, stream: Stream) -> list[Row]:
    """Rows in the order of their arrival, none of them late; no time twice, or where a key tells rows apart, ties."""
    count = c.pick([6, 12, 3, 20, 1, 30])
    step = c.pick([1000, 1000, 250, 7000])
    start = c.pick([START, START, START, START, *FAR]) if c.chance(20) else START
    ties = stream.key == ("id",) and c.chance(25)
    spread = max(1, count // 3) if ties else 3 * count
    places = [c.below(spread) for _ in range(count)] if ties else c.some(range(spread), count, count)
    times = [
        start + timedelta(milliseconds=place * step, microseconds=c.pick([0, 0, 0, 1, 999]) if not ties else 0)
        for place in places
    ]
    arrived = [time + timedelta(milliseconds=c.below(stream.delay + 1)) for time in times]
    if stream.time == "timestamp_ntz":
        times = [time.replace(tzinfo=None) for time in times]
    order = sorted(range(count), key=lambda at: arrived[at])
    ids = c.some(range(count), count, count)
    rows = [{"ts": times[at], "id": ids[at], **values(c)} for at in order]
    if stream.time is not None and c.chance(10):
        rows.insert(c.below(count + 1), {"ts": None, "id": count, **values(c)})
    return rows


def values(c: Choices) -> Row:
    return {name: c.pick(pool) for name, (_, pool) in POOLS.items()}


def change_rows(c: Choices, stream: Stream) -> list[Row]:
    """Changes that fit each other: inserts of new keys, updates and deletes of those that are there.

    Where nothing is promised of preimages, some are missing; with a sequence, changes come late and in any order.
    """
    live: dict[int, Row] = {}
    changes: list[Row] = []
    for number in range(c.pick([4, 10, 2, 20])):
        what = c.pick(["insert", "insert", "update", "delete"]) if live else "insert"
        if what == "insert":
            free = [id_ for id_ in range(number + 1) if id_ not in live]
            row = {"ts": START + timedelta(seconds=c.below(10)), "id": c.pick(free), **values(c)}
            changes.append({"_change_type": "insert", **row, "seq": number})
            live[row["id"]] = row
            continue
        old = live.pop(c.pick(sorted(live)))
        if what == "delete":
            changes.append({"_change_type": "delete", **old, "seq": number})
            continue
        new = {**old, **{name: c.pick(POOLS[name][1]) for name in c.some(list(POOLS), 1, 4)}}
        alone = stream.preimages == "maybe" and c.chance(30)
        changes += [] if alone else [{"_change_type": "update_preimage", **old, "seq": number}]
        changes.append({"_change_type": "update_postimage", **new, "seq": number})
        live[new["id"]] = new
    if stream.sequence and c.chance(60):
        changes = [changes.pop(min(c.below(3), len(changes) - 1)) for _ in range(len(changes))]
    return changes


def table_rows(c: Choices) -> pa.Table:
    """A table: a label and a size for most keys, sometimes two for one."""
    rows = [
        {"k": k, "size": c.below(3), "label": c.pick(["p", "q", None])}
        for k in c.some(["a", "b", "", None, "z", "a"], 1, 6)
    ]
    return pa.Table.from_pylist(rows, pa.schema([(name, arrow_type(type_)) for name, type_ in TABLE.items()]))


@dataclass(frozen=True)
class Cut:
    """Micro-batches: how many rows are in each partition of each; after which the query restarts; how many shards."""

    sizes: tuple[tuple[int, ...], ...]
    restarts: frozenset[int] = frozenset()
    shards: int = 1


def cut(c: Choices, rows: Sequence[Row]) -> Cut:
    """Partitions follow each other, so that rows arrive in their order."""
    left = len(rows)
    sizes: list[tuple[int, ...]] = []
    ends = sorted({c.below(left) for _ in range(c.below(4))} | {left}) if left else []
    place = 0
    for end in ends:
        taken, place = end - place, end
        first = c.below(taken + 1)
        second = taken - first if c.chance(70) else c.below(taken - first + 1)
        parts = (first, second, taken - first - second)
        sizes.append(tuple(size for size in parts if size) if c.chance(60) else parts)
    if c.chance(20):
        sizes.insert(c.below(len(sizes) + 1), (0,))
    restarts = frozenset([c.below(len(sizes))]) if sizes and c.chance(40) else frozenset()
    return Cut(tuple(sizes), restarts, c.pick([1, 2, 3]))
