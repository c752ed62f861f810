"""Whose state a checkpoint holds: written beside Spark's files when a query first starts, compared at every start."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from panes import explain
from panes.catalog import Stream, heartbeats
from panes.errors import PanesError
from panes.physical import plan as physical
from panes.physical.explain import rows

RECORD = "panes-query.json"


@dataclass(frozen=True)
class Record:
    """What a restart must agree on. `plan` is the one to compare, `shown` the one to read."""

    plan: str
    shown: list[str]
    columns: dict[str, str]
    shards: int
    time_zone: str
    ansi: str
    heartbeats: list[str] = field(default_factory=list)  # streams that have one: each is a source of Spark's query

    @staticmethod
    def of(plan: physical.DataSink, streams: Sequence[Stream], shards: int, spark: SparkSession) -> Record:
        columns = {f"{one.name}.{column.name}": column.type or "" for one in streams for column in one.columns}
        zone = spark.conf.get("spark.sql.session.timeZone") or ""
        ansi = spark.conf.get("spark.sql.ansi.enabled") or ""
        return Record(repr(plan), list(_nodes(rows(plan))), columns, shards, zone, ansi, sorted(heartbeats(streams)))


def _nodes(row: explain.Row) -> Iterator[str]:
    """A line for each node of a plan, top to bottom."""
    yield f"{row.node} ({explain.info_text(row.info)})"
    for below in row.inputs:
        yield from _nodes(below)


def read_record(folder: Path) -> Record | None:
    """The record of a checkpoint in which a micro-batch has begun; before that there is nothing to agree with."""
    if not began(folder) or not (folder / RECORD).exists():
        return None
    return Record(**json.loads((folder / RECORD).read_text(encoding="utf-8")))


def began(folder: Path) -> bool:
    """Whether Spark has begun a micro-batch in this checkpoint."""
    return any(log.name.isdigit() for log in (folder / "spark" / "offsets").glob("*"))


def write_record(folder: Path, record: Record) -> None:
    hidden = folder / f".{RECORD}"
    hidden.write_text(json.dumps(asdict(record), indent=1), encoding="utf-8")
    hidden.replace(folder / RECORD)


def check_record(old: Record, new: Record) -> None:
    """Refuse a checkpoint of another query or of other settings, and say what differs."""
    changes = list(_changes(old, new))
    if changes:
        hint = "Go back to the old query and settings, or start with a new checkpoint."
        if changes == [_shards(old, new)]:
            hint = f"Take Engine(shards={old.shards}) or none: then it is taken from the checkpoint."
        raise PanesError("state-mismatch", f"the checkpoint belongs to another query: {'; '.join(changes)}", None, hint)


def _changes(old: Record, new: Record) -> Iterator[str]:
    if old.plan != new.plan:
        yield _query(old.shown, new.shown)
    for name in old.columns.keys() & new.columns.keys():
        if old.columns[name] != new.columns[name]:
            yield f"{name} was {old.columns[name]}, now {new.columns[name]}"
    if old.shards != new.shards:
        yield _shards(old, new)
    if old.time_zone != new.time_zone:
        yield f"time zone was {old.time_zone}, now {new.time_zone}"
    if old.ansi != new.ansi:
        yield f"ANSI mode was {old.ansi}, now {new.ansi}"
    for name in sorted({*old.heartbeats, *new.heartbeats}):
        if name not in new.heartbeats:
            yield f"{name} had a heartbeat"
        elif name not in old.heartbeats:
            yield f"{name} has a new heartbeat"


def _shards(old: Record, new: Record) -> str:
    return f"shards was {old.shards}, now {new.shards}"


def _query(old: Sequence[str], new: Sequence[str]) -> str:
    """The first nodes that only one of two plans has.

    >>> _query(["Project (a)", "DataSource (t)"], ["Project (a)", "Filter (a > 0)", "DataSource (t)"])
    'its plan has a new Filter (a > 0)'
    >>> _query(["Project (a)", "DataSource (t)"], ["Project (b)", "DataSource (t)"])
    'its plan had Project (a), now Project (b)'
    """
    before = next((one for one in old if one not in new), None)
    now = next((one for one in new if one not in old), None)
    match before, now:
        case None, None:
            return "its plan is another"
        case None, _:
            return f"its plan has a new {now}"
        case _, None:
            return f"its plan had {before}"
        case _:
            return f"its plan had {before}, now {now}"
