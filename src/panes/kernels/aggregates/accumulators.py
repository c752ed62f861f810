"""Accumulators: for each aggregate how rows are folded, how partial results merge, and what comes out.

To add an aggregate, add a row to `panes.functions.aggregates.AGGREGATES` and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from panes.functions.aggregates import Cast, aggregate
from panes.functions.within import Direction
from panes.kernels.aggregates.accumulator import (
    ARGUMENTS,
    AS_IS,
    Accumulator,
    Asked,
    Constant,
    Finish,
    Sketched,
    given,
    sketched,
)
from panes.kernels.aggregates.kept_values import discrete_percentile, listed, listed_once, mode, percentile
from panes.kernels.aggregates.pairs import BOTH, VALUES, of_pairs
from panes.kernels.aggregates.variance import POPULATION, SAMPLE, variance
from panes.kernels.sketches.distinct import distinct
from panes.kernels.sketches.moments import Moments
from panes.kernels.sketches.quantiles import Quantiles
from panes.kernels.spark_types import INTEGRAL, decimal, ranked_type, sortable


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
        case Cast.BITS:
            return None
        case Cast.TEXT:
            return "string"
        case _:
            assert_never(cast)


def accumulator(
    function: str,
    types: Sequence[str],
    distinct: bool = False,
    ignore_nulls: bool = False,
    constant: Constant = None,
    accuracy: int | None = None,
    delimiter: str | None = None,
    within: tuple[Direction, ...] = (),
) -> Accumulator | None:
    """The accumulator of an aggregate over arguments of these Spark types; None if it has none here."""
    found = (OF_DISTINCT if distinct else ACCUMULATORS).get(function)
    return found(Asked(types, ignore_nulls, constant, accuracy, delimiter, within)) if found is not None else None


def _count(asked: Asked) -> Accumulator:
    return Accumulator("count(*) $w", "sum($s)::BIGINT", "$s", "bigint", AS_IS, given(asked.types))


def _count_if() -> Accumulator:
    return Accumulator("count(*) $w", "sum($s)::BIGINT", "$s", "bigint", AS_IS, "$x")


def _bits(function: str, x: str) -> Accumulator | None:
    if x not in INTEGRAL:
        return None
    return Accumulator(f"{function}($x) $w", f"{function}($s)", "$s", x, AS_IS)


def _trying(found: Accumulator) -> Accumulator:
    return replace(found, finish=replace(found.finish, tries=True))


def _average_in_pairs(argument: str, type_: str) -> Accumulator:
    average = _avg(type_)
    return replace(average, fold=average.fold.replace("$x", argument), counts=BOTH)


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
    return _set("len(coalesce($s, []))::BIGINT", "bigint", AS_IS, f"{{{values}}}", given(asked.types))


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


def _approximate_count(asked: Asked) -> Accumulator:
    """`$x` is a hash of 64 bits."""
    return sketched(Sketched(distinct(asked.constant if isinstance(asked.constant, float) else None)), "bigint")


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
    return sketched(Sketched(sketch, ranked.given, value), type_, Finish(cast=cast))


ACCUMULATORS: dict[str, Callable[[Asked], Accumulator | None]] = {
    "count": _count,
    "sum": lambda asked: _sum(asked.x),
    "avg": lambda asked: _avg(asked.x),
    "min": lambda asked: _extreme("min", asked.x),
    "max": lambda asked: _extreme("max", asked.x),
    "stddev_samp": lambda asked: variance(SAMPLE, "sqrt({})"),
    "stddev_pop": lambda asked: variance(POPULATION, "sqrt({})"),
    "var_samp": lambda asked: variance(SAMPLE),
    "var_pop": lambda asked: variance(POPULATION),
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
    "median": lambda asked: percentile(0.5),
    "percentile": lambda asked: percentile(asked.constant),
    "percentile_cont": lambda asked: percentile(asked.constant, asked.within),
    "percentile_disc": lambda asked: discrete_percentile(asked.constant, asked.within),
    "percentile_approx": _approximate_percentile,
    "count_if": lambda asked: _count_if(),
    "try_sum": lambda asked: _trying(_sum(asked.x)),
    "try_avg": lambda asked: _trying(_avg(asked.x)),
    "bit_and": lambda asked: _bits("bit_and", asked.x),
    "bit_or": lambda asked: _bits("bit_or", asked.x),
    "bit_xor": lambda asked: _bits("bit_xor", asked.x),
    "skewness": lambda asked: sketched(Sketched(Moments(3)), "double"),
    "kurtosis": lambda asked: sketched(Sketched(Moments(4)), "double"),
    "regr_count": _count,
    "regr_avgx": lambda asked: _average_in_pairs("$y", asked.types[1]),
    "regr_avgy": lambda asked: _average_in_pairs("$x", asked.x),
    "mode": mode,
    "listagg": listed,
    **{function: lambda asked, function=function: of_pairs(function) for function in VALUES},  # type: ignore[misc]
}
OF_DISTINCT: dict[str, Callable[[Asked], Accumulator]] = {
    "count": _distinct_count,
    "sum": _distinct_sum,
    "avg": _distinct_avg,
    "try_sum": lambda asked: _trying(_distinct_sum(asked)),
    "try_avg": lambda asked: _trying(_distinct_avg(asked)),
    "listagg": lambda asked: listed_once(asked, _ordered_set(asked.x)),
}
