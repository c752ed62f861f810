"""Spark's other aggregates: known by name, so that they are refused and not taken for scalar functions.

Each has a hint: what to write instead.
"""

from __future__ import annotations

_SKETCH = "Panes hands out no sketches: their bytes depend on the order of merges."
_DISTINCT = f"{_SKETCH} For a number of distinct values write approx_count_distinct(x), or count(DISTINCT x)."
_QUANTILE = f"{_SKETCH} For quantiles write percentile_approx(x, p)."
_TOP = "Count each value with count(*) and x in GROUP BY, and keep the first by row_number() in an outer query."
_BITMAP = "For a number of distinct values write count(DISTINCT x); for the values themselves collect_set(x)."
_SETS = "GROUPING SETS, CUBE and ROLLUP do not go with windows: write a query for each set of keys."
_COUNTS = "Count each value with count(*) and x in GROUP BY."

REFUSED = {
    "approx_top_k": _TOP,
    "approx_top_k_accumulate": _TOP,
    "approx_top_k_combine": _TOP,
    "bitmap_and_agg": _BITMAP,
    "bitmap_construct_agg": _BITMAP,
    "bitmap_or_agg": _BITMAP,
    "collect_union": "Write array_distinct(flatten(collect_list(x))).",
    "count_min_sketch": f"{_SKETCH} {_COUNTS}",
    "grouping": _SETS,
    "grouping_id": _SETS,
    "histogram_numeric": (
        "Its bins depend on the order of rows and merges. Write count(*) with width_bucket(x, low, high, n) in "
        "GROUP BY, or percentile_approx(x, array(0.1, 0.2, …))."
    ),
    "hll_sketch_agg": _DISTINCT,
    "hll_union_agg": _DISTINCT,
    "kll_merge_agg_bigint": _QUANTILE,
    "kll_merge_agg_double": _QUANTILE,
    "kll_merge_agg_float": _QUANTILE,
    "kll_sketch_agg_bigint": _QUANTILE,
    "kll_sketch_agg_double": _QUANTILE,
    "kll_sketch_agg_float": _QUANTILE,
    "measure": "Measures belong to metric views, which are no streams: write out the measure's own aggregates.",
    "schema_of_variant_agg": "Write collect_set(schema_of_variant(v)).",
    "theta_intersection_agg": _DISTINCT,
    "theta_sketch_agg": _DISTINCT,
    "theta_union_agg": _DISTINCT,
    "tuple_intersection_agg_double": _DISTINCT,
    "tuple_intersection_agg_integer": _DISTINCT,
    "tuple_sketch_agg_double": _DISTINCT,
    "tuple_sketch_agg_integer": _DISTINCT,
    "tuple_union_agg_double": _DISTINCT,
    "tuple_union_agg_integer": _DISTINCT,
    "vector_avg": "Write array(avg(x[0]), avg(x[1]), …).",
    "vector_sum": "Write array(sum(x[0]), sum(x[1]), …).",
}
