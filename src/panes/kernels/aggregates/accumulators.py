"""Accumulators: for each aggregate how rows are folded, how partial results merge, and what comes out.

The texts `fold`, `merge` and `evaluate` are DuckDB's: `$x`, `$y` are arguments, `$w` the condition, `$s` the state,
`$o` a row's place in the stream's order. `finish` is Spark's (`$v` is the value), so that types, overflow and rounding
are Spark's own. To add an aggregate, add a row to `panes.functions.aggregates.AGGREGATES` and an entry here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

ARGUMENTS = ("x", "y", *(f"x{number}" for number in range(3, 256)))
INTEGRAL = frozenset(("tinyint", "smallint", "int", "bigint"))


@dataclass(frozen=True)
class Accumulator:
    """`value_type` is the Spark type of what `evaluate` gives; `counts` restricts the rows that are folded.

    `compact` makes a state smaller that was folded or merged; `evaluate` takes one that was not made so, too.
    """

    fold: str
    merge: str
    evaluate: str
    value_type: str
    finish: str
    counts: str | None = None
    ordered: bool = False
    compact: str | None = None


@dataclass(frozen=True)
class Decimal:
    precision: int
    scale: int


def decimal(type_: str) -> Decimal | None:
    found = re.fullmatch(r"decimal\((\d+),(\d+)\)", type_)
    return Decimal(int(found[1]), int(found[2])) if found else None


def argument_cast(function: str, type_: str) -> str | None:
    """The Spark type an argument is cast to before it is folded: sums and averages of numbers are of a few types."""
    if function not in ("sum", "avg", "stddev_samp", "stddev_pop", "var_samp", "var_pop", "median", "percentile"):
        return None
    if function == "sum" or function == "avg":
        if type_ in INTEGRAL:
            return "bigint"
        if decimal(type_) is not None:
            return None
    return "double"


def accumulator(
    function: str, types: Sequence[str], distinct: bool = False, ignore_nulls: bool = False, constant: str = ""
) -> Accumulator | None:
    """The accumulator of an aggregate over arguments of these Spark types; None if it has none here."""
    x = types[0] if types else ""
    if distinct:
        return _distinct(function, types)
    match function:
        case "count":
            return Accumulator("count(*) $w", "sum($s)::BIGINT", "$s", "bigint", "$v", _given(types))
        case "sum":
            return _sum(x)
        case "avg":
            return _avg(x)
        case "min" | "max":
            return _extreme(function, x)
        case "bool_and" | "bool_or":
            return Accumulator(f"{function}($x) $w", f"{function}($s)", "$s", "boolean", "$v")
        case "stddev_samp" | "stddev_pop" | "var_samp" | "var_pop":
            return _variance(function)
        case "first" | "any_value" | "last" | "last_row":
            pick = "max" if function.startswith("last") else "min"
            counts = "$x IS NOT NULL" if ignore_nulls else None
            return Accumulator(f"{pick}({{'o': $o, 'v': $x}}) $w", f"{pick}($s)", "$s.v", x, "$v", counts, ordered=True)
        case "min_by" | "max_by":
            return _by("DESC" if function == "min_by" else "ASC", x, types[1])
        case "collect_list":
            return Accumulator(
                "list({'o': $o, 'v': $x}) $w",
                "flatten(list($s))",
                "list_transform(list_sort(coalesce($s, [])), lambda e: e.v)",
                f"array<{x}>",
                "$v",
                "$x IS NOT NULL",
                ordered=True,
            )
        case "collect_set":
            return _ordered_set(x)
        case "approx_count_distinct":
            return _approximate_count(hashes_kept(float(constant)) if constant else SMALLEST)
        case "median":
            return _percentile("0.5", "double")
        case "percentile" if len(types) == 2:
            return _percentile(constant, types[1])
    return None


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
    finish: str


ROOM = 10  # digits: sums of 10^10 decimals of 28 digits fit into 38


def _total(x: str) -> Total:
    """Only the final value is judged: on its way, a total of many digits is a number without limit, kept as text."""
    exact = decimal(x)
    if exact is None and x not in INTEGRAL:
        return Total("sum($x) $w", "sum($s)", "list_sum($s)", "double", "$v")
    if exact is None:
        whole = "DECIMAL(38, 0)"
        return Total(
            f"(sum($x) $w)::{whole}", f"sum($s)::{whole}", f"list_sum($s)::{whole}", "decimal(38,0)",
            "CAST($v AS BIGINT)",
        )  # fmt: skip
    result = f"decimal({min(38, exact.precision + ROOM)},{exact.scale})"
    if exact.precision + ROOM <= 38:
        return Total("sum($x) $w", "sum($s)", "list_sum($s)", f"decimal(38,{exact.scale})", f"CAST($v AS {result})")
    digits = "replace({}::VARCHAR, '.', '')::BIGNUM".format
    return Total(
        f"(sum({digits('$x')}) $w)::VARCHAR",
        "sum($s::BIGNUM)::VARCHAR",
        f"list_sum(list_transform($s, lambda e: {digits('e')}))::VARCHAR",
        "string",
        f"CAST(concat($v, 'E-{exact.scale}') AS {result})",
    )


def _sum(x: str) -> Accumulator:
    total = _total(x)
    return Accumulator(total.fold, total.merge, "$s", total.type, total.finish)


def _avg(x: str) -> Accumulator:
    total = _total(x)
    fold = f"{{'total': {total.fold}, 'n': count($x) $w}}"
    merge = f"{{'total': {total.merge.replace('$s', '$s.total')}, 'n': sum($s.n)::BIGINT}}"
    if decimal(x) is None:
        return Accumulator(fold, merge, "$s.total::DOUBLE / nullif($s.n, 0)", "double", "$v")
    evaluate, finish = _quotient(x, "$s.total", "$s.n")
    return Accumulator(fold, merge, evaluate, "string", finish)


def _quotient(x: str, total: str, n: str) -> tuple[str, str]:
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
    return evaluate, f"CAST(concat($v, 'E-{scale}') AS decimal({min(38, exact.precision + 4)},{scale}))"


def _extreme(function: str, x: str) -> Accumulator:
    if sortable("$x", x) == "$x":
        return Accumulator(f"{function}($x) $w", f"{function}($s)", "$s", x, "$v")
    pick = f"arg_{function}"
    return Accumulator(f"{pick}($x, {sortable('$x', x)}) $w", f"{pick}($s, {sortable('$s', x)})", "$s", x, "$v")


def sortable(value: str, type_: str, depth: int = 0) -> str:
    """A value that DuckDB compares as Spark compares `value`: inside a struct or an array NULL comes first.

    >>> sortable("v", "int")
    'v'
    >>> sortable("v", "array<int>")
    'list_transform(v, lambda e0: {n: e0 IS NOT NULL, v: e0})'
    """
    inner = type_[type_.index("<") + 1 : -1] if type_.endswith(">") else ""
    if type_.startswith("array<"):
        one = f"e{depth}"
        return f"list_transform({value}, lambda {one}: {{n: {one} IS NOT NULL, v: {sortable(one, inner, depth + 1)}}})"
    if not type_.startswith("struct<"):
        return value
    parts = []
    for number, field in enumerate(_fields(inner), 1):
        part = f"struct_extract_at({value}, {number})"
        parts += [f"n{number}: {part} IS NOT NULL", f"v{number}: {sortable(part, field, depth)}"]
    return f"CASE WHEN {value} IS NOT NULL THEN {{{', '.join(parts)}}} END"


def _fields(text: str) -> list[str]:
    """The types of a struct's fields.

    >>> _fields("a:int,b:struct<c:int,d:decimal(10,2)>")
    ['int', 'struct<c:int,d:decimal(10,2)>']
    """
    found, depth, start = [], 0, 0
    for at, letter in enumerate(f"{text},"):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            found.append(text[start:at].partition(":")[2])
            start = at + 1
    return found


def _variance(function: str) -> Accumulator:
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
    least, by = (1, "$s.n - 1") if function.endswith("samp") else (0, "$s.n")
    value = f"CASE WHEN $s.n > {least} THEN $s.m2 / ({by}) END"
    return Accumulator(fold, merge, f"sqrt({value})" if function.startswith("std") else value, "double", "$v")


def _by(direction: str, x: str, y: str) -> Accumulator:
    """The value beside the least or greatest `$y`; of equals the last in the stream's order, as in Spark's own fold."""
    return Accumulator(
        f"last({{'y': $y, 'o': $o, 'v': $x}} ORDER BY {sortable('$y', y)} {direction}, $o) $w",
        f"last($s ORDER BY {sortable('$s.y', y)} {direction}, $s.o) FILTER (WHERE $s IS NOT NULL)",
        "$s.v",
        x,
        "$v",
        "$y IS NOT NULL",
        ordered=True,
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
        "$v",
        "$x IS NOT NULL",
        ordered=True,
        compact=f"list_transform({first}, lambda p: p[1])",
    )


def _set(
    evaluate: str, type_: str, finish: str, value: str = "$x", counts: str | None = "$x IS NOT NULL"
) -> Accumulator:
    return Accumulator(
        f"list(DISTINCT {value}) $w", "list_distinct(flatten(list($s)))", evaluate, type_, finish, counts
    )


def _distinct(function: str, types: Sequence[str]) -> Accumulator | None:
    """A set of values per group, whatever the function."""
    x = types[0] if types else ""
    match function:
        case "count" if len(types) > 1:
            values = ", ".join(f"'{name}': ${name}" for name, _ in zip(ARGUMENTS, types, strict=False))
            return _set("len(coalesce($s, []))::BIGINT", "bigint", "$v", f"{{{values}}}", _given(types))
        case "count" if types:
            return _set("len(coalesce($s, []))::BIGINT", "bigint", "$v")
        case "sum":
            return _set(_total(x).of_list, _total(x).type, _total(x).finish)
        case "avg" if decimal(x) is None:
            return _set("list_avg($s)", "double", "$v")
        case "avg":
            evaluate, finish = _quotient(x, _total(x).of_list, "len($s)")
            return _set(evaluate, "string", finish)
    return None


SMALLEST = 4096  # hashes kept: the error is about 1 / sqrt(4096) = 1.6 %, Spark's default is 5 %


def hashes_kept(error: float) -> int:
    """How many hashes give a relative standard deviation of at most `error`.

    >>> hashes_kept(0.05), hashes_kept(0.01)
    (402, 10002)
    """
    return ceil(round(error**-2, 6)) + 2


def _approximate_count(smallest: int) -> Accumulator:
    """The k smallest hashes of the values tell their density; `$x` is a 64-bit hash."""
    spread = f"(($s[{smallest}]::DOUBLE + 9223372036854775808.0) / 18446744073709551616.0)"
    return Accumulator(
        f"list_slice(list_sort(list(DISTINCT $x) $w), 1, {smallest})",
        f"list_slice(list_sort(list_distinct(flatten(list($s)))), 1, {smallest})",
        f"CASE WHEN $s IS NULL THEN 0 WHEN len($s) < {smallest} THEN len($s) "
        f"ELSE round({smallest - 1} / {spread}) END::BIGINT",
        "bigint",
        "$v",
        "$x IS NOT NULL",
    )


def _percentile(percentage: str, type_: str) -> Accumulator:
    """Between two neighbours in proportion, by Spark's formula, so that infinities give what they give there."""
    several = type_.startswith("array")
    at = "((len($s) - 1) * p::DOUBLE)"
    low, high = f"l[floor({at})::BIGINT + 1]", f"l[ceil({at})::BIGINT + 1]"
    value = f"CASE WHEN {low} = {high} THEN {low} ELSE {low} + ({high} - {low}) * ({at} - floor({at})) END"
    points = percentage if several else f"[{percentage}]"
    each = f"list_transform([list_sort($s)], lambda l: list_transform({points}, lambda p: {value}))[1]"
    return Accumulator(
        "list($x) $w",
        "flatten(list($s))",
        f"CASE WHEN len($s) > 0 THEN {each if several else f'{each}[1]'} END",
        "array<double>" if several else "double",
        "$v",
        "$x IS NOT NULL",
    )
