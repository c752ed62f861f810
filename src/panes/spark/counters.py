"""The row that a shard's task yields: its results in a blob, and counters and gauges of the micro-batch."""

from __future__ import annotations

from datetime import datetime

# What every progress report has, by name: sums over all shards of counters of the micro-batch and of gauges …
SUMS = (
    *("rows_in", "rows_out", "late_rows", "null_time_rows", "expired_rows", "stale_rows", "inconsistent_rows"),
    "no_window_rows",
    *("rows_recomputed", "unchanged_rows", "blocks_read"),
    *("chunks_read", "bytes_read", "cache_hits", "bytes_cached", "kernel_us"),
    *("open_windows", "buffered_rows", "waiting_rows", "groups", "state_bytes"),
)
# … and three times in microseconds: the start of the oldest open window, the watermark at which something falls due
# next, and the watermark.
OLDEST, DUE, CLOCK = "oldest_open_window", "next_due", "watermark"
# A micro-batch without rows calls only the shards in which something falls due: how many it has called, and what their
# gauges were before. So gauges can be carried on from a micro-batch that called all.
CARRIED = ("open_windows", "buffered_rows", "waiting_rows", "groups")
SHARDS = "shards"
BEFORE = {name: f"{name}_before" for name in CARRIED}
CALLED = (SHARDS, *BEFORE.values())
COUNTERS = (*SUMS, OLDEST, DUE, CLOCK, *CALLED)
GAUGES = ("open_windows", "buffered_rows", "groups", OLDEST)  # what a shard has, as a kernel says
# `at` is a time that no watermark reaches (LATEST): Spark checks it where another stateful operator follows.
# `file` has what does not fit into `blob`: see `results`.
OUTPUT = "blob binary, file string, flush boolean, at timestamp, " + ", ".join(f"{name} bigint" for name in COUNTERS)
NEVER_LATE = datetime(9999, 12, 1)
SHIFT = 62_135_596_800_000_000  # microseconds from year 1 to 1970: the watermark's times are shifted by it
