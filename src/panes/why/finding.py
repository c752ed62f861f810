"""What panes why says: a cause, the sentence that tells it, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    FAILED = "failed"
    NOT_RUNNING = "not-running"
    NO_BATCH = "no-micro-batch"
    BACKLOG = "backlog"
    OPEN_WINDOWS = "open-windows"
    WAITING_ROWS = "waiting-rows"
    UNFINISHED_ROWS = "unfinished-rows"
    CONDITION = "condition"
    COUNT = "count"
    IDLE = "idle-source"
    DELAY = "delay-too-large"
    SILENT_PARTITION = "silent-partition"
    NULL_TIME = "rows-without-time"
    LATE = "late-rows"
    NO_WINDOW = "rows-in-no-window"
    EXPIRED = "expired-rows"
    MALFORMED = "malformed-rows"
    FILTERED = "rows-filtered"
    HAVING = "results-filtered"
    SPARK_STATE = "state-of-spark"
    UNKNOWN = "not-known"
    NOTHING = "nothing-waits"


# Something is there that comes out later, when the watermark has moved or when rows have come.
CLOCKED = frozenset({Cause.OPEN_WINDOWS, Cause.WAITING_ROWS})
WAITING = CLOCKED | {Cause.UNFINISHED_ROWS, Cause.CONDITION, Cause.COUNT}


@dataclass(frozen=True)
class Finding:
    """`due` is the watermark that it waits for, in microseconds, where it waits for one."""

    cause: Cause
    text: str
    hint: str | None = None
    due: int | None = None
