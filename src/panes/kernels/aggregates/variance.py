"""Variances, and what they and regressions are made of: means, and sums of squared distances from them.

Two states merge without their values, never by a sum of squares:

    values   1 3   8          n 2, mean 2, m2 2   and   n 1, mean 8, m2 0
    merged   1 3 8            n 3, mean 4, m2 2 + 0 + (8 - 2)² · 2 · 1 / 3

The same rows give the same where all values are equal (m2 is exactly 0), where one is not finite (NaN), and where the
squares leave the range of a double (infinity), however the rows were cut into parts.
"""

from __future__ import annotations

from panes.kernels.aggregates.accumulator import AS_IS, Accumulator

SAMPLE, POPULATION = (1, "$s.n - 1"), (0, "$s.n")  # how many values it takes to have one, and what divides
INFINITY = "'inf'::DOUBLE"


def mean(value: str) -> str:
    """Between the least and the greatest, which an average of equal numbers may miss by a digit."""
    return f"coalesce(greatest(min({value}) $w, least(max({value}) $w, avg({value}) $w)), 0)"


def squares(value: str) -> str:
    """The sum of squared distances from the mean.

    DuckDB has NaN where a distance leaves the range of a double; NaN is greater than all, and no NULL is the least.
    """
    return distances((value,), f"least(coalesce(abs((var_pop({value}) $w) * (count({value}) $w)), 0), {INFINITY})")


def distances(values: tuple[str, ...], found: str) -> str:
    """A sum of squares or products of distances, NaN where a value is not finite, and 0 where one never differs."""
    wild = " OR ".join(f"NOT isfinite({one})" for one in values)
    equal = " OR ".join(f"(min({one}) $w) = (max({one}) $w)" for one in values)
    return f"CASE WHEN bool_or({wild}) $w THEN 'nan' WHEN {equal} THEN 0 ELSE {found} END"


def merged_mean(name: str) -> str:
    """That of the states `p` and `q`: between theirs, and exactly theirs where they are equal."""
    p, q = f"p.{name}", f"q.{name}"
    return f"greatest(least({p}, {q}), least(greatest({p}, {q}), {p} + ({q} - {p}) * q.n / (p.n + q.n)))"


def merged_distances(name: str, left: str, right: str) -> str:
    """The sum of squares or products of the distances from the means `left` and `right`."""
    apart = f"(q.{left} - p.{left}) * (q.{right} - p.{right})"
    return f"p.{name} + q.{name} + {apart} * (p.n * q.n / (p.n + q.n))"


def merge(pair: str) -> str:
    """How states merge, of which `pair` makes one of `p` and `q`."""
    return f"list_reduce(list($s), lambda p, q: CASE WHEN p.n = 0 THEN q WHEN q.n = 0 THEN p ELSE {pair} END)"


FOLD = f"{{'n': (count($x) $w)::DOUBLE, 'mean': {mean('$x')}, 'm2': {squares('$x')}}}"
PAIR = f"{{'n': p.n + q.n, 'mean': {merged_mean('mean')}, 'm2': {merged_distances('m2', 'mean', 'mean')}}}"


def variance(of: tuple[int, str], made: str = "{}") -> Accumulator:
    """The variance of a sample or of a population, or what is made of it."""
    least, by = of
    value = f"CASE WHEN $s.n > {least} THEN $s.m2 / ({by}) END"
    return Accumulator(FOLD, merge(PAIR), made.format(value), "double", AS_IS)
