"""Aggregates over pairs (y, x): covariance, correlation and linear regression.

The state is the number of pairs, the means, and the sums of squares and products of distances from the means (`yy`,
`xx`, `yx`): merged pairwise, never a sum of products. Where all y are the same, `yy` and `yx` are exactly 0, however
the pairs were cut into parts, since Spark has no correlation there; so with x.
"""

from __future__ import annotations

from panes.kernels.aggregates.accumulator import AS_IS, Accumulator

BOTH = "$x IS NOT NULL AND $y IS NOT NULL"
Y, X = "$x", "$y"  # of corr(y, x) y is the first argument


def _mean(value: str) -> str:
    """Between the least and the greatest, which an average of equal numbers may miss by a digit."""
    return f"coalesce(greatest(min({value}) $w, least(max({value}) $w, avg({value}) $w)), 0)"


def _distances(value: str, other: str, moment: str) -> str:
    wild = " OR ".join(f"NOT isfinite({one})" for one in dict.fromkeys((value, other)))
    equal = " OR ".join(f"(min({one}) $w) = (max({one}) $w)" for one in dict.fromkeys((value, other)))
    return (
        f"CASE WHEN bool_or({wild}) $w THEN 'nan' WHEN {equal} THEN 0 "
        f"ELSE coalesce(({moment} $w) * (count(*) $w), 0) END"
    )


FOLD = (
    f"{{'n': (count(*) $w)::DOUBLE, 'y': {_mean(Y)}, 'x': {_mean(X)}, "
    f"'yy': {_distances(Y, Y, f'var_pop({Y})')}, 'xx': {_distances(X, X, f'var_pop({X})')}, "
    f"'yx': {_distances(Y, X, f'covar_pop({Y}, {X})')}}}"
)


def _merged(name: str, left: str, right: str) -> str:
    apart = f"(q.{left} - p.{left}) * (q.{right} - p.{right})"
    return f"'{name}': p.{name} + q.{name} + {apart} * p.n * q.n / (p.n + q.n)"


PAIR = (
    "{'n': p.n + q.n, 'y': p.y + (q.y - p.y) * q.n / (p.n + q.n), 'x': p.x + (q.x - p.x) * q.n / (p.n + q.n), "
    f"{_merged('yy', 'y', 'y')}, {_merged('xx', 'x', 'x')}, {_merged('yx', 'y', 'x')}}}"
)
MERGE = f"list_reduce(list($s), lambda p, q: CASE WHEN p.n = 0 THEN q WHEN q.n = 0 THEN p ELSE {PAIR} END)"

SLOPE = "$s.yx / $s.xx"
CORRELATION = "$s.yx / sqrt($s.yy) / sqrt($s.xx)"  # a product of both would underflow
VALUES = {
    "corr": f"CASE WHEN $s.n > 1 AND $s.yy <> 0 AND $s.xx <> 0 THEN {CORRELATION} END",
    "covar_pop": "CASE WHEN $s.n > 0 THEN $s.yx / $s.n END",
    "covar_samp": "CASE WHEN $s.n > 1 THEN $s.yx / ($s.n - 1) END",
    "regr_sxx": "CASE WHEN $s.n > 0 THEN $s.xx END",
    "regr_syy": "CASE WHEN $s.n > 0 THEN $s.yy END",
    "regr_sxy": "CASE WHEN $s.n > 0 THEN $s.yx END",
    "regr_slope": f"CASE WHEN $s.xx <> 0 THEN {SLOPE} END",
    "regr_intercept": f"CASE WHEN $s.xx <> 0 THEN $s.y - {SLOPE} * $s.x END",
    "regr_r2": (
        f"CASE WHEN $s.xx = 0 THEN NULL WHEN $s.yy = 0 THEN 1.0 ELSE ({CORRELATION}) ** 2 END"
    ),
}  # fmt: skip


def of_pairs(function: str) -> Accumulator:
    """An aggregate over two doubles; pairs that lack one do not count."""
    return Accumulator(FOLD, MERGE, VALUES[function], "double", AS_IS, BOTH)
