"""The queries of a script start a few at a time.

In its first micro-batch a query starts a Python on the driver for each stateful operator, and Spark gives it ten
seconds to answer. A long script that starts all at once on a small or busy machine would run out of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from pyspark.sql.streaming.query import StreamingQuery

IDLE = ("Waiting for data to arrive", "Waiting for next trigger")  # as Spark says it in a query's status
PATIENCE = 10.0  # seconds: a first micro-batch may be large, and the others do not wait for its end
LOOK = 0.05


def wait_for_turn(
    started: Sequence[StreamingQuery], stopped: Callable[[], bool], at_once: int = os.cpu_count() or 1
) -> None:
    """Until one more query may start: no more at once than the driver has cores, or patience is over."""
    deadline = time.monotonic() + PATIENCE
    while sum(map(is_starting, started)) >= at_once and time.monotonic() < deadline and not stopped():
        time.sleep(LOOK)


def is_starting(query: StreamingQuery) -> bool:
    """Whether a query is before or in its first micro-batch."""
    return query.isActive and query.lastProgress is None and query.status["message"] not in IDLE
