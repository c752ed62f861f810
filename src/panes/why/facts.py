"""What is known of a query at a moment: what it has done, and what it holds. What is not known is None."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from panes.why.plan import OperatorPlan, QueryPlan


class State(StrEnum):
    RUNNING = "running"
    FAILED = "failed"
    STOPPED = "stopped"  # a checkpoint that nobody runs on


@dataclass(frozen=True)
class Partition:
    """A partition of a topic: where the query has read to, and where it ends.

    It has had no row since `still_since`, in seconds since 1970; when it had one before that is not known.
    """

    topic: str
    number: str
    offset: int
    latest: int | None = None
    still_since: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it has never had a row."""
        return self.offset == 0 and not self.latest

    @property
    def behind(self) -> int | None:
        return max(0, self.latest - self.offset) if self.latest is not None else None


@dataclass(frozen=True)
class Operator:
    """What an operator holds. `due` is the watermark at which something falls due next, in microseconds."""

    plan: OperatorPlan
    open_windows: int | None = None
    oldest: int | None = None
    waiting: int | None = None  # rows that wait until the watermark has passed them
    kept: int | None = None  # these, and those in windows or beside them
    groups: int | None = None
    due: int | None = None


@dataclass(frozen=True)
class Totals:
    """What has come and gone since `Query.began`."""

    rows_in: int = 0
    rows_out: int = 0
    late: int = 0
    null_time: int = 0
    no_window: int = 0
    expired: int = 0
    malformed: int = 0


@dataclass(frozen=True)
class Query:
    """A query; `began`, `rows_at` and `batch_at` are seconds since 1970, times of rows are microseconds.

    `latest` and `earliest` are times of rows since it began, `latest_now` that of the last micro-batch with rows.
    `totals` are None for a checkpoint, which counts nothing.
    """

    name: str
    state: State
    plan: QueryPlan
    began: float | None = None
    error: str | None = None
    batch: int | None = None
    batch_at: float | None = None
    rows_at: float | None = None
    watermark: int | None = None
    latest: int | None = None
    earliest: int | None = None
    latest_now: int | None = None
    backlog: int | None = None
    operators: tuple[Operator, ...] = ()
    partitions: tuple[Partition, ...] = ()
    totals: Totals | None = None
