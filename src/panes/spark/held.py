"""What the queries of a checkpoint wait for: facts from its record, Spark's logs and the state of its operators."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from panes.physical.identity import Identity
from panes.spark.counters import SHIFT
from panes.spark.micro_batches import begun, committed
from panes.spark.places import Place, places
from panes.spark.record import RECORD, Record, plan_of, read_record
from panes.spark.state_report import OperatorState, queries, state_of
from panes.spark.store import StorePath, store_path
from panes.why.facts import Operator, Partition, Query, State
from panes.why.identity_plan import operator_of, plan_of_identities
from panes.why.plan import QueryPlan

MS = 1_000
SHIFT_MS = SHIFT // MS


def held(checkpoint: str | Path, spark: SparkSession) -> Iterator[Query]:
    """The queries of a script's checkpoint, or the one that Spark's `writeStream` has written."""
    states = {name: list(found) for name, found in groupby(state_of(checkpoint, spark), lambda one: one.query)}
    whole = store_path(checkpoint, spark)
    for name, folder in queries(whole):
        record = read_record(whole / name) if name and (whole / name / RECORD).exists() else None
        yield _query(name, folder, record, states.get(name, []))


def _query(name: str, folder: StorePath, record: Record | None, states: Sequence[OperatorState]) -> Query:
    plan, operators = _operators(record, states)
    last = committed(folder)[-1]
    metadata = json.loads((folder / "offsets" / str(last)).read_text().splitlines()[1])
    by_rows = _watermark(folder, last, metadata, bool(plan.operators))
    clock = plan.clock
    return Query(
        name,
        State.STOPPED,
        plan,
        batch=last,
        batch_at=metadata["batchTimestampMs"] / 1000,
        watermark=max((one for one in (by_rows, *_idle_clocks(states)) if one is not None), default=None),
        latest=None if by_rows is None or clock is None or clock.delay is None else by_rows + clock.delay,
        operators=operators,
        partitions=tuple(_partitions(folder)),
    )


def _watermark(folder: StorePath, last: int, metadata: dict[str, Any], shifted: bool) -> int | None:
    """The one that the next micro-batch has, in microseconds."""
    lines = (folder / "commits" / str(last)).read_text().splitlines()[1:]
    known = json.loads(lines[0]) if lines else {}
    millis = int(known.get("nextBatchWatermarkMs") or metadata["batchWatermarkMs"])
    if millis <= 0:
        return None
    return (millis - SHIFT_MS if shifted else millis) * MS


def _idle_clocks(states: Sequence[OperatorState]) -> Iterator[int | None]:
    """How far the clock of an idle stream has gone without rows, which Spark does not know."""
    for state in states:
        yield from (shard.quiet["clock"] for shard in state.shards.values() if shard.quiet is not None)


def _operators(record: Record | None, states: Sequence[OperatorState]) -> tuple[QueryPlan, tuple[Operator, ...]]:
    """The operators in the order of the plan, each with the state that is its own by its identity."""
    if record is None or not record.plan:
        plan = plan_of_identities([one.identity for one in states])
        numbered = [(operator_of(number, one.identity.depends_on), one) for number, one in enumerate(states)]
        return plan, tuple(_held(Operator(one), state) for one, state in numbered if one is not None)
    plan, left = plan_of(record), list(states)
    found = []
    for text, one in zip(record.operators, plan.operators, strict=False):
        state = next((state for state in left if state.identity == Identity.decode(text)), None)
        if state is not None:
            left.remove(state)
        found.append(_held(Operator(one), state))
    return plan, tuple(found)


def _held(one: Operator, state: OperatorState | None) -> Operator:
    """What an operator's shards hold, put together; one without state has not begun."""
    shards = list(state.shards.values()) if state is not None else []
    gauges = [shard.gauges for shard in shards]
    return Operator(
        one.plan,
        open_windows=sum(of.get("open_windows", 0) for of in gauges),
        oldest=min((of["oldest_open_window"] for of in gauges if "oldest_open_window" in of), default=None),
        waiting=sum(shard.waiting_rows for shard in shards),
        kept=sum(of.get("buffered_rows", 0) for of in gauges),
        groups=sum(of.get("groups", 0) for of in gauges),
        due=min((_due(shard.timer) for shard in shards if shard.timer is not None), default=None),
    )


def _due(timer: int) -> int:
    return (timer - SHIFT_MS) * MS


def _partitions(folder: StorePath) -> Iterator[Partition]:
    """The partitions of topics, each with when it moved last, as far back as Spark's log goes."""
    found: dict[tuple[str, str], Partition] = {}
    for number in begun(folder):
        lines = (folder / "offsets" / str(number)).read_text().splitlines()
        at = json.loads(lines[1])["batchTimestampMs"] / 1000
        for place in (place for line in lines[2:] for place in places(None, line, None)):
            found[place.topic, place.partition] = _moved(found.get((place.topic, place.partition)), place, at)
    yield from found.values()


def _moved(before: Partition | None, place: Place, at: float) -> Partition:
    still = at if before is None or before.offset != place.end else before.still_since
    return Partition(place.topic, place.partition, place.end, None, still)
