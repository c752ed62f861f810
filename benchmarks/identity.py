"""The pipeline with a kernel that does nothing: rows are packed, shuffled, unpacked, and that is all."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from benchmarks.streams import Bench, Shape
from panes.kernels.kernel import Clock, State, Step
from panes.physical.identity import Identity as StateIdentity
from panes.spark.operator import Operator, run


@dataclass(frozen=True)
class Identity:
    """Rows come out as they came in."""

    def depends_on(self) -> dict[str, str]:
        return {}

    def pack(self, rows: pa.Table) -> pa.Table:
        return rows

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        return Step(State((), {"none": True}), batch)


def identity(on: Bench, shape: Shape) -> DataFrame:
    """Rows of the shape through it."""
    projected = on.source(shape).selectExpr(
        "k AS panes_c0",
        "v AS panes_c1",
        "ts AS panes_time",
        "CAST(pmod(hash(k), 2) AS INT) AS panes_shard",
        "ts AS panes_watermark",
    )
    outputs = (("panes_c0", "bigint"), ("panes_c1", "double"), ("panes_time", "timestamp"))
    whose = StateIdentity({"kernel": "identity"}, {})
    return run(Operator(Identity(), 2, outputs, {}, "panes"), projected, on.spark, whose, last_watermark=None)
