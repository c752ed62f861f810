"""Accumulators: for each aggregate how rows are folded, how partial results merge, and what comes out.

The texts `fold`, `merge` and `evaluate` are DuckDB's: `$x`, `$y` are arguments, `$w` the condition, `$s` the state,
`$o` a row's place in the stream's order. `finish` is Spark's (`$v` is the value), so that types, overflow and rounding
are Spark's own. To add an aggregate, add a row to `panes.functions.aggregates.AGGREGATES` and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import Template
from typing import TypeAlias, assert_never

from panes.functions.aggregates import Cast, aggregate
from panes.kernels.sketches.distinct import distinct
from panes.kernels.sketches.quantiles import Quantiles
from panes.kernels.sketches.sketch import Sketch
from panes.kernels.spark_types import INTEGRAL, decimal, ranked_type, sortable

ARGUMENTS = ("x", "y", *(f"x{number}" for number in range(3, 256)))


@dataclass(frozen=True)
class Finish:
    """What Spark makes of a value `$v`, and the type that it casts this to in the end, if to any."""

    value: str = "$v"
    cast: str | None = None


AS_IS = Finish()


@dataclass(frozen=True)
class Sketched:
    """A sketch of what `given` makes of `$x`; `value` is made of `$v`, what it finds."""

    sketch: Sketch
    given: str = "$x"
    value: str = "$v"


@dataclass(frozen=True)
class Accumulator:
    """`value_type` is the Spark type of what `evaluate` gives; `counts` restricts the rows that are folded.

    `compact` makes a state smaller that was folded or merged; `evaluate` takes one that was not made so, too.
    `holds_values`: a state can hold many values; a sketch, so many at most. `in_window` is `fold` where DuckDB takes
    another text for a window.
    """

    fold: str
    merge: str
    evaluate: str
    value_type: str
    finish: Finish
    counts: str | None = None
    ordered: bool = False
    compact: str | None = None
    holds_values: bool = False
    in_window: str | None = None
    sketched: Sketched | None = None

    @property
    def is_value(self) -> bool:
        """Whether a state is the value."""
        return self.evaluate == "$s"


def argument_cast(function: str, type_: str) -> str | None:
    """The Spark type an argument is cast to before it is folded, if it is."""
    cast = aggregate(function).cast
    match cast:
        case Cast.NOTHING:
            return None
        case Cast.DOUBLE:
            return "double"
        case Cast.EXACT:
            if decimal(type_) is not None:
                return None
            return "bigint" if type_ in INTEGRAL else "double"
        case Cast.RANKED:
            return "double" if type_ == "string" else None
        case _:
            assert_never(cast)


Constant: TypeAlias = float | tuple[float, ...] | None


@dataclass(frozen=True)
class Asked:
    """What a call asks of an aggregate: over arguments of which Spark types, and with which constant."""

    types: Sequence[str]
    ignore_nulls: bool = False
    constant: Constant = None
    accuracy: int | None = None

    @property
    def x(self) -> str:
        return self.types[0]


def accumulator(
    function: str,
    types: Sequence[str],
    distinct: bool = False,
    ignore_nulls: bool = False,
    constant: Constant = None,
    accuracy: int | None = None,
) -> Accumulator | None:
    """The accumulator of an aggregate over arguments of these Spark types; None if it has none here."""
    found = (OF_DISTINCT if distinct else ACCUMULATORS).get(function)
    return found(Asked(types, ignore_nulls, constant, accuracy)) if found is not None else None


def _count(asked: Asked) -> Accumulator:
    return Accumulator("count(*) $w", "sum($s)::BIGINT", "$s", "bigint", AS_IS, _given(asked.types))


def _boolean(function: str) -> Accumulator:
    return Accumulator(f"{function}($x) $w", f"{function}($s)", "$s", "boolean", AS_IS)


def one_value(pick: str, type_: str, counts: str | None) -> Accumulator:
    """The value of the first or the last row of those that count, by `min` or `max` of its place."""
    return Accumulator(f"{pick}({{'o': $o, 'v': $x}}) $w", f"{pick}($s)", "$s.v", type_, AS_IS, counts, ordered=True)


def _one(pick: str, asked: Asked) -> Accumulator:
    return one_value(pick, asked.x, "$x IS NOT NULL" if asked.ignore_nulls else None)


def _list(asked: Asked) -> Accumulator:
    return Accumulator(
        "list({'o': $o, 'v': $x}) $w",
        "flatten(list($s))",
        "list_transform(list_sort(coalesce($s, [])), lambda e: e.v)",
        f"array<{asked.x}>",
        AS_IS,
        "$x IS NOT NULL",
        ordered=True,
        holds_values=True,
    )


def _given(types: Sequence[str]) -> str | None:
    """That no argument is NULL."""
    return " AND ".join(f"${name} IS NOT NULL" for name, _ in zip(ARGUMENTS, types, strict=False)) or None


@dataclass(frozen=True)
class Total:
    """How numbers of a type are added up: folded, merged, from a list; and what Spark makes of `$v` in the end."""

    fold: str
    merge: str
    of_list: str
    type: str
    finish: Finish


ROOM = 10  # digits: sums of 10^10 decimals of 28 digits fit into 38


def _total(x: str) -> Total:
    """Only the final value is judged: on its way, a total of many digits is a number without limit, kept as text."""
    exact = decimal(x)
    if exact is None and x not in INTEGRAL:
        return Total("sum($x) $w", "sum($s)", "list_sum($s)", "double", AS_IS)
    if exact is None:
        whole = "DECIMAL(38, 0)"
        return Total(
            f"(sum($x) $w)::{whole}", f"sum($s)::{whole}", f"list_sum($s)::{whole}", "decimal(38,0)",
            Finish(cast="BIGINT"),
        )  # fmt: skip
    result = f"decimal({min(38, exact.precision + ROOM)},{exact.scale})"
    if exact.precision + ROOM <= 38:
        return Total("sum($x) $w", "sum($s)", "list_sum($s)", f"decimal(38,{exact.scale})", Finish(cast=result))
    digits = "replace({}::VARCHAR, '.', '')::BIGNUM".format
    return Total(
        f"(sum({digits('$x')}) $w)::VARCHAR",
        "sum($s::BIGNUM)::VARCHAR",
        f"list_sum(list_transform($s, lambda e: {digits('e')}))::VARCHAR",
        "string",
        Finish(f"concat($v, 'E-{exact.scale}')", result),
    )


def _sum(x: str) -> Accumulator:
    total = _total(x)
    return Accumulator(total.fold, total.merge, "$s", total.type, total.finish)


def _avg(x: str) -> Accumulator:
    total = _total(x)
    fold = f"{{'total': {total.fold}, 'n': count($x) $w}}"
    merge = f"{{'total': {total.merge.replace('$s', '$s.total')}, 'n': sum($s.n)::BIGINT}}"
    if decimal(x) is None:
        return Accumulator(fold, merge, "$s.total::DOUBLE / nullif($s.n, 0)", "double", AS_IS)
    evaluate, finish = _quotient(x, "$s.total", "$s.n")
    return Accumulator(fold, merge, evaluate, "string", finish)


def _quotient(x: str, total: str, n: str) -> tuple[str, Finish]:
    """The average of decimals: all digits of Spark's result type, rounded half up, as text; and Spark's cast of it."""
    exact = decimal(x)
    assert exact is not None
    scale = min(38, exact.scale + 4)
    more = scale - exact.scale
    digits = f"TRY_CAST(replace(({total})::VARCHAR, '.', '') AS HUGEINT)"
    rest = f"((abs({digits}) % {n} * 2 * {10**more} + {n}) // (2 * {n}))"
    text = f"if({digits} < 0, '-', '') || (abs({digits}) // {n} + {rest} // {10**more})"
    text += f" || lpad(({rest} % {10**more})::VARCHAR, {more}, '0')" if more else ""
    evaluate = f"CASE WHEN {n} > 0 THEN coalesce({text}, '1E99') END"  # a total that no decimal can hold
    return evaluate, Finish(f"concat($v, 'E-{scale}')", f"decimal({min(38, exact.precision + 4)},{scale})")


def _extreme(function: str, x: str) -> Accumulator:
    if sortable("$x", x) == "$x":
        return Accumulator(f"{function}($x) $w", f"{function}($s)", "$s", x, AS_IS)
    pick = f"arg_{function}"
    return Accumulator(f"{pick}($x, {sortable('$x', x)}) $w", f"{pick}($s, {sortable('$s', x)})", "$s", x, AS_IS)


SAMPLE, POPULATION = (1, "$s.n - 1"), (0, "$s.n")  # how many values it takes to have one, and what divides


def _variance(of: tuple[int, str], made: str = "{}") -> Accumulator:
    """Count, mean and sum of squared distances from the mean: merged pairwise, never a sum of squares."""
    fold = (
        "{'n': (count($x) $w)::DOUBLE, 'mean': coalesce(avg($x) $w, 0), "
        "'m2': CASE WHEN bool_or(NOT isfinite($x)) $w THEN 'nan' "
        "ELSE coalesce((var_pop($x) $w) * (count($x) $w), 0) END}"
    )
    pair = (
        "{'n': p.n + q.n, 'mean': p.mean + (q.mean - p.mean) * q.n / (p.n + q.n), "
        "'m2': p.m2 + q.m2 + (q.mean - p.mean) * (q.mean - p.mean) * p.n * q.n / (p.n + q.n)}"
    )
    merge = f"list_reduce(list($s), lambda p, q: CASE WHEN p.n = 0 THEN q WHEN q.n = 0 THEN p ELSE {pair} END)"
    least, by = of
    value = f"CASE WHEN $s.n > {least} THEN $s.m2 / ({by}) END"
    return Accumulator(fold, merge, made.format(value), "double", AS_IS)


def _by(pick: str, asked: Asked) -> Accumulator:
    """The value beside the least or greatest `$y`; of equals the last in the stream's order, as in Spark's own fold.

    `last(… ORDER BY …)` takes no FILTER in a window; the greatest of (what it sorts by, place, value) is the same.
    """
    x, y = asked.types
    direction, place = {"min": ("DESC", "-$o"), "max": ("ASC", "$o")}[pick]
    by, state = sortable("$y", y), "{'y': $y, 'o': $o, 'v': $x}"
    return Accumulator(
        f"last({state} ORDER BY {by} {direction}, $o) $w",
        f"last($s ORDER BY {sortable('$s.y', y)} {direction}, $s.o) FILTER (WHERE $s IS NOT NULL)",
        "$s.v",
        x,
        AS_IS,
        "$y IS NOT NULL",
        ordered=True,
        in_window=f"({pick}({{'k': {by}, 'o': {place}, 's': {state}}}) $w).s",
    )


def _ordered_set(x: str) -> Accumulator:
    """Each value where it first came in the stream's order."""
    ordered = "list_sort(coalesce($s, []))"
    pairs = f"list_zip({ordered}, list_prepend(NULL, {ordered}), true)"
    first = f"list_filter({pairs}, lambda p: p[2] IS NULL OR p[1].v IS DISTINCT FROM p[2].v)"
    return Accumulator(
        "list({'v': $x, 'o': $o}) $w",
        "flatten(list($s))",
        f"list_transform(list_sort(list_transform({first}, lambda p: {{'o': p[1].o, 'v': p[1].v}})), lambda e: e.v)",
        f"array<{x}>",
        AS_IS,
        "$x IS NOT NULL",
        ordered=True,
        compact=f"list_transform({first}, lambda p: p[1])",
        holds_values=True,
    )


def _set(
    evaluate: str, type_: str, finish: Finish, value: str = "$x", counts: str | None = "$x IS NOT NULL"
) -> Accumulator:
    merge = "list_distinct(flatten(list($s)))"
    return Accumulator(f"list(DISTINCT {value}) $w", merge, evaluate, type_, finish, counts, holds_values=True)


def _distinct_count(asked: Asked) -> Accumulator:
    if len(asked.types) == 1:
        return _set("len(coalesce($s, []))::BIGINT", "bigint", AS_IS)
    values = ", ".join(f"'{name}': ${name}" for name, _ in zip(ARGUMENTS, asked.types, strict=False))
    return _set("len(coalesce($s, []))::BIGINT", "bigint", AS_IS, f"{{{values}}}", _given(asked.types))


def _distinct_sum(asked: Asked) -> Accumulator:
    total = _total(asked.x)
    return _set(total.of_list, total.type, total.finish)


def _distinct_avg(asked: Asked) -> Accumulator:
    if decimal(asked.x) is None:
        return _set("list_avg($s)", "double", AS_IS)
    evaluate, finish = _quotient(asked.x, _total(asked.x).of_list, "len($s)")
    return _set(evaluate, "string", finish)


SPARKS_ACCURACY = 10_000  # where a call has none
BUCKETS = 16  # of a quantile sketch, for each 1 of accuracy


def _sketched(sketched: Sketched, type_: str, finish: Finish = AS_IS) -> Accumulator:
    sketch = sketched.sketch
    return Accumulator(
        sketch.sql("fold", f"list({sketched.given}) $w"),
        sketch.sql("merge", "list($s)"),
        Template(sketched.value).substitute(v=sketch.sql("evaluate", "$s")),
        type_,
        finish,
        "$x IS NOT NULL",
        holds_values=True,
        sketched=sketched,
    )


def _approximate_count(asked: Asked) -> Accumulator:
    """`$x` is a hash of 64 bits."""
    return _sketched(Sketched(distinct(asked.constant if isinstance(asked.constant, float) else None)), "bigint")


def _approximate_percentile(asked: Asked) -> Accumulator | None:
    """Values are doubles in between, as Spark has it: whole numbers above 2^53 lose their last digits."""
    ranked = ranked_type(asked.x)
    if ranked is None:
        return None
    several = isinstance(asked.constant, tuple)
    points = asked.constant if isinstance(asked.constant, tuple) else (asked.constant or 0.0,)
    value = ranked.value.replace("$v", "e")
    value = f"list_transform($v, lambda e: {value})" if several else ranked.value.replace("$v", "$v[1]")
    sketch = Quantiles(BUCKETS * (asked.accuracy or SPARKS_ACCURACY), points)
    type_ = f"array<{ranked.type}>" if several else ranked.type
    cast = f"array<{ranked.cast}>" if several and ranked.cast else ranked.cast
    return _sketched(Sketched(sketch, ranked.given, value), type_, Finish(cast=cast))


def _percentile(percentages: Constant) -> Accumulator:
    """Between two neighbours in proportion, by Spark's formula, so that infinities give what they give there."""
    several = isinstance(percentages, tuple)
    at = "((len($s) - 1) * p::DOUBLE)"
    low, high = f"l[floor({at})::BIGINT + 1]", f"l[ceil({at})::BIGINT + 1]"
    value = f"CASE WHEN {low} = {high} THEN {low} ELSE {low} + ({high} - {low}) * ({at} - floor({at})) END"
    points = list(percentages) if isinstance(percentages, tuple) else [percentages]
    each = f"list_transform([list_sort($s)], lambda l: list_transform({points}, lambda p: {value}))[1]"
    return Accumulator(
        "list($x) $w",
        "flatten(list($s))",
        f"CASE WHEN len($s) > 0 THEN {each if several else f'{each}[1]'} END",
        "array<double>" if several else "double",
        AS_IS,
        "$x IS NOT NULL",
        holds_values=True,
    )


ACCUMULATORS: dict[str, Callable[[Asked], Accumulator | None]] = {
    "count": _count,
    "sum": lambda asked: _sum(asked.x),
    "avg": lambda asked: _avg(asked.x),
    "min": lambda asked: _extreme("min", asked.x),
    "max": lambda asked: _extreme("max", asked.x),
    "stddev_samp": lambda asked: _variance(SAMPLE, "sqrt({})"),
    "stddev_pop": lambda asked: _variance(POPULATION, "sqrt({})"),
    "var_samp": lambda asked: _variance(SAMPLE),
    "var_pop": lambda asked: _variance(POPULATION),
    "first": lambda asked: _one("min", asked),
    "last": lambda asked: _one("max", asked),
    "last_row": lambda asked: _one("max", asked),
    "any_value": lambda asked: _one("min", asked),
    "min_by": lambda asked: _by("min", asked),
    "max_by": lambda asked: _by("max", asked),
    "collect_list": _list,
    "collect_set": lambda asked: _ordered_set(asked.x),
    "bool_and": lambda asked: _boolean("bool_and"),
    "bool_or": lambda asked: _boolean("bool_or"),
    "approx_count_distinct": _approximate_count,
    "median": lambda asked: _percentile(0.5),
    "percentile": lambda asked: _percentile(asked.constant),
    "percentile_approx": _approximate_percentile,
}
OF_DISTINCT: dict[str, Callable[[Asked], Accumulator]] = {
    "count": _distinct_count,
    "sum": _distinct_sum,
    "avg": _distinct_avg,
}
