"""The shell around a kernel inside `transformWithState`: it reads state, calls one kernel, writes state, yields."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from panes.errors import PanesError
from panes.kernels.kernel import Chunk, Clock, Kernel, State, run_step
from panes.spark.blob import from_bytes, gathered, to_bytes
from panes.spark.chunk_cache import chunk_cache, digest_of
from panes.spark.worker import be_quiet, settle_in

FORMAT = 6
DIRECTORY = "directory"  # the key of the directory among the chunks
SHIFT_MS = 62_135_596_800_000  # the watermark's times are shifted so that year 1 is 1970

# What every progress report has, by name: sums over all shards of counters of the micro-batch and of gauges …
SUMS = (
    *("rows_in", "rows_out", "late_rows", "null_time_rows", "expired_rows", "stale_rows", "inconsistent_rows"),
    *("rows_recomputed", "unchanged_rows", "blocks_read"),
    *("chunks_read", "bytes_read", "cache_hits", "bytes_at_hand", "kernel_us"),
    *("open_windows", "buffered_rows", "groups", "state_bytes"),
)
# … and two times in microseconds: the start of the oldest open window, and the watermark.
OLDEST, CLOCK = "oldest_open_window", "watermark"
COUNTERS = (*SUMS, OLDEST, CLOCK)
# `at` is a time that no watermark reaches: Spark checks it where another stateful operator follows.
OUTPUT = "blob binary, flush boolean, at timestamp, " + ", ".join(f"{name} bigint" for name in COUNTERS)
NEVER_LATE = datetime(9999, 1, 1)


@dataclass(frozen=True)
class Directory:
    """The small part of a shard's state: what its chunks are, and whose they are."""

    fingerprint: dict[str, str]
    chunks: tuple[dict[str, Any], ...] = ()
    facts: dict[str, Any] | None = None
    next_chunk: int = 0
    timer: int | None = None  # the one that is set, as Spark counts
    sealed: bool = False

    def encode(self) -> bytes:
        return json.dumps({"format": FORMAT, **self.__dict__}).encode()

    @staticmethod
    def decode(blob: bytes) -> Directory:
        found = json.loads(blob)
        if found.pop("format") != FORMAT:
            raise PanesError("state-mismatch", "the checkpoint was written by another version of Panes")
        return Directory(**{**found, "chunks": tuple(found["chunks"])})


class ShardProcessor(StatefulProcessor):
    """One shard's operator."""

    def __init__(self, kernel: Kernel, outputs: tuple[str, ...], fingerprint: dict[str, str], behind: int = 0) -> None:
        """`behind` is how many microseconds its clock is behind the watermark."""
        self.kernel = kernel
        self.outputs = outputs
        self.fingerprint = fingerprint
        self.behind = behind

    def __setstate__(self, state: dict[str, Any]) -> None:
        be_quiet()
        self.__dict__.update(state)

    def init(self, handle: StatefulProcessorHandle) -> None:
        settle_in()
        self.handle = handle
        self.chunks = handle.getMapState("chunks", "id string", "v binary")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        packed = list(rows)
        batch = gathered((row.place, row.blob) for row in packed)
        clock = Clock(watermark(timerValues, self.behind), any(row.flush for row in packed))
        counted = {
            "rows_in": sum(row.rows_in for row in packed),
            "null_time_rows": sum(row.null_time_rows for row in packed),
        }
        yield from self._step(batch, clock, counted)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        yield from self._step(None, Clock(watermark(timerValues, self.behind)), {}, fired=True)

    def close(self) -> None:
        pass

    def _step(
        self, batch: pa.Table | None, clock: Clock, counted: dict[str, int], fired: bool = False
    ) -> Iterator[Row]:
        chunk_cache()  # its folder is looked up before a function of the user's can leave the working folder
        old = self._read()
        if old.sealed:
            refuse_rows(batch)
            return
        self.fetched: dict[str, bytes] = {}  # chunks from the state store, by their digests
        self.looked_at = dict.fromkeys(("chunks_read", "bytes_read", "cache_hits", "bytes_at_hand"), 0)
        began = time.perf_counter()
        step = run_step(self.kernel, self._state(old), batch, clock)
        spent = int((time.perf_counter() - began) * 1e6)
        timer = self._set_timer(None if fired else old.timer, step.wake)
        written = self._write(old, step.state, timer, clock.flush)
        counters: dict[str, int | None] = {**dict.fromkeys(SUMS, 0), OLDEST: None, CLOCK: clock.watermark}
        counters |= {**step.counters, **counted, **self.looked_at, "state_bytes": written, "kernel_us": spent}
        yield Row(blob=out_blob(step.rows, self.outputs), flush=clock.flush, at=NEVER_LATE, **counters)

    def _read(self) -> Directory:
        found = self.chunks.getValue((DIRECTORY,))
        if found is None:
            return Directory(self.fingerprint)
        directory = Directory.decode(bytes(found[0]))
        check_fingerprint(directory.fingerprint, self.fingerprint)
        return directory

    def _state(self, directory: Directory) -> State:
        chunks = [_chunk(one, cache(partial(self._load, one))) for one in directory.chunks]
        return State(tuple(chunks), directory.facts or {}, directory.next_chunk)

    def _load(self, entry: dict[str, Any]) -> pa.Table:
        """A chunk, from the cache or the state store, and counted."""
        digest = entry["digest"]
        table = chunk_cache().get(digest)
        chunks, bytes_ = ("chunks_read", "bytes_read") if table is None else ("cache_hits", "bytes_at_hand")
        self.looked_at[chunks] += 1
        self.looked_at[bytes_] += entry["bytes"]
        if table is None:
            found = self.chunks.getValue((entry["id"],))
            if found is None:
                raise PanesError("state-mismatch", f"the chunk {entry['id']} is missing from the checkpoint")
            blob = bytes(found[0])
            table = from_bytes(blob)
            chunk_cache().remember(digest, table)
            self.fetched[digest] = blob
        return table

    def _write(self, old: Directory, state: State, timer: int | None, sealed: bool) -> int:
        """Write the chunks that are new, drop those that are gone, and say so in the directory."""
        known = {one["id"]: one for one in old.chunks}
        described: list[dict[str, Any]] = []
        shared = self.fetched
        for chunk in state.chunks:
            entry = known.pop(chunk.id, None)
            if entry is None:
                table = chunk.load()
                blob = to_bytes(table)
                self.chunks.updateValue((chunk.id,), (blob,))
                entry = {name: getattr(chunk, name) for name in ("id", "rows", "low", "high", "kind")}
                entry |= {"bytes": len(blob), "digest": digest_of(blob)}
                chunk_cache().remember(entry["digest"], table)
                shared[entry["digest"]] = blob
            described.append(entry)
        for gone in known:
            self.chunks.removeKey((gone,))
        passed = {entry["digest"] for entry in known.values()} - {entry["digest"] for entry in described}
        chunk_cache().drop(passed)
        chunk_cache().share({digest: blob for digest, blob in shared.items() if digest not in passed})
        size = sum(int(entry["bytes"]) for entry in described)
        new = Directory(self.fingerprint, tuple(described), dict(state.facts), state.next_chunk, timer, sealed)
        if new != old or not old.facts:
            self.chunks.updateValue((DIRECTORY,), (new.encode(),))
        return size

    def _set_timer(self, set_: int | None, wake: int | None) -> int | None:
        """One timer: Spark fires it when the watermark, in whole milliseconds, has reached it.

        It must not fire before `wake`: Spark deletes a timer after it has fired, so that one set anew to the same
        moment would be lost. `set_` is the one that is set now.
        """
        wanted = None if wake is None else -(-(wake + self.behind) // 1000) + SHIFT_MS
        if wanted != set_:
            if set_ is not None:
                self.handle.deleteTimer(set_)
            if wanted is not None:
                self.handle.registerTimer(wanted)
        return wanted


def out_blob(rows: pa.Table | None, outputs: tuple[str, ...]) -> bytes | None:
    """The columns of the result that somebody reads."""
    return to_bytes(rows.select(outputs)) if rows is not None and rows.num_rows else None


def refuse_rows(batch: pa.Table | None) -> None:
    """After the end of the input there are micro-batches, but no rows."""
    if batch is not None and batch.num_rows:
        raise PanesError("stream-ended", "this checkpoint was flushed: its stream has ended")


def _chunk(entry: dict[str, Any], loader: Callable[[], pa.Table]) -> Chunk:
    return Chunk(entry["id"], entry["rows"], entry["low"], entry["high"], loader, entry["kind"])


def watermark(values: TimerValues, behind: int) -> int | None:
    """The watermark in microseconds, less `behind`; None before the first row."""
    shifted = values.getCurrentWatermarkInMs()
    return None if shifted <= 0 else (shifted - SHIFT_MS) * 1000 - behind


def check_fingerprint(old: dict[str, str], new: dict[str, str]) -> None:
    """Refuse a checkpoint of another query or of other settings, and say what differs."""
    differing = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    if differing:
        changes = "; ".join(f"{name} was {old.get(name)}, now {new.get(name)}" for name in differing)
        hint = "Go back to the old query and settings, or start with a new checkpoint."
        raise PanesError("state-mismatch", f"the checkpoint belongs to another query: {changes}", None, hint)
