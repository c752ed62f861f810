"""Running variants of a query over the same rows, each on real Structured Streaming, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from panes.engine import Engine
from panes.logical.plan import DataSink
from panes.logical.rules import optimise
from panes.physical import plan as physical
from panes.physical.lower import lower
from panes.testing.replay import Stream, replay_plan
from panes.trace.lineage import ID

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Out = list[list[dict[str, Any]]]  # what came out of each step


@dataclass(frozen=True)
class Variant:
    """A query to run: over the micro-batches as they are, or over these rows at once, given by their numbers."""

    plan: DataSink
    at_once: Callable[[int], bool] | None = None
    flush: bool = True


@dataclass(frozen=True)
class Runs:
    """Where variants are run."""

    sql: str
    streams: Mapping[str, Stream]  # whose rows have a number
    spark: SparkSession | None
    setup: Callable[[Engine], None] | None
    shards: int | None
    clock: Sequence[str | datetime]

    def run(self, variants: Mapping[str, Variant]) -> dict[str, Out]:
        """What came out of each variant, by name."""
        with ThreadPoolExecutor(max_workers=4) as pool:
            futures = {name: pool.submit(self._run, one) for name, one in variants.items()}
            return {name: future.result() for name, future in futures.items()}

    def _run(self, variant: Variant) -> Out:
        def plan(engine: Engine) -> physical.DataSink:
            done = optimise(variant.plan)
            assert isinstance(done, DataSink)
            return lower(done, engine.functions)

        out = replay_plan(
            self.sql,
            plan,
            rows_at_once(self.streams, variant),
            flush=variant.flush,
            shards=self.shards,
            clock=self.clock if variant.at_once is None else self.clock[-1:],
            spark=self.spark,
            setup=self.setup,
        )
        return out.batches


def numbered(streams: Mapping[str, Stream]) -> dict[str, Stream]:
    """Streams with a number for each row: 1, 2, 3 … over all of them, in the order in which they come."""
    steps = max((len(stream.batches) for stream in streams.values()), default=0)
    batches: dict[str, list[list[tuple[Any, ...]]]] = {name: [] for name in streams}
    number = 0
    for step in range(steps):
        for name, stream in streams.items():
            rows: list[tuple[Any, ...]] = []
            for row in stream.batches[step] if step < len(stream.batches) else ():
                number += 1
                rows.append((*row, number))
            batches[name].append(rows)
    return {
        name: replace(stream, schema=f"{stream.schema}, {ID} bigint", batches=batches[name])
        for name, stream in streams.items()
    }


def rows_at_once(streams: Mapping[str, Stream], variant: Variant) -> Mapping[str, Stream]:
    """The streams as a variant takes them: where it wants rows at once, these in one micro-batch."""
    wanted = variant.at_once
    if wanted is None:
        return streams
    return {
        name: replace(stream, batches=[[row for batch in stream.batches for row in batch if wanted(row[-1])]])
        for name, stream in streams.items()
    }
