"""A changelog made complete on Spark, sharded by its key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from pyspark.sql import DataFrame

from panes.kernels.changelog.changes import CHANGE
from panes.kernels.changelog.normalize import Normalize
from panes.physical import plan as physical
from panes.physical.lineage import definitions
from panes.spark.chain import operate
from panes.spark.expressions import quoted
from panes.spark.pack import BATCH, BESIDE, KEEP, PLACE, TIME
from panes.spark.projection import Projection

if TYPE_CHECKING:
    from panes.spark.build import Builder


def normalize(plan: physical.Normalize, below: DataFrame, builder: Builder, feeds_another: bool) -> DataFrame:
    """The changes below with all old rows; those of a row that WHERE rejects delete it."""
    placement = plan.placement
    projection = Projection(below, placement, definitions(plan.input))
    key = tuple(projection.key_column(name) for name in placement.key)
    own = {
        name: projection.key_column(name) if name.lower() in placement.key else projection.row_column(name)
        for name in projection.own()
    }
    kernel = Normalize(
        key,
        tuple(own.values()),
        projection.key_column(CHANGE),
        (BATCH, PLACE),
        projection.key_column(placement.sequence) if placement.sequence is not None else None,
        TIME,
        placement.state_ttl,
        cast(Literal["fail", "skip"], placement.on_inconsistency),
        KEEP if KEEP in below.columns else None,
        placement.key,
    )
    outputs = [*((name, projection.type(name)) for name in own.values()), (CHANGE, "string")]
    done = operate(plan, kernel, projection, key, outputs, builder, feeds_another, takes_rejected=True)
    columns = [f"{column} AS {quoted(name)}" for name, column in own.items()]
    return done.selectExpr(*columns, CHANGE, *(name for name in BESIDE if name in done.columns))
