"""Aggregates: names, signatures and what the planner must know of each."""

from __future__ import annotations

from dataclasses import dataclass

from panes.functions.signature import Param, Signature, Takes


@dataclass(frozen=True)
class Aggregate:
    """`holds_rows`: its accumulator grows with its input, so it cannot run over all of a stream's past."""

    name: str
    signature: Signature
    aliases: tuple[str, ...] = ()
    distinct: bool = False
    holds_rows: bool = False
    ignores_nulls_on_request: bool = False


_X = Signature((Param("x"),))
_X_BY = Signature((Param("x"), Param("by")))
_CONDITION = Signature((Param("condition", Takes.CONDITION),))
_FIRST = Signature((Param("x"), Param("ignore_nulls", Takes.BOOLEAN, optional=True)))

AGGREGATES = (
    Aggregate("count", Signature((Param("x", repeated=True),)), distinct=True),
    Aggregate("sum", _X, distinct=True),
    Aggregate("avg", _X, ("mean",), distinct=True),
    Aggregate("min", _X),
    Aggregate("max", _X),
    Aggregate("stddev_samp", _X, ("stddev", "std")),
    Aggregate("stddev_pop", _X),
    Aggregate("var_samp", _X, ("variance", "var")),
    Aggregate("var_pop", _X),
    Aggregate("first", _FIRST, ("first_value",), ignores_nulls_on_request=True),
    Aggregate("last", _FIRST, ("last_value",), ignores_nulls_on_request=True),
    Aggregate("last_row", _X),
    Aggregate("any_value", _FIRST, ignores_nulls_on_request=True),
    Aggregate("min_by", _X_BY),
    Aggregate("max_by", _X_BY),
    Aggregate("collect_list", _X, ("array_agg",), holds_rows=True),
    Aggregate("collect_set", _X, holds_rows=True),
    Aggregate("bool_and", _CONDITION, ("every",)),
    Aggregate("bool_or", _CONDITION, ("some", "any")),
    Aggregate("approx_count_distinct", Signature((Param("x"), Param("rsd", Takes.ERROR, optional=True)))),
    Aggregate("median", _X, holds_rows=True),
    Aggregate(
        "percentile",
        Signature((Param("x"), Param("percentage", Takes.PERCENTAGE))),
        holds_rows=True,
    ),
)

# Spark's other aggregates: known by name, so that they are refused here and not taken for scalar functions.
SPARK_ONLY = frozenset(
    """
    approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine bit_and bit_or bit_xor
    bitmap_and_agg bitmap_construct_agg bitmap_or_agg collect_union corr count_if count_min_sketch covar_pop
    covar_samp grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
    kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    kurtosis listagg measure mode percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg skewness string_agg
    theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double
    tuple_union_agg_integer vector_avg vector_sum
    """.split()
)
