"""A query whose Python was too slow to start is started again.

In the first micro-batch of a start, Spark gives the Python of each stateful operator ten seconds to answer. On a busy
machine that is not always enough, and the query fails before it has done anything. So it starts again, where it was.
"""

from __future__ import annotations

from pyspark.sql.streaming.query import StreamingQuery

MOST_SLOW_STARTS = 3  # starts that fail so, one after the other
NOT_BACK = "Python worker failed to connect back"  # as Spark says it


def was_too_slow(query: StreamingQuery, failure: Exception) -> bool:
    """Whether a query has failed since a Python did not answer in time, before the first micro-batch of this start."""
    message = str(failure).lstrip().partition("\n")[0]
    return NOT_BACK in message and not any("addBatch" in one.durationMs for one in query.recentProgress)
