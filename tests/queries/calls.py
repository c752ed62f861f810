"""Random calls: aggregates, stateful functions and OVER functions, each in Spark's words and for an oracle.

`duck` is None where DuckDB says another thing: there only streams and batches are compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .choices import Choices
from .grammar import LITERALS, Scope, condition, expression, leaf

ORDER = "panes_order"  # a row's place in the stream, for DuckDB
ANY = ("int", "string", "double", "bigint", "boolean", "decimal(10,2)", "date", "timestamp", "timestamp_ntz",
       "struct<a:int,b:string>", "array<int>")  # fmt: skip
FLAT = ANY[:9]
ACCUMULATED = ("sum", "count", "min", "max", "avg")
FEW = ("int", "string")


@dataclass(frozen=True)
class Call:
    """A call as it stands in the query, its type, and DuckDB's form of it."""

    sql: str
    type: str
    duck: str | None = None


@dataclass(frozen=True)
class Aggregate:
    """`{x}` and `{y}` are arguments, `{f}` is the FILTER clause, `{c}` its condition; `exact` are the types that DuckDB
    treats as Spark does; `$x` in `type` is the argument's type."""

    sql: str
    duck: str
    takes: tuple[str, ...]
    exact: tuple[str, ...]
    type: str
    ordered: bool = False
    bounded: bool = True  # it may run over all of a stream's past


NUMBERS = ("int", "double")
EXACT = ("int", "decimal(10,2)")
GIVEN = "FILTER (WHERE {x} IS NOT NULL AND {c})"
BY = "FILTER (WHERE {y} IS NOT NULL AND {c})"
WITHIN = "WITHIN GROUP (ORDER BY {x}){f}"
INTS, TEXTS = (("int",), ("int",)), (("string",), ("string",))
LIST = f"coalesce(list({{x}} ORDER BY {{o}}) {GIVEN}, [])"
AGGREGATES = (
    Aggregate("count(*){f}", "count(*){f}", ("int",), ("int",), "bigint"),
    Aggregate("sum({x}){f}", "sum({x}){f}", (*NUMBERS, "decimal(10,2)"), EXACT, "sum"),
    Aggregate("count({x}){f}", "count({x}){f}", ANY, ANY, "bigint"),
    Aggregate("min({x}){f}", "min({x}){f}", ANY, FLAT, "$x"),
    Aggregate("max({x}){f}", "max({x}){f}", ANY, FLAT, "$x"),
    Aggregate("avg({x}){f}", "avg({x}){f}", (*NUMBERS, "decimal(10,2)"), ("int",), "avg"),
    Aggregate("stddev({x}){f}", "stddev_samp({x}){f}", NUMBERS, ("int",), "double"),
    Aggregate("var_pop({x}){f}", "var_pop({x}){f}", NUMBERS, ("int",), "double"),
    Aggregate("first({x}){f}", "first({x} ORDER BY {o}){f}", ANY, ANY, "$x", True),
    Aggregate("last({x}){f}", "last({x} ORDER BY {o}){f}", ANY, ANY, "$x", True),
    Aggregate("last_row({x}){f}", "last({x} ORDER BY {o}){f}", ANY, ANY, "$x", True),
    Aggregate("first({x}, true){f}", f"first({{x}} ORDER BY {{o}}) {GIVEN}", ANY, ANY, "$x", True),
    Aggregate("any_value({x}){f}", "first({x} ORDER BY {o}){f}", ANY, ANY, "$x", True),
    Aggregate("min_by({x}, {y}){f}", f"last({{x}} ORDER BY {{y}} DESC, {{o}}) {BY}", ANY, ANY, "$x", True),
    Aggregate("max_by({x}, {y}){f}", f"last({{x}} ORDER BY {{y}} ASC, {{o}}) {BY}", ANY, ANY, "$x", True),
    Aggregate("collect_list({x}){f}", LIST, ANY, ANY, "array<$x>", True, False),
    Aggregate("collect_set({x}){f}", "", ANY, (), "array<$x>", True, False),
    Aggregate("bool_and({x}){f}", "bool_and({x}){f}", ("boolean",), ("boolean",), "boolean"),
    Aggregate("bool_or({x}){f}", "bool_or({x}){f}", ("boolean",), ("boolean",), "boolean"),
    Aggregate("approx_count_distinct({x}){f}", "count(DISTINCT {x}){f}", FEW, FEW, "bigint"),
    Aggregate("median({x}){f}", "median({x}){f}", NUMBERS, ("int",), "double", False, False),
    Aggregate("percentile({x}, 0.3){f}", "quantile_cont({x}, 0.3){f}", NUMBERS, ("int",), "double", False, False),
    Aggregate("percentile_approx({x}, 0.3){f}", "quantile_disc({x}, 0.3){f}", NUMBERS, ("int",), "$x"),
    Aggregate(f"percentile_cont(0.3) {WITHIN}", "quantile_cont({x}, 0.3){f}", *INTS, "double", False, False),
    Aggregate(f"percentile_disc(0.3) {WITHIN}", "quantile_disc({x}, 0.3){f}", *INTS, "double", False, False),
    Aggregate(f"mode() {WITHIN}", "", FEW, (), "$x", False, False),
    Aggregate(f"listagg({{x}}, '/') {WITHIN}", "string_agg({x}, '/' ORDER BY {x}){f}", *TEXTS, "string", True, False),
    Aggregate("covar_pop({x}, {x}){f}", "covar_pop({x}, {x}){f}", ("int",), ("int",), "double"),
    Aggregate("bit_and({x}){f}", "bit_and({x}){f}", ("int",), ("int",), "int"),
    Aggregate("bit_xor({x}){f}", "bit_xor({x}){f}", ("int",), ("int",), "int"),
    Aggregate("count_if({x}){f}", "count(CASE WHEN {x} THEN 1 END){f}", ("boolean",), ("boolean",), "bigint"),
    Aggregate("count(DISTINCT {x}){f}", "count(DISTINCT {x}){f}", ANY, FLAT, "bigint", False, False),
    Aggregate("sum(DISTINCT {x}){f}", "sum(DISTINCT {x}){f}", EXACT, EXACT, "sum", False, False),
    Aggregate("avg(DISTINCT {x}){f}", "avg(DISTINCT {x}){f}", ("int",), ("int",), "double", False, False),
)
SUMS = {"int": "bigint", "double": "double", "decimal(10,2)": "decimal(20,2)"}
AVERAGES = {"int": "double", "double": "double", "decimal(10,2)": "decimal(14,6)"}


def aggregate(c: Choices, scope: Scope, ordered: bool, over: bool = False, bounded: bool = False) -> Call:
    """An aggregate call; `ordered` if the order of rows may matter, `bounded` if its state may not grow."""
    options = [one for one in AGGREGATES if (ordered or not one.ordered) and (one.bounded or not bounded)]
    options = [one for one in options if any(scope.of(type_) for type_ in one.takes)]
    one = c.pick(options)
    type_ = c.pick([type_ for type_ in one.takes if scope.of(type_)])
    filtered = condition(c, scope, 1) if c.chance(25) else None
    value = expression(c, scope, type_, 1)
    by = [type_ for type_ in ("int", "string", "double", "date") if scope.of(type_)] or [type_]
    by_type = c.pick(by) if "{y}" in one.sql else None
    parts = {
        "x": value,
        "y": expression(c, scope, by_type, 1) if by_type is not None else "",
        "f": f" FILTER (WHERE {filtered})" if filtered is not None else "",
        "c": filtered or "true",
        "o": ORDER,
    }
    result = {"sum": SUMS.get(type_, ""), "avg": AVERAGES.get(type_, "")}.get(one.type, one.type.replace("$x", type_))
    exact = type_ in one.exact and by_type in (None, *FLAT) and not (over and one.ordered)
    return Call(one.sql.format(**parts), result, one.duck.format(**parts) if exact else None)


@dataclass(frozen=True)
class Stateful:
    """A stateful call and what its plain definition must know of it; arguments are texts."""

    function: str
    args: tuple[str, ...]
    type: str
    partition: tuple[str, ...] = ()
    condition: str | None = None
    when: bool = False  # the condition stands in OVER
    ignore_nulls: bool = False
    n: int = 1
    default: str | None = None
    begin: str | None = None
    reset: str | None = None

    @property
    def sql(self) -> str:
        head = [str(self.ignore_nulls).lower()] if self.function in ("changed_col", "had_changed") else []
        more = [str(self.n)] if self.function == "lag" and (self.n != 1 or self.default) else []
        rest = [one for one in (self.default, self.begin, self.reset) if one is not None]
        nulls = " IGNORE NULLS" if self.ignore_nulls and self.function == "lag" else ""
        filter_ = f" FILTER (WHERE {self.condition})" if self.condition and not self.when else ""
        keys = f"PARTITION BY {', '.join(self.partition)}" if self.partition else ""
        inside = " ".join([keys, f"WHEN {self.condition}" if self.condition and self.when else ""]).strip()
        over = f" OVER ({inside})" if inside else ""
        return f"{self.function}({', '.join([*head, *self.args, *more, *rest])}){nulls}{filter_}{over}"


STATEFUL = ("lag", "latest", "had_changed", "changed_col", "row_number", *(f"acc_{one}" for one in ACCUMULATED))


def stateful(c: Choices, scope: Scope, keys: list[str]) -> Stateful:
    """A stateful call."""
    function = c.pick(STATEFUL)
    least = 1 if function == "row_number" else 0
    partition = tuple(c.keys(keys, least, 2)) if least or c.chance(75) else ()
    type_ = c.pick([one for one in ANY if scope.of(one)])
    if function in ("acc_sum", "acc_avg"):
        type_ = c.pick([one for one in ("int", "double") if scope.of(one)] or ["int"])
    if function in ("acc_min", "acc_max"):
        type_ = c.pick([one for one in FLAT if scope.of(one)])
    when = c.chance(50)
    common: dict[str, Any] = {
        "partition": partition,
        "condition": condition(c, scope, 1) if c.chance(30) else None,
        "when": when,
    }
    x = expression(c, scope, type_, 1)
    default = leaf(c, scope, type_) if type_ in LITERALS and c.chance(30) else None
    match function:
        case "lag":
            n, ignore = c.pick([1, 1, 2, 3]), c.chance(30)
            return Stateful("lag", (x,), type_, n=n, default=default, ignore_nulls=ignore, **common)
        case "latest":
            return Stateful("latest", (x,), type_, default=default, **common)
        case "had_changed" | "changed_col":
            more = (leaf(c, scope, "int"),) if function == "had_changed" and scope.of("int") and c.chance(30) else ()
            result = "boolean" if function == "had_changed" else type_
            return Stateful(function, (x, *more), result, ignore_nulls=c.chance(50), **common)
        case "row_number":
            return Stateful("row_number", (), "bigint", **common)
        case _:
            results: Mapping[str, str] = {"acc_sum": SUMS.get(type_, ""), "acc_avg": "double", "acc_count": "bigint"}
            begin = condition(c, scope, 1) if c.chance(30) else None
            reset = condition(c, scope, 1) if begin is not None and c.chance(60) else None
            return Stateful(function, (x,), results.get(function, type_), begin=begin, reset=reset, **common)


def window_function(c: Choices, scope: Scope, total: bool, bounded: bool) -> tuple[Call, bool]:
    """A function over a window, and whether it takes a frame; `total` if the order leaves no ties."""
    names = (
        ["row_number", "lag", "lead", "rank", "dense_rank", "first_value", "last_value", "nth_value"] if total else []
    )
    names += [] if bounded else ["percent_rank", "cume_dist", "ntile"] if total else ["percent_rank", "cume_dist"]
    name = c.pick(["aggregate", "aggregate", "rank", "dense_rank", *names])
    type_ = c.pick([one for one in ANY if scope.of(one)])
    x = expression(c, scope, type_, 1)
    nulls = " IGNORE NULLS" if c.chance(25) else ""
    match name:
        case "aggregate":
            return aggregate(c, scope, total, over=True, bounded=bounded), True
        case "lag" | "lead":
            n = c.pick([1, 2, 0, 3])
            default = f", {leaf(c, scope, type_)}" if type_ in LITERALS and c.chance(30) else ""
            duck = None if nulls else f"{name}({x}, {n}{default})"
            return Call(f"{name}({x}, {n}{default}){nulls}", type_, duck), False
        case "first_value" | "last_value":
            return Call(f"{name}({x}){nulls}", type_, f"{name}({x}{nulls})"), True
        case "nth_value":
            n = c.pick([1, 2, 3])
            return Call(f"nth_value({x}, {n}){nulls}", type_, f"nth_value({x}, {n}{nulls})"), True
        case "ntile":
            return Call("ntile(3)", "int", "ntile(3)"), False
        case "percent_rank" | "cume_dist":
            return Call(f"{name}()", "double", f"{name}()"), False
        case _:
            return Call(f"{name}()", "int", f"{name}()"), False
