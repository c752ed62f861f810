"""What each query of a run has done so far, from the reports of its micro-batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from panes.cli.output.watch import WHY, Watch
from panes.spark.report import Report
from panes.why.plan import QueryPlan

RECENT = 10.0  # seconds over which rates are taken
MICROS = 1_000_000


@dataclass
class QueryState:
    """One query; times are seconds since 1970."""

    name: str
    began: float
    state: str = "running"
    last: Report | None = None
    last_batch_at: float | None = None
    batches: int = 0
    rows_in: int = 0
    rows_out: int = 0
    late_rows: int = 0
    error: str | None = None
    watch: Watch = field(init=False)
    _recent: deque[tuple[float, int, int]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.watch = Watch(self.began)

    def batch(self, report: Report, now: float) -> None:
        rows_in = report.counters.get("rows_in", report.rows_read)
        rows_out = report.counters.get("rows_out", 0)
        self.last, self.last_batch_at = report, now
        self.batches += 1
        self.rows_in += rows_in
        self.rows_out += rows_out
        self.late_rows += report.counters.get("late_rows", 0)
        self._recent.append((now, rows_in, rows_out))
        self.watch.batch(report, now)

    def rates(self, now: float) -> tuple[float, float]:
        """Rows in and out per second, of the last seconds."""
        while self._recent and self._recent[0][0] < now - RECENT:
            self._recent.popleft()
        seconds = min(RECENT, max(now - self.began, 1.0))
        return sum(one[1] for one in self._recent) / seconds, sum(one[2] for one in self._recent) / seconds

    def behind(self, now: float) -> float | None:
        """How many seconds the watermark is behind the clock on the wall."""
        watermark = self.last.watermark if self.last is not None else None
        return now - watermark / MICROS if watermark is not None else None

    def gauge(self, name: str) -> int | None:
        return self.last.counters.get(name) if self.last is not None else None

    def document(self, now: float) -> dict[str, Any]:
        """All of it, for machines."""
        last = self.last
        rate_in, rate_out = self.rates(now)
        return {
            "query": self.name,
            "state": self.state,
            "batches": self.batches,
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
            "late_rows": self.late_rows,
            "rows_in_per_second": round(rate_in, 1),
            "rows_out_per_second": round(rate_out, 1),
            "batch": last.batch if last is not None else None,
            "last_batch_at": self.last_batch_at,
            "batch_seconds": last.seconds if last is not None else None,
            "watermark": last.watermark if last is not None else None,
            "open_windows": self.gauge("open_windows"),
            "state_bytes": self.gauge("state_bytes"),
            "backlog": last.backlog if last is not None else None,
            "error": self.error,
            WHY: self.watch.document(),
        }


class Board:
    """All queries of a run, in the order in which they were first heard of."""

    def __init__(self) -> None:
        self.queries: dict[str, QueryState] = {}

    def query(self, name: str, now: float) -> QueryState:
        return self.queries.setdefault(name, QueryState(name, now))

    def plans(self, plans: Mapping[str, QueryPlan], now: float) -> None:
        for name, plan in plans.items():
            self.query(name, now).watch.plan = plan

    def batch(self, report: Report, now: float) -> None:
        self.query(report.sink, now).batch(report, now)

    def failed(self, name: str, error: str, now: float) -> None:
        query = self.query(name, now)
        query.state, query.error = "failed", error

    def document(self, now: float) -> list[dict[str, Any]]:
        return [one.document(now) for one in list(self.queries.values())]
