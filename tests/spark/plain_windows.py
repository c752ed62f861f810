"""One query of each operator, rows to feed them, and what they give by plain definitions; for tests that kill."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from spark.input_files import at, write_file

DELAY, PACE = 10_000, 3_000  # milliseconds: how late rows are, and how much time passes from file to file
START = "unix_millis(window_start()) AS start"
QUERIES = {
    "tumbling": "SELECT k, count(*) AS n, sum(v) AS s, first(v) AS f, last(v) AS l, {start} FROM t "
    "GROUP BY tumblingwindow('ss', 7), k",
    "hopping": "SELECT k, count(*) AS n, sum(v) AS s, first(v) AS f, last(v) AS l, {start} FROM t "
    "GROUP BY hoppingwindow('ss', 10, 4), k",
    "session": "SELECT k, count(*) AS n, sum(v) AS s, first(v) AS f, last(v) AS l, {start} FROM t "
    "GROUP BY sessionwindow('ms', 1500), k",
    "count": "SELECT k, count(*) AS n, sum(v) AS s, first(v) AS f, last(v) AS l, {start} FROM t "
    "GROUP BY countwindow(5) OVER (PARTITION BY k), k",
    "state": "SELECT k, count(*) AS n, sum(v) AS s, first(v) AS f, last(v) AS l, {start} FROM t "
    "GROUP BY statewindow(v % 3 = 0, v % 4 = 0) OVER (PARTITION BY k), k",
    "sliding": "SELECT k, count(*) AS n, sum(v) AS s, first(v) AS f, last(v) AS l, "
    "unix_millis(window_trigger()) AS start FROM t GROUP BY slidingwindow('ms', 2500) OVER (PARTITION BY k), k",
    "stateful": "SELECT k, row_number() OVER (PARTITION BY k) AS n, acc_sum(v) OVER (PARTITION BY k) AS s, "
    "lag(v, 1, -1L) OVER (PARTITION BY k) AS f, v AS l, unix_millis(ts) AS start FROM t",
    "over": "SELECT k, row_number() OVER w AS n, sum(v) OVER w AS s, lag(v, 1, -1L) OVER w AS f, v AS l, "
    "unix_millis(ts) AS start FROM t WINDOW w AS (PARTITION BY k ORDER BY ts)",
    "changes": "SELECT k, row_number() OVER w AS n, sum(v) OVER w AS s, lag(v, 1, -1L) OVER w AS f, v AS l, "
    "unix_millis(ts) AS start FROM t WINDOW w AS (PARTITION BY k ORDER BY ts) EMIT CHANGES",
}
TIME_WINDOWS, ORDERED = ("tumbling", "hopping", "session", "count"), ("state", "sliding", "stateful", "over", "changes")


class Row(NamedTuple):
    time: int
    k: str
    v: int


class Out(NamedTuple):
    """A window: its start, and what its aggregates are."""

    k: str
    n: int
    s: int
    f: int
    l: int  # noqa: E741
    start: int


def made(choose: random.Random, files: int) -> list[list[Row]]:
    """So many files of rows."""
    return list(islice(endless(choose), files))


def endless(choose: random.Random) -> Iterator[list[Row]]:
    """Files of rows, out of order by less than the delay; no two rows have one time."""
    used: set[int] = set()
    latest = 0
    for number in count():
        rows = []
        for _ in range(choose.randint(3, 9)):
            time_ = max(latest - DELAY, number * PACE - choose.randrange(DELAY + PACE), 0)
            while time_ in used:
                time_ += 1
            used.add(time_)
            rows.append(Row(time_, choose.choice("abc"), choose.randrange(1000)))
        latest = max(latest, *(row.time for row in rows))
        yield rows


def window(rows: Iterable[Row], start: int) -> Out:
    rows = sorted(rows)
    return Out(rows[0].k, len(rows), sum(row.v for row in rows), rows[0].v, rows[-1].v, start)


def by_key(rows: list[Row]) -> Iterator[list[Row]]:
    for k in sorted({row.k for row in rows}):
        yield sorted(row for row in rows if row.k == k)


def hopping(rows: list[Row], size: int, hop: int) -> Iterator[Out]:
    for own in by_key(rows):
        windows = defaultdict(list)
        for row in own:
            first = (row.time - size) // hop * hop + hop
            for start in range(first, row.time + 1, hop):
                windows[start].append(row)
        yield from (window(held, start) for start, held in windows.items())


def sessions(rows: list[Row], gap: int) -> Iterator[Out]:
    for own in by_key(rows):
        held: list[Row] = []
        for row in own:
            if held and row.time - held[-1].time > gap:
                yield window(held, held[0].time)
                held = []
            held.append(row)
        yield window(held, held[0].time)


def counts(rows: list[Row], count: int) -> Iterator[Out]:
    for own in by_key(rows):
        for first in range(0, len(own), count):
            held = own[first : first + count]
            yield window(held, held[0].time)


def states(rows: list[Row]) -> Iterator[Out]:
    for own in by_key(rows):
        held: list[Row] = []
        for row in own:
            if held or row.v % 3 == 0:
                held.append(row)
                if len(held) > 1 and row.v % 4 == 0:
                    yield window(held, held[0].time)
                    held = []
        if held:
            yield window(held, held[0].time)


def sliding(rows: list[Row], lookback: int) -> Iterator[Out]:
    for own in by_key(rows):
        for row in own:
            yield window([one for one in own if row.time - lookback <= one.time <= row.time], row.time)


def running(rows: list[Row]) -> Iterator[Out]:
    """Each row with its number, the sum so far, and the value before."""
    for own in by_key(rows):
        for number, row in enumerate(own, 1):
            before = own[number - 2].v if number > 1 else -1
            yield Out(row.k, number, sum(one.v for one in own[:number]), before, row.v, row.time)


def expected(rows: list[Row]) -> dict[str, list[Out]]:
    return {
        "tumbling": sorted(hopping(rows, 7_000, 7_000)),
        "hopping": sorted(hopping(rows, 10_000, 4_000)),
        "session": sorted(sessions(rows, 1_500)),
        "count": sorted(counts(rows, 5)),
        "state": sorted(states(rows)),
        "sliding": sorted(sliding(rows, 2_500)),
        **dict.fromkeys(("stateful", "over", "changes"), sorted(running(rows))),
    }


@dataclass(frozen=True)
class ScriptFolder:
    """A script in a folder with its input, its sinks and its checkpoint."""

    folder: Path
    kinds: tuple[str, ...]

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def feed(self, number: int, rows: list[Row]) -> None:
        write_file(self.folder / "in", number, ({"ts": at(row.time), "k": row.k, "v": row.v} for row in rows))

    def write(self, files: list[list[Row]]) -> None:
        for number, rows in enumerate(files):
            self.feed(number, rows)
        self.write_script()

    def write_script(self) -> None:
        lines = [
            "CREATE STREAM t (ts TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL 10 SECONDS)",
            f"WITH (connector = 'json', path = '{self.folder}/in', maxFilesPerTrigger = '1');",
        ]
        for name in self.kinds:
            changelog = ", changelog = 'rows'" if name == "changes" else ""
            lines.append(f"CREATE SINK {name} WITH (connector = 'parquet', path = '{self.folder}/{name}'{changelog});")
            lines.append(f"INSERT INTO {name} {QUERIES[name].format(start=START)};")
        (self.folder / "script.sql").write_text("\n".join(lines), encoding="utf-8")

    def begun(self) -> int:
        """How many micro-batches have begun, over all queries."""
        return sum(1 for log in self.checkpoint.glob("*/spark/offsets/*") if log.name.isdigit())

    def under_way(self) -> int:
        """How many queries are inside a micro-batch."""
        done = sum(1 for log in self.checkpoint.glob("*/spark/commits/*") if log.name.isdigit())
        return self.begun() - done

    def ending(self) -> bool:
        return any(self.checkpoint.glob("*/panes-control/ended.json"))

    def held(self, spark: SparkSession, name: str) -> list[Out]:
        """What the sink's rows add up to; those of a changelog come and go."""
        held: Counter[Out] = Counter()
        for row in spark.read.parquet(str(self.folder / name)).collect():
            values = row.asDict()
            goes = values.pop("_change_type", "insert") in ("delete", "update_preimage")
            held[Out(**values)] += -1 if goes else 1
        assert all(count >= 0 for count in held.values())
        return sorted(held.elements())
