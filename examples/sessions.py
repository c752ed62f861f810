"""Visits of users: a session ends after 30 seconds without a click. Run: python examples/sessions.py"""

from __future__ import annotations

from datetime import datetime

import panes

CLICKS = [
    ("ann", datetime(2024, 1, 1, 12, 0, 0), "/"),
    ("bob", datetime(2024, 1, 1, 12, 0, 5), "/"),
    ("ann", datetime(2024, 1, 1, 12, 0, 20), "/price"),
    ("ann", datetime(2024, 1, 1, 12, 5, 0), "/docs"),
]


def main() -> None:
    """The same SQL runs over a batch DataFrame, as here, and over a stream."""
    engine = panes.Engine()
    clicks = engine.spark.createDataFrame(CLICKS, "user string, ts timestamp, page string")
    engine.stream("clicks", clicks, time="ts")
    visits = engine.sql("""
        SELECT user, window_start() AS came, window_end() AS left, count(*) AS clicks, collect_list(page) AS pages
        FROM clicks
        GROUP BY sessionwindow('ss', 30), user
    """)
    visits.orderBy("came").show(truncate=False)


if __name__ == "__main__":
    main()
