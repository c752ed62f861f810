"""Aggregates over pairs (y, x): covariance, correlation and linear regression.

The state is the number of pairs, the means, and the sums of squares and products of distances from the means (`yy`,
`xx`, `yx`): merged pairwise, never a sum of products. Where all y are the same, `yy` and `yx` are exactly 0, however
the pairs were cut into parts, since Spark has no correlation there; so with x. Where `yy` or `xx` is not finite, `yx`
depends on the cuts, and NaN is taken.
"""

from __future__ import annotations

from panes.kernels.aggregates.accumulator import AS_IS, Accumulator
from panes.kernels.aggregates.variance import distances, mean, merge, merged_distances, merged_mean, squares

BOTH = "$x IS NOT NULL AND $y IS NOT NULL"
Y, X = "$x", "$y"  # of corr(y, x) y is the first argument
PRODUCTS = distances((Y, X), f"coalesce((covar_pop({Y}, {X}) $w) * (count(*) $w), 0)")

FOLD = (
    f"{{'n': (count(*) $w)::DOUBLE, 'y': {mean(Y)}, 'x': {mean(X)}, "
    f"'yy': {squares(Y)}, 'xx': {squares(X)}, 'yx': {PRODUCTS}}}"
)
PAIR = (
    f"{{'n': p.n + q.n, 'y': {merged_mean('y')}, 'x': {merged_mean('x')}, "
    f"'yy': {merged_distances('yy', 'y', 'y')}, 'xx': {merged_distances('xx', 'x', 'x')}, "
    f"'yx': {merged_distances('yx', 'y', 'x')}}}"
)

YX = "CASE WHEN isfinite($s.yy) AND isfinite($s.xx) THEN $s.yx ELSE 'nan' END"
SLOPE = f"({YX}) / $s.xx"
CORRELATION = f"({YX}) / sqrt($s.yy) / sqrt($s.xx)"  # a product of both would underflow
VALUES = {
    "corr": f"CASE WHEN $s.n > 1 AND $s.yy <> 0 AND $s.xx <> 0 THEN {CORRELATION} END",
    "covar_pop": f"CASE WHEN $s.n > 0 THEN ({YX}) / $s.n END",
    "covar_samp": f"CASE WHEN $s.n > 1 THEN ({YX}) / ($s.n - 1) END",
    "regr_sxx": "CASE WHEN $s.n > 0 THEN $s.xx END",
    "regr_syy": "CASE WHEN $s.n > 0 THEN $s.yy END",
    "regr_sxy": f"CASE WHEN $s.n > 0 THEN {YX} END",
    "regr_slope": f"CASE WHEN $s.xx <> 0 THEN {SLOPE} END",
    "regr_intercept": f"CASE WHEN $s.xx <> 0 THEN $s.y - {SLOPE} * $s.x END",
    "regr_r2": (
        f"CASE WHEN $s.xx = 0 THEN NULL WHEN $s.yy = 0 THEN 1.0 ELSE ({CORRELATION}) ** 2 END"
    ),
}  # fmt: skip


def of_pairs(function: str) -> Accumulator:
    """An aggregate over two doubles; pairs that lack one do not count."""
    return Accumulator(FOLD, merge(PAIR), VALUES[function], "double", AS_IS, BOTH)
