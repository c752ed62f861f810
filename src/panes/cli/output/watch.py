"""What a run remembers of a query for `panes why`: little, and taken from the reports of its micro-batches alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from panes.spark.counters import BEFORE, SHARDS
from panes.spark.places import Place
from panes.spark.report import Report
from panes.why.facts import Operator, Partition, Query, State, Totals
from panes.why.plan import QueryPlan

WHY = "why"  # the field of a query that panes why reads
TOTALS = {
    "rows_in": "rows_in",
    "rows_out": "rows_out",
    "late": "late_rows",
    "null_time": "null_time_rows",
    "no_window": "no_window_rows",
    "expired": "expired_rows",
    "malformed": "malformed_rows",
}
GAUGES = {
    "open_windows": "open_windows",
    "oldest": "oldest_open_window",
    "waiting": "waiting_rows",
    "kept": "buffered_rows",
    "groups": "groups",
    "due": "next_due",
}


@dataclass
class Watch:
    """Times of rows are in microseconds, others in seconds since 1970."""

    began: float
    plan: QueryPlan | None = None
    rows_at: float | None = None
    latest: int | None = None
    latest_now: int | None = None
    earliest: int | None = None
    knows_earliest: bool = True
    totals: Counter[str] = field(default_factory=Counter)
    partitions: dict[tuple[str, str], Partition] = field(default_factory=dict)
    operators: dict[int, dict[str, int]] = field(default_factory=dict)

    def batch(self, report: Report, now: float) -> None:
        self._carry_on(report)
        self.totals.update({name: report.counters.get(counter, 0) for name, counter in TOTALS.items()})
        if "rows_in" not in report.counters:
            self.totals["rows_in"] += report.rows_read
        if self._brought_rows(report):
            self.rows_at = now
            self._times(report)
        for place in report.places:
            self._moved(place, now)

    def _carry_on(self, report: Report) -> None:
        """Gauges of all shards, also after a micro-batch that has called only some, or none."""
        for one in self.plan.operators if self.plan is not None else ():
            found = carried_on(self.operators.get(one.number), report.operators.get(one.number, {}), one.shards)
            if found is not None:
                self.operators[one.number] = found

    def _brought_rows(self, report: Report) -> bool:
        """Heartbeats are rows to Spark."""
        beats = self.plan is not None and any(one.heartbeat is not None for one in self.plan.streams)
        return bool(report.counters.get("rows_in", 0) if beats else report.rows_read)

    def _times(self, report: Report) -> None:
        """Of several streams Spark tells the times of one: then they are not known."""
        clock = self.plan.clock if self.plan is not None else None
        if clock is None or clock.delay is None or self.plan is None:
            return
        delay = clock.delay if self.plan.operators else 0
        self.knows_earliest &= report.earliest is not None
        if report.earliest is not None and self.knows_earliest:
            first = report.earliest + delay
            self.earliest = first if self.earliest is None else min(self.earliest, first)
        if report.latest is not None:
            self.latest_now = report.latest + delay
            self.latest = self.latest_now if self.latest is None else max(self.latest, self.latest_now)

    def _moved(self, place: Place, now: float) -> None:
        at = place.topic, place.partition
        before = self.partitions.get(at)
        start = place.start if before is None else before.offset
        still = now if start != place.end else before.still_since if before is not None else self.began
        self.partitions[at] = Partition(place.topic, place.partition, place.end, place.latest, still)

    def document(self) -> dict[str, Any]:
        return {
            "began": self.began,
            "plan": self.plan.document() if self.plan is not None else None,
            "rows_at": self.rows_at,
            "latest": self.latest,
            "latest_now": self.latest_now,
            "earliest": self.earliest if self.knows_earliest else None,
            "totals": {name: self.totals[name] for name in TOTALS},
            "partitions": [asdict(one) for one in self.partitions.values()],
            "operators": {str(number): dict(of) for number, of in self.operators.items()},
        }


def carried_on(old: Mapping[str, int] | None, new: Mapping[str, int], shards: int | None) -> dict[str, int] | None:
    """An operator's gauges after a micro-batch; None where they are not known, or have not changed.

    When the next thing falls due in a shard that was not called is not known: nothing fell due there.
    """
    called = new.get(SHARDS, 0)
    if called == shards:
        return {name: new[name] for name in GAUGES.values() if name in new}
    if not called or old is None:
        return None
    return {name: old.get(name, 0) + new.get(name, 0) - new.get(before, 0) for name, before in BEFORE.items()}


def facts_of(query: Mapping[str, Any]) -> Query:
    """A query of a run's file as facts; a plan that another version of Panes wrote is none."""
    known: Mapping[str, Any] = query.get(WHY) or {}
    plan = _plan(known.get("plan"))
    totals = known.get("totals")
    return Query(
        query["query"],
        State(query["state"]),
        plan,
        known.get("began"),
        query["error"],
        query["batch"],
        query["last_batch_at"],
        known.get("rows_at"),
        query["watermark"],
        known.get("latest"),
        known.get("earliest"),
        known.get("latest_now"),
        query["backlog"],
        tuple(_operators(plan, known.get("operators", {}))),
        tuple(Partition(**one) for one in known.get("partitions", ())),
        Totals(**totals) if totals is not None else None,
    )


def _plan(document: Mapping[str, Any] | None) -> QueryPlan:
    return QueryPlan.of(document) if document is not None else QueryPlan(knows_streams=False)


def _operators(plan: QueryPlan, counters: Mapping[str, Mapping[str, int]]) -> list[Operator]:
    found = []
    for one in plan.operators:
        of = counters.get(str(one.number), {})
        found.append(Operator(one, **{name: of.get(counter) for name, counter in GAUGES.items()}))
    return found
