"""The frames of OVER calls on Spark: RANGE bounds become columns, and Spark says how far away they are."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from panes import frames
from panes.errors import PanesError
from panes.frames import Edge, Unit
from panes.kernels.over.calls import WHOLE, Bound, Frame, Values
from panes.kernels.spark_types import INTEGRAL, Decimal, decimal
from panes.physical import plan as physical
from panes.spark.expressions import type_of
from panes.spark.projection import Projection

DAY = 86_400_000_000


def over_frame(frame: frames.Frame[str] | None, order_by: Sequence[physical.Order], projection: Projection) -> Frame:
    """The frame of a call; left out, it is Spark's: up to the row's peers, without ORDER BY the whole partition."""
    if frame is None:
        return Frame(Unit.RANGE, Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.CURRENT_ROW)) if order_by else WHOLE
    if frame.unit is Unit.ROWS:
        return frame.map(int)
    spans = _spans(frame, order_by[0].sql, projection.below) if order_by else [0, 0]
    start, end = (_bound(*one, order_by, projection) for one in zip(frame.ends, spans, strict=True))
    return Frame(frame.unit, start, end)


def _bound(
    bound: frames.Bound[str], distance: float, order_by: Sequence[physical.Order], projection: Projection
) -> Bound:
    edge = bound.edge
    if bound.offset is None:
        return Bound(edge)
    key = order_by[0]
    type_ = type_of(key.sql, projection.below)
    minus = (edge is Edge.PRECEDING) != key.descending
    span = _longest(int(distance)) if type_.startswith("timestamp") else 0
    if type_.startswith("timestamp") and span < DAY:
        own = projection.sort_key(key.sql)
        shift = -span if minus else span
        return Bound(edge, Values(f"{own} {shift:+}", span, shift))
    offset = f"CAST({bound.offset} AS {type_})" if _is_number(type_) else f"({bound.offset})"  # as Spark casts it
    fixed = decimal(type_)
    value = f"CAST(({key.sql}) {'-' if minus else '+'} {offset} AS {type_})"
    value = value if fixed is None else _within(fixed, type_, f"({key.sql})", offset, minus)
    return Bound(edge, Values(projection.column(value), span))


def _within(type_: Decimal, name: str, key: str, offset: str, minus: bool) -> str:
    """A bound beyond the ends of a decimal type is at its end: Spark's own windows do not fail there."""
    digits = "9" * type_.precision
    end = f"{'-' if minus else ''}{digits[type_.scale :]}.{digits[: type_.scale]}"
    moved = f"try_cast({'try_subtract' if minus else 'try_add'}({key}, {offset}) AS {name})"
    return f"coalesce({moved}, CASE WHEN {key} IS NOT NULL THEN CAST('{end}' AS {name}) END)"


def _is_number(type_: str) -> bool:
    return type_ in (*INTEGRAL, "float", "double") or decimal(type_) is not None


def _spans(frame: frames.Frame[str], key: str, below: DataFrame) -> list[float]:
    """How far the bounds of a RANGE frame are away, in microseconds where ORDER BY is a time or a date."""
    offsets = [bound.offset for bound in frame.ends]
    if offsets == [None, None]:
        return [0, 0]
    type_ = type_of(key, below)
    texts = [_span(offset, type_) if offset is not None else "0" for offset in offsets]
    written = frames.frame_sql(frame)
    mismatch = PanesError(
        "over-arguments",
        f"{written} does not go with ORDER BY {key}, a {type_}",
        hint="An interval goes with times and dates, a number with numbers and dates.",
    )
    if not (_is_number(type_) or type_ == "date" or type_.startswith("timestamp")):
        raise mismatch
    try:
        row = below.sparkSession.sql(f"SELECT {texts[0]} AS first, {texts[1]} AS last").collect()[0]
    except AnalysisException as error:
        raise mismatch from error
    start, end = row["first"], row["last"]
    if any(span is None or not span >= 0 for span in (start, end)):
        raise PanesError("over-arguments", f"an offset in {written} is NULL or negative")
    near, far = (end, start) if frame.start.edge is Edge.PRECEDING else (start, end)
    if frame.start.edge is frame.end.edge and far < near:
        raise PanesError("over-arguments", f"{written} ends before it starts")
    return [start, end]


def _span(offset: str, type_: str) -> str:
    if not type_.startswith("timestamp") and type_ != "date":
        return f"CAST({offset} AS DOUBLE)"
    start = "TIMESTAMP'2000-07-01 00:00:00'" if type_ != "date" else "DATE'2000-07-01'"
    return f"unix_micros(CAST({start} + ({offset}) AS TIMESTAMP)) - unix_micros(CAST({start} AS TIMESTAMP))"


def _longest(span: int) -> int:
    """The most microseconds that an interval can be: months differ in length, and days where clocks are changed."""
    return span if span < DAY else span * 9 // 8 + DAY
