"""A shard's state and what a micro-batch does to it: read the directory, call one kernel, write what is new."""

from __future__ import annotations

import json
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import Row

from panes.errors import PanesError
from panes.kernels.idle import Heard, Idle, Quiet, latest
from panes.kernels.kernel import Chunk, Clock, Kernel, State, Step
from panes.kernels.late_rows import LateApart
from panes.kernels.parts import run_in_parts
from panes.kernels.state.release import WAITING
from panes.physical.identity import Identity, another_version, check_identity, column_of_state
from panes.spark.blob import from_bytes, to_bytes
from panes.spark.chunk_cache import chunk_cache, digest_of
from panes.spark.counters import BEFORE, CLOCK, DUE, GAUGES, NEVER_LATE, OLDEST, SHARDS, SHIFT, SUMS
from panes.spark.inbox import Inbox
from panes.spark.memory import Memory
from panes.spark.results import write_result

VERSION = 1  # of the directory
LONG = 1024  # bytes of a directory that is compressed
DIRECTORY, IDENTITY = "directory", "identity"  # keys among the chunks
SHIFT_MS = SHIFT // 1000
BEFORE_SHUFFLE = ("rows_in", "null_time_rows", "no_window_rows")  # counted by `pack`
SHARED = 64 << 20  # bytes of chunks from the state store that a task puts into the cache's files


@dataclass(frozen=True)
class Directory:
    """The small part of a shard's state: what its chunks are, and whose they are, by the digest of the identity."""

    identity: str
    chunks: tuple[dict[str, Any], ...] = ()
    facts: dict[str, Any] | None = None
    next_chunk: int = 0
    timer: int | None = None  # the one that is set, as Spark counts
    sealed: bool = False
    gauges: dict[str, int] = field(default_factory=dict)  # for who looks at a checkpoint
    quiet: dict[str, int | None] | None = None  # of an idle stream
    version: int = VERSION

    @property
    def rows(self) -> int:
        return sum(chunk["rows"] for chunk in self.chunks)

    @property
    def size(self) -> int:
        return sum(chunk["bytes"] for chunk in self.chunks)

    @property
    def waiting_rows(self) -> int:
        """Rows that wait until the watermark has passed them."""
        return sum(chunk["rows"] for chunk in self.chunks if chunk["kind"] == WAITING)

    def encode(self) -> bytes:
        """As JSON; one of many chunks is compressed, for it is written in every micro-batch."""
        known = {name: value for name, value in self.__dict__.items() if name != "quiet" or value is not None}
        blob = json.dumps(known).encode()
        return blob if len(blob) < LONG else zlib.compress(blob, 1)

    @staticmethod
    def decode(blob: bytes) -> Directory:
        found = json.loads(blob if blob.startswith(b"{") else zlib.decompress(blob))
        if found.get("version") != VERSION:
            raise another_version()
        return Directory(**{**found, "chunks": tuple(found["chunks"])})


@dataclass(frozen=True)
class Shard:
    """An operator as its shards run it; `behind` is how many microseconds its clock is behind the watermark."""

    kernel: Kernel
    outputs: tuple[str, ...]
    identity: Identity
    behind: int = 0
    memory: Memory = field(default_factory=Memory)
    idle: Idle | None = None


class Task:
    """A shard in a micro-batch. `handle` sets its timers, `chunks` is its map in the state store, both Spark's."""

    def __init__(self, shard: Shard, handle: Any, chunks: Any) -> None:
        self.kernel, self.outputs, self.identity = shard.kernel, shard.outputs, shard.identity
        self.behind, self.idle, self.handle, self.chunks = shard.behind, shard.idle, handle, chunks
        # The folder of the cache is looked up before a function of the user's can leave the working folder.
        chunk_cache().bound_memory(shard.memory.cached)

    def rows(self, packed: Iterable[Row], watermark_ms: int) -> Iterator[Row]:
        inbox, flush, counted, heard = Inbox(), False, Counter[str](), Heard()
        for row in packed:
            if row.blob is not None:
                inbox.add(row.place, row.blob)
            flush = flush or row.flush
            counted.update({name: getattr(row, name) for name in BEFORE_SHUFFLE})
            heard |= Heard(row.moment, row.came, row.started, row.clock)
        yield from self._step(inbox, Clock(watermark(watermark_ms), flush), counted, heard)

    def timer(self, watermark_ms: int) -> Iterator[Row]:
        yield from self._step(Inbox(), Clock(watermark(watermark_ms)), {}, Heard(), fired=True)

    def _step(
        self, inbox: Inbox, clock: Clock, counted: Mapping[str, int], heard: Heard, fired: bool = False
    ) -> Iterator[Row]:
        old = self._read()
        quiet = Quiet(**(old.quiet or {})).after(heard, self.idle, clock.watermark)
        moved = latest(clock.watermark, quiet.clock)
        clock = replace(clock, watermark=None if moved is None else moved - self.behind)
        if old.sealed:
            refuse_rows(inbox)
            return
        self.entries = {one["id"]: one for one in old.chunks}  # of all chunks in the state store
        self.fetched: dict[str, bytes] = {}  # some that were read there, by their digests
        self.looked_at = dict.fromkeys(("chunks_read", "bytes_read", "cache_hits", "bytes_cached"), 0)
        watch = Stopwatch()
        tables = LateApart(inbox.tables())
        steps = Steps(run_in_parts(self.kernel, self._state(old), tables, clock, self._put_away), tables)
        result = write_result(watch.timed(steps.tables()), self.outputs)
        step = steps.last
        timer = self._set_timer(None if fired else old.timer, step.wake)
        counted_by_kernel = cast(dict[str, int | None], step.counters)
        gauges = {name: gauge for name in GAUGES if (gauge := counted_by_kernel.get(name)) is not None}
        written = self._write(old, step.state, timer, clock.flush, gauges, quiet)
        due = None if step.wake is None else -(-(step.wake + self.behind) // 1000) * 1000  # as the timer is set
        counters: dict[str, int | None] = {**dict.fromkeys(SUMS, 0), OLDEST: None, DUE: due, CLOCK: clock.watermark}
        steps.counted.update(counted)
        counters |= {**counted_by_kernel, **steps.counted, **self.looked_at, "rows_out": result.rows}
        counters |= {"state_bytes": written, "kernel_us": watch.microseconds}
        counters["waiting_rows"] = sum(chunk.rows for chunk in step.state.chunks if chunk.kind == WAITING)
        before = {**old.gauges, "waiting_rows": old.waiting_rows}
        counters |= {SHARDS: 1, **{name: before.get(gauge, 0) for gauge, name in BEFORE.items()}}
        yield Row(blob=result.blob, file=result.file, flush=clock.flush, at=NEVER_LATE, **counters)

    def _read(self) -> Directory:
        found = self.chunks.getValue((DIRECTORY,))
        if found is None:
            return Directory("")
        directory = Directory.decode(bytes(found[0]))
        if directory.identity != self.identity.digest:
            known = self.chunks.getValue((IDENTITY,))
            check_identity(Identity.decode(bytes(known[0]).decode()), self.identity)
        return directory

    def _state(self, directory: Directory) -> State:
        chunks = [_chunk(one, once(partial(self._load, one))) for one in directory.chunks]
        return State(tuple(chunks), directory.facts or {}, directory.next_chunk)

    def _load(self, entry: dict[str, Any]) -> pa.Table:
        """A chunk, from the cache or the state store, and counted."""
        digest = entry["digest"]
        table = chunk_cache().get(digest)
        chunks, bytes_ = ("chunks_read", "bytes_read") if table is None else ("cache_hits", "bytes_cached")
        self.looked_at[chunks] += 1
        self.looked_at[bytes_] += entry["bytes"]
        if table is None:
            found = self.chunks.getValue((entry["id"],))
            if found is None:
                raise PanesError("state-mismatch", f"the chunk {entry['id']} is missing from the checkpoint")
            blob = bytes(found[0])
            table = from_bytes(blob)
            chunk_cache().remember(digest, table)
            if sum(map(len, self.fetched.values())) + len(blob) <= SHARED:
                self.fetched[digest] = blob
        return self._wanted(table)

    def _wanted(self, table: pa.Table) -> pa.Table:
        """A chunk without the columns of a query that had more of them."""
        left = [name for name in table.column_names if column_of_state(name) not in (None, *self.identity.columns)]
        return table.drop_columns(left) if left else table

    def _put_away(self, state: State) -> State:
        """Write the chunks that are new; whoever needs one again loads it, also one that has been loaded."""
        blobs: dict[str, bytes] = {}
        chunks: list[Chunk] = []
        for chunk in state.chunks:
            if chunk.id not in self.entries:
                blob = to_bytes(chunk.load())
                table = from_bytes(blob)  # as every attempt will read it, of the same size
                self.chunks.updateValue((chunk.id,), (blob,))
                entry = {name: getattr(chunk, name) for name in ("id", "rows", "low", "high", "kind")}
                entry |= {"bytes": len(blob), "in_memory": table.nbytes, "digest": digest_of(blob)}
                chunk_cache().remember(entry["digest"], table)
                blobs[entry["digest"]] = blob
                self.entries[chunk.id] = entry
            entry = self.entries[chunk.id]
            chunks.append(replace(chunk, load=once(partial(self._load, entry)), bytes=_in_memory(entry)))
        chunk_cache().share(blobs)
        return replace(state, chunks=tuple(chunks))

    def _write(
        self, old: Directory, state: State, timer: int | None, sealed: bool, gauges: dict[str, int], quiet: Quiet
    ) -> int:
        """Write the chunks that are new, drop those that are gone, and say so in the directory."""
        self._put_away(state)
        described = [self.entries.pop(chunk.id) | {"rows": chunk.rows, "low": chunk.low} for chunk in state.chunks]
        for gone in self.entries:
            self.chunks.removeKey((gone,))
        passed = {entry["digest"] for entry in self.entries.values()} - {entry["digest"] for entry in described}
        chunk_cache().drop(passed)
        chunk_cache().share({digest: blob for digest, blob in self.fetched.items() if digest not in passed})
        whose = self.identity.digest
        known = asdict(quiet) if quiet != Quiet() else None
        new = Directory(whose, tuple(described), dict(state.facts), state.next_chunk, timer, sealed, gauges, known)
        if whose != old.identity:
            self.chunks.updateValue((IDENTITY,), (self.identity.encode().encode(),))
        if new != old:
            self.chunks.updateValue((DIRECTORY,), (new.encode(),))
        return new.size

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


class Stopwatch:
    """The time that a kernel takes, also where it makes its result as it is asked for."""

    def __init__(self) -> None:
        self._seconds = 0.0

    @property
    def microseconds(self) -> int:
        return int(self._seconds * 1e6)

    @contextmanager
    def running(self) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self._seconds += time.perf_counter() - began

    def timed(self, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        while True:
            with self.running():
                table = next(tables, None)
            if table is None:
                return
            yield table


class Steps:
    """The steps of a micro-batch, as their rows are asked for: `last` is the last one, `counted` is of all.

    After each step come its late rows, and in the end those of an operator below.
    """

    last: Step

    def __init__(self, steps: Iterator[Step], passed: LateApart) -> None:
        self._steps, self._passed = steps, passed
        self.counted = Counter[str]()

    def tables(self) -> Iterator[pa.Table]:
        for step in self._steps:
            self.last = step
            counters = cast(dict[str, int | None], step.counters)
            self.counted.update({name: counters.get(name) or 0 for name in SUMS if name not in GAUGES})
            yield from step.tables()
            if step.late is not None:
                yield step.late
        yield from self._passed.late


def refuse_rows(inbox: Inbox) -> None:
    """After the end of the input there are micro-batches, but no rows."""
    if any(table.num_rows for table in inbox.tables()):
        raise PanesError("stream-ended", "this checkpoint was flushed: its stream has ended")


def once(load: Callable[[], pa.Table]) -> Callable[[], pa.Table]:
    """Loads at the first call; unlike `functools.cache` it costs next to nothing where there is none."""
    loaded: list[pa.Table] = []

    def table() -> pa.Table:
        if not loaded:
            loaded.append(load())
        return loaded[0]

    return table


def _chunk(entry: dict[str, Any], loader: Callable[[], pa.Table]) -> Chunk:
    return Chunk(entry["id"], entry["rows"], entry["low"], entry["high"], loader, entry["kind"], _in_memory(entry))


def _in_memory(entry: dict[str, Any]) -> int:
    """The bytes of a chunk as it is read, in any attempt; in an old checkpoint there are only those of its blob."""
    found: int = entry.get("in_memory", entry["bytes"])
    return found


def watermark(shifted: int) -> int | None:
    """The watermark in microseconds; None before the first row."""
    return None if shifted <= 0 else (shifted - SHIFT_MS) * 1000
