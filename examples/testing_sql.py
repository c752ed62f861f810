"""Test your SQL with scripted micro-batches on real Structured Streaming. Run: python examples/testing_sql.py"""

from __future__ import annotations

from panes.testing import Stream, replay


def main() -> None:
    """The first window comes out when the second micro-batch moves the watermark, the last one at the flush."""
    out = replay(
        "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k",
        t=Stream(
            "ts timestamp, k string, v double",
            time="ts",
            watermark="0 seconds",
            batches=[[("2024-01-01 00:00:01", "a", 1.0)], [("2024-01-01 00:00:12", "a", 2.0)]],
        ),
    )
    assert out.batches == [[], [{"k": "a", "s": 1.0}], [{"k": "a", "s": 2.0}]]
    print(out.batches)


if __name__ == "__main__":
    main()
