"""Whose state a checkpoint holds: written beside Spark's files when a query first starts, compared at every start."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from pyspark.sql import SparkSession

from panes.catalog import Stream, heartbeats
from panes.errors import PanesError
from panes.physical import plan as physical
from panes.physical.identity import HINT, Identity, another_query, another_version, differences, digest
from panes.physical.lineage import result_of, source_of
from panes.spark.session import settings
from panes.spark.store import StorePath
from panes.why.plan import QueryPlan
from panes.why.read_plan import query_plan

RECORD = "panes-query.json"


@dataclass(frozen=True)
class Record:
    """What a restart must agree on: the identities of its operators, as texts, and what Spark counts itself."""

    operators: list[str]
    shards: int
    heartbeats: list[str] = field(default_factory=list)  # streams that have one: each is a source of Spark's query
    streams: list[str] = field(default_factory=list)  # empty in checkpoints from before these two were kept
    query: str = ""
    plan: dict[str, Any] = field(default_factory=dict)  # what it can wait for: nothing has to agree with it

    @staticmethod
    def of(plan: physical.DataSink, operators: Sequence[Identity], streams: Sequence[Stream], shards: int) -> Record:
        texts = [one.encode() for one in operators]
        names = sorted({one.name.lower() for one in streams})
        query = json.dumps([source_of(plan), result_of(plan)], sort_keys=True)
        waits = query_plan(plan, streams, shards).document()
        return Record(texts, shards, sorted(heartbeats(streams)), names, digest(query), waits)


def plan_of(record: Record) -> QueryPlan:
    return QueryPlan.of(record.plan)


def spark_identity(plan: physical.DataSink, streams: Sequence[Stream], spark: SparkSession) -> Identity:
    """That of a query for which Spark keeps state of its own: nothing may change in it."""
    columns = {f"{one.name}.{column.name}": column.type or "" for one in streams for column in one.columns}
    named = {name: (name, type_) for name, type_ in columns.items()}
    return Identity({"query": source_of(plan), "result": result_of(plan), **settings(spark)}, named)


def read_record(folder: StorePath) -> Record | None:
    """The record of a checkpoint in which a micro-batch has begun; before that there is nothing to agree with."""
    if not began(folder) or not (folder / RECORD).exists():
        return None
    found = json.loads((folder / RECORD).read_text())
    known = {one.name for one in fields(Record)}
    if not {"operators", "shards"} <= found.keys() <= known:
        raise another_version()
    return Record(**found)


def began(folder: StorePath) -> bool:
    """Whether Spark has begun a micro-batch in this checkpoint."""
    return any(name.isdigit() for name in (folder / "spark" / "offsets").names())


def write_record(folder: StorePath, record: Record) -> None:
    """Write a record if it is another one: where a file is replaced in two steps, none is missing after a kill."""
    file, text = folder / RECORD, json.dumps(asdict(record), indent=1)
    if not file.exists() or file.read_text() != text:
        file.publish(text)


def check_record(old: Record, new: Record) -> None:
    """Refuse a checkpoint of another query or of other settings, and say what differs."""
    changes = list(dict.fromkeys(_changes(old, new)))
    if changes:
        hint = HINT
        if changes == [_shards(old, new)]:
            hint = f"Take Engine(shards={old.shards}) or none: then it is taken from the checkpoint."
        raise another_query(changes, hint)


def check_places(sink: str, old: Sequence[Record | None], new: Sequence[Record]) -> None:
    """Refuse INSERTs into one sink that have changed places: each goes on from where the one with its number was."""
    recorded = [one.query if one is not None else "" for one in old]
    for number, (before, now) in enumerate(zip(recorded, new, strict=False), 1):
        if before and before != now.query and now.query in recorded:
            was = recorded.index(now.query) + 1
            text = f"INSERT {number} into {sink} was INSERT {was} when the checkpoint was written"
            hint = "Keep the INSERTs into one sink in their order, and put a new one behind them."
            raise PanesError("state-mismatch", text, None, hint)


def _changes(old: Record, new: Record) -> Iterator[str]:
    if not old.operators and old.streams and old.streams != new.streams:
        yield f"it read {', '.join(old.streams)}, now {', '.join(new.streams)}"
    if old.shards != new.shards:
        yield _shards(old, new)
    before, now = ([Identity.decode(one) for one in each.operators] for each in (old, new))
    if len(before) != len(now):
        yield f"it had {_operators(before)}, now {_operators(now)}"
    else:
        for one, other in zip(before, now, strict=True):
            yield from differences(one, other)
    for name in sorted({*old.heartbeats, *new.heartbeats}):
        if name not in new.heartbeats:
            yield f"{name} had a heartbeat"
        elif name not in old.heartbeats:
            yield f"{name} has a new heartbeat"


def _operators(identities: Sequence[Identity]) -> str:
    """What operators there are, from the first to the last."""
    return ", ".join(str(one.depends_on.get("operator", "a query of Spark")) for one in identities) or "no operator"


def _shards(old: Record, new: Record) -> str:
    return f"shards was {old.shards}, now {new.shards}"
