"""Aggregates: names, signatures and what the planner must know of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from panes.functions.signature import Param, Signature, Takes


class Cast(Enum):
    """What Spark casts an argument to before it is folded."""

    NOTHING = "nothing"
    DOUBLE = "double"
    EXACT = "bigint for whole numbers, double for others; decimals stay"
    RANKED = "double for strings; numbers, dates and timestamps stay"


class Pick(Enum):
    """Which row of a frame has the value of a call."""

    FIRST = "first_value"
    LAST = "last_value"


@dataclass(frozen=True)
class Aggregate:
    """`holds_rows`: its accumulator grows with its input, so it cannot run over all of a stream's past.

    `compares`: it compares values of its last argument. `hashes`: its argument is hashed before it is folded.
    `made_of`: other aggregates that it is computed from where its values are doubles or whole numbers. `picks`: in a
    frame its value is that of one row. `star`: it takes `*`.
    """

    name: str
    signature: Signature
    aliases: tuple[str, ...] = ()
    distinct: bool = False
    holds_rows: bool = False
    ignores_nulls_on_request: bool = False
    star: bool = False
    cast: Cast = Cast.NOTHING
    compares: bool = False
    hashes: bool = False
    made_of: tuple[str, ...] = ()
    picks: Pick | None = None


_X = Signature((Param("x"),))
_XS = Signature((Param("x", repeated=True),))
_X_BY = Signature((Param("x"), Param("by")))
_X_AT = Signature((Param("x"), Param("percentage", Takes.PERCENTAGE)))
_X_ABOUT = Signature(
    (
        Param("x"),
        Param("percentage", Takes.PERCENTAGE),
        Param("accuracy", Takes.POSITIVE, optional=True),
    )
)
_X_WITHIN = Signature((Param("x"), Param("rsd", Takes.ERROR, optional=True)))
_CONDITION = Signature((Param("condition", Takes.CONDITION),))
_FIRST = Signature((Param("x"), Param("ignore_nulls", Takes.BOOLEAN, optional=True)))

AGGREGATES = (
    Aggregate("count", _XS, distinct=True, star=True),
    Aggregate("sum", _X, distinct=True, cast=Cast.EXACT),
    Aggregate("avg", _X, ("mean",), distinct=True, cast=Cast.EXACT, made_of=("sum", "count")),
    Aggregate("min", _X, compares=True),
    Aggregate("max", _X, compares=True),
    Aggregate("stddev_samp", _X, ("stddev", "std"), cast=Cast.DOUBLE),
    Aggregate("stddev_pop", _X, cast=Cast.DOUBLE),
    Aggregate("var_samp", _X, ("variance", "var"), cast=Cast.DOUBLE),
    Aggregate("var_pop", _X, cast=Cast.DOUBLE),
    Aggregate("first", _FIRST, ("first_value",), ignores_nulls_on_request=True, picks=Pick.FIRST),
    Aggregate("last", _FIRST, ("last_value",), ignores_nulls_on_request=True, picks=Pick.LAST),
    Aggregate("last_row", _X, picks=Pick.LAST),
    Aggregate("any_value", _FIRST, ignores_nulls_on_request=True, picks=Pick.FIRST),
    Aggregate("min_by", _X_BY, compares=True),
    Aggregate("max_by", _X_BY, compares=True),
    Aggregate("collect_list", _X, ("array_agg",), holds_rows=True),
    Aggregate("collect_set", _X, holds_rows=True, compares=True),
    Aggregate("bool_and", _CONDITION, ("every",)),
    Aggregate("bool_or", _CONDITION, ("some", "any")),
    Aggregate("approx_count_distinct", _X_WITHIN, compares=True, hashes=True),
    Aggregate("median", _X, holds_rows=True, cast=Cast.DOUBLE),
    Aggregate("percentile", _X_AT, holds_rows=True, cast=Cast.DOUBLE),
    Aggregate("percentile_approx", _X_ABOUT, ("approx_percentile",), cast=Cast.RANKED),
)

_BY_NAME = {aggregate.name: aggregate for aggregate in AGGREGATES}


def aggregate(name: str) -> Aggregate:
    """The row of an aggregate by its own name, not an alias."""
    return _BY_NAME[name]


# Spark's other aggregates: known by name, so that they are refused here and not taken for scalar functions.
SPARK_ONLY = frozenset(
    """
    approx_top_k approx_top_k_accumulate approx_top_k_combine bit_and bit_or bit_xor
    bitmap_and_agg bitmap_construct_agg bitmap_or_agg collect_union corr count_if count_min_sketch covar_pop
    covar_samp grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
    kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    kurtosis listagg measure mode percentile_cont percentile_disc regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg skewness string_agg
    theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double
    tuple_union_agg_integer vector_avg vector_sum
    """.split()
)
