"""Aggregates that keep their values: percentiles, the most frequent value, and texts put together."""

from __future__ import annotations

from dataclasses import replace

from panes.functions.within import Direction
from panes.kernels.aggregates.accumulator import ARGUMENTS, AS_IS, Accumulator, Asked, Constant
from panes.kernels.duck import literal
from panes.kernels.spark_types import sortable

EACH = "list_transform(list_sort({}), lambda e: e.v)"


def _sorted(within: tuple[Direction, ...]) -> str:
    return "list_sort($s, 'DESC')" if any(one.descending for one in within) else "list_sort($s)"


def _points(value: str, percentages: Constant, within: tuple[Direction, ...]) -> Accumulator:
    """A value at each point `p` of the sorted list `l`."""
    several = isinstance(percentages, tuple)
    points = list(percentages) if isinstance(percentages, tuple) else [percentages]
    each = f"list_transform([{_sorted(within)}], lambda l: list_transform({points}, lambda p: {value}))[1]"
    return Accumulator(
        "list($x) $w",
        "flatten(list($s))",
        f"CASE WHEN len($s) > 0 THEN {each if several else f'{each}[1]'} END",
        "array<double>" if several else "double",
        AS_IS,
        "$x IS NOT NULL",
        holds_values=True,
    )


def percentile(percentages: Constant, within: tuple[Direction, ...] = ()) -> Accumulator:
    """Between two neighbours in proportion, by Spark's formula, so that infinities give what they give there."""
    at = "((len($s) - 1) * p::DOUBLE)"
    low, high = f"l[floor({at})::BIGINT + 1]", f"l[ceil({at})::BIGINT + 1]"
    value = f"CASE WHEN {low} = {high} THEN {low} ELSE {low} + ({high} - {low}) * ({at} - floor({at})) END"
    return _points(value, percentages, within)


def discrete_percentile(percentages: Constant, within: tuple[Direction, ...]) -> Accumulator:
    """The first value that has so large a part of all values before and at it."""
    return _points("l[greatest(ceil(len($s) * p::DOUBLE)::BIGINT, 1)]", percentages, within)


def mode(asked: Asked) -> Accumulator:
    """The most frequent value; of several the least, or in descending order the greatest.

    DuckDB's `mode` takes of several the one that comes first.
    """
    values = _sorted(asked.within)
    if sortable("e", asked.x) != "e":
        keyed = f"list_transform($s, lambda e: {{'k': {sortable('e', asked.x)}, 'v': e}})"
        values = f"list_transform({values.replace('$s', keyed)}, lambda e: e.v)"
    value = f"$x + 0::{asked.x}" if asked.x in ("float", "double") else "$x"  # -0.0 is 0.0, as in Spark
    return Accumulator(
        f"list({value}) $w",
        "flatten(list($s))",
        f"list_mode({values})",
        asked.x,
        AS_IS,
        "$x IS NOT NULL",
        holds_values=True,
    )


def listed(asked: Asked) -> Accumulator:
    """Texts put together in the order of the keys of WITHIN GROUP, then in the stream's order."""
    keys = [name for name, _ in zip(ARGUMENTS[1:], asked.types[1:], strict=False)]
    given = "".join(f", '{name}': ${name}" for name in keys)
    entries = "coalesce($s, [])"
    if keys:
        entries = f"list_transform({entries}, lambda e: {{'k': {_sort_key(keys, asked)}, 'o': e.o, 'v': e.v}})"
    return Accumulator(
        f"list({{'o': $o, 'v': $x{given}}}) $w",
        "flatten(list($s))",
        _joined(EACH.format(entries), asked.delimiter),
        "string",
        AS_IS,
        "$x IS NOT NULL",
        ordered=True,
        holds_values=True,
    )


def listed_once(asked: Asked, ordered_set: Accumulator) -> Accumulator:
    """Each text once: where it first came, or in the order of the value that it was made of."""
    if not asked.within:
        return replace(ordered_set, evaluate=_joined(ordered_set.evaluate, asked.delimiter), value_type="string")
    key = _sort_key([ARGUMENTS[1]], asked)
    ordered = f"list_sort(list_distinct(list_transform(coalesce($s, []), lambda e: {{'k': {key}, 'v': e.v}})))"
    return Accumulator(
        f"list(DISTINCT {{'v': $x, '{ARGUMENTS[1]}': ${ARGUMENTS[1]}}}) $w",
        "list_distinct(flatten(list($s)))",
        _joined(f"list_transform({ordered}, lambda e: e.v)", asked.delimiter),
        "string",
        AS_IS,
        "$x IS NOT NULL",
        holds_values=True,
    )


def _sort_key(names: list[str], asked: Asked) -> str:
    """Bytes that sort as the keys of an entry `e` do."""
    parts = []
    for name, type_, direction in zip(names, asked.types[1:], asked.within, strict=True):
        parts += [sortable(f"e.{name}", type_), f"'{direction.full}'"]
    return f"create_sort_key({', '.join(parts)})"


def _joined(texts: str, delimiter: str | None) -> str:
    return (
        f"list_transform([{texts}], lambda t: CASE WHEN len(t) > 0 THEN array_to_string(t, {_text(delimiter)}) END)[1]"
    )


def _text(delimiter: str | None) -> str:
    return literal(delimiter or "").replace("$", "$$")  # `$` begins a name in the texts of accumulators
