"""What is known of a query before it runs and says what it can wait for: its streams and its operators.

It is kept as JSON, in the file of a run and in a checkpoint's record: a later version of Panes may say more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any


class Waits(StrEnum):
    """What brings an operator's results out."""

    WATERMARK = "watermark"  # it passes the end of a window, or a row
    ROWS = "rows"  # enough rows of a partition follow
    CONDITION = "condition"  # a row of a partition fulfils it
    COUNT = "count"  # a partition has enough rows
    NOTHING = "nothing"  # each micro-batch gives out what it changes
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class StreamPlan:
    """A stream that is read; lengths of time are in microseconds."""

    name: str
    time: str | None = None
    delay: int | None = None
    idle_timeout: int | None = None
    heartbeat: int | None = None


@dataclass(frozen=True)
class OperatorPlan:
    """A stateful operator.

    `number` is that of its metrics, `name` what it is called. `size` is the length of its windows where all are of one
    length, `gap` that of a session. `follows` is how many rows a row waits for, None where that is not known, and
    `keeps_passed` says that rows are also kept which wait for nothing themselves.
    """

    number: int
    name: str
    waits: Waits = Waits.UNKNOWN
    waits_for_clock: bool = False  # rows come to it in the order of time, when the watermark has passed them
    emits: str | None = None
    size: int | None = None
    gap: int | None = None
    count: int | None = None
    every: int | None = None
    opens: str | None = None
    condition: str | None = None
    calls: tuple[str, ...] = ()
    follows: int | None = None
    keeps_passed: bool = False
    partition_by: tuple[str, ...] = ()
    state_ttl: int | None = None
    shards: int | None = None


@dataclass(frozen=True)
class QueryPlan:
    """`where` are conditions below the last operator, `having` those above it; without operators it is all Spark's.

    `knows_streams` is False where only the operators are known, as in a checkpoint of Spark's own.
    """

    streams: tuple[StreamPlan, ...] = ()
    operators: tuple[OperatorPlan, ...] = ()
    where: tuple[str, ...] = ()
    having: tuple[str, ...] = ()
    spark_keeps_state: bool = False
    knows_streams: bool = True

    @property
    def clocks(self) -> tuple[StreamPlan, ...]:
        """The streams with a watermark."""
        return tuple(one for one in self.streams if one.time is not None and one.delay is not None)

    @property
    def clock(self) -> StreamPlan | None:
        """The stream whose watermark it is, where there is but one."""
        return self.clocks[0] if len(self.clocks) == 1 else None

    def document(self) -> dict[str, Any]:
        """As JSON reads it back."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return found

    @staticmethod
    def of(document: Mapping[str, Any]) -> QueryPlan:
        known = _known(QueryPlan, document)
        known["streams"] = tuple(StreamPlan(**_known(StreamPlan, one)) for one in document["streams"])
        known["operators"] = tuple(_operator(one) for one in document["operators"])
        return QueryPlan(**{**known, "where": tuple(document["where"]), "having": tuple(document["having"])})


def _operator(document: Mapping[str, Any]) -> OperatorPlan:
    waits = next((one for one in Waits if one == document["waits"]), Waits.UNKNOWN)
    lists = {name: tuple(document[name]) for name in ("calls", "partition_by")}
    return OperatorPlan(**{**_known(OperatorPlan, document), **lists, "waits": waits})


def _known(of: type, document: Mapping[str, Any]) -> dict[str, Any]:
    return {one.name: document[one.name] for one in fields(of) if one.name in document}
