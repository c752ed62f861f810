"""Random queries with OVER: calls, partitions, orders and frames that a stream allows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .calls import ANY, FLAT, Call, window_function
from .choices import Choices
from .grammar import Scope, leaf
from .oracle import over_rows, plain_rows
from .shapes import Shape, filtered, then, where


@dataclass(frozen=True)
class Spec:
    """What stands in OVER, in both dialects."""

    partition: tuple[str, ...]
    order: tuple[str, ...]
    frame: str = ""
    ties: tuple[str, ...] = ()  # what breaks them though the query does not say so

    def sql(self, nulls: bool) -> str:
        keys = f"PARTITION BY {', '.join(self.partition)}" if self.partition else ""
        keys_ = [_explicit(one) for one in (*self.order, *self.ties)] if nulls else self.order
        order = f"ORDER BY {', '.join(keys_)}" if self.order else ""
        return " ".join(one for one in (keys, order, self.frame) if one)


def _explicit(key: str) -> str:
    if "NULLS" in key:
        return key
    return f"{key} NULLS LAST" if key.endswith("DESC") else f"{key} ASC NULLS FIRST"


def with_over(c: Choices, below: Shape, changes: bool) -> Shape:
    """Rows with calls over windows. Without changes, time comes first, unless a window's bound is in PARTITION BY."""
    closes = bool(below.bounds) and not changes
    calls: dict[str, tuple[Call, Spec]] = {}
    for i in range(1 + c.below(3)):
        partition = tuple(c.keys(below.keys, 0, 2))
        partition = (c.pick(below.bounds), *partition) if closes else partition
        order, total = _order(c, below, changes or closes)
        if not total and below.ordered and below.key == ("id",) and "id" in below.columns and c.chance(50):
            call, frame = by_rows(c, below.scope, bounded=not (changes or closes))
            calls[f"o{below.depth}_{i}"] = (call, Spec(partition, order, frame, ("id",)))
            continue
        call, framed = window_function(c, below.scope, total, bounded=not (changes or closes))
        frame = _frame(c, below, order, total, free=changes or closes) if framed else ""
        calls[f"o{below.depth}_{i}"] = (call, Spec(partition, order, frame))
    kept = [name for name in ("ts", "id", *below.bounds) if name in below.columns]
    kept += [name for name in c.some(list(below.columns), 0, 3) if name not in kept]
    test = filtered(c, below, 25)
    items = [*kept, *(f"{call.sql} OVER ({spec.sql(False)}) AS {name}" for name, (call, spec) in calls.items())]
    duck = [*kept]
    for name, (call, spec) in calls.items():
        duck.append(f"{call.duck} OVER ({spec.sql(True)}) AS {name}" if call.duck else f"NULL AS {name}")
    qualify = qualify_duck = ""
    if c.chance(25):
        partition = (below.bounds[0],) if closes else tuple(c.some(below.keys, 0, 1))
        order, total = _order(c, below, changes or closes)
        spec = Spec(partition, order)
        call_text = c.pick(["row_number()", "rank()"]) if total else c.pick(["rank()", "dense_rank()"])
        least = c.pick([1, 2, 3])
        qualify = f" QUALIFY {call_text} OVER ({spec.sql(False)}) <= {least}"
        qualify_duck = f" QUALIFY {call_text} OVER ({spec.sql(True)}) <= {least}"
    columns = {name: below.columns[name] for name in kept} | {name: call.type for name, (call, _) in calls.items()}
    unknown = tuple(name for name, (call, _) in calls.items() if call.duck is None)
    return replace(
        below,
        select=f"SELECT {', '.join(items)} FROM {below.source}{where(test)}{qualify}",
        columns=columns,
        oracle=then(below, lambda rows: over_rows(rows, duck, test, qualify_duck, unknown)),
        name="",
        depth=below.depth + 1,
        guessed=bool(unknown),
    )


def by_rows(c: Choices, scope: Scope, bounded: bool) -> tuple[Call, str]:
    """A call that looks at rows, not at peers, so that what breaks ties is seen; and its frame."""
    type_ = c.pick([one for one in ANY if scope.of(one)])
    x = leaf(c, scope, type_)
    end = "CURRENT ROW" if bounded else c.pick(["CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING"])
    frame = f"ROWS BETWEEN {c.pick(['1 PRECEDING', 'UNBOUNDED PRECEDING', '2 PRECEDING'])} AND {end}"
    match c.below(5):
        case 0:
            return Call("row_number()", "int", "row_number()"), ""
        case 1:
            return Call(f"lag({x})", type_, f"lag({x})"), ""
        case 2:
            return Call(f"first_value({x})", type_, f"first_value({x})"), frame
        case 3:
            return Call(f"last_value({x})", type_, f"last_value({x})"), frame
        case _:
            return Call("count(*)", "bigint", "count(*)"), frame


def top_n(c: Choices, below: Shape, changes: bool) -> Shape:
    """The first rows of each partition, by a rank that an outer WHERE tests."""
    order, total = _order(c, below, changes)
    spec = Spec(tuple(c.some(below.keys, 0, 2)), order)
    rank = c.pick(["row_number()", "rank()"]) if total else c.pick(["rank()", "dense_rank()"])
    kept = list(dict.fromkeys(["ts", "id", *c.some(list(below.columns), 1, 4)]))
    test = f"place {c.pick(['<= 1', '<= 3', '< 2', '= 1'])}"
    inner = f"SELECT *, {rank} OVER ({spec.sql(False)}) AS place FROM {below.source}"
    columns = {name: below.columns[name] for name in kept} | {"place": "int"}
    names = [*kept, "place"]
    duck = [*below.columns, f"{rank} OVER ({spec.sql(True)}) AS place"]
    oracle = then(below, lambda rows: plain_rows(over_rows(rows, duck, None, "", ()), names, test))
    select = f"SELECT {', '.join(names)} FROM ({inner}) WHERE {test}"
    return replace(below, select=select, columns=columns, oracle=oracle, name="", depth=below.depth + 1)


def _order(c: Choices, below: Shape, free: bool) -> tuple[tuple[str, ...], bool]:
    """ORDER BY and whether it leaves no ties."""
    if not free:
        more = ["id"] if below.ordered and (not below.unique or c.chance(30)) else []
        return (below.time or "ts", *more), below.ordered
    options = [name for name, type_ in below.columns.items() if type_ in FLAT and name != "id"]
    numbers = [name for name in DISTANCES if name in options]
    if numbers and c.chance(20):
        return (f"{c.pick(numbers)}{c.pick(DIRECTIONS)}",), False
    keys = [f"{name}{c.pick(DIRECTIONS)}" for name in c.some(options, 1, 2)]
    if below.ordered and "id" in below.columns and c.chance(70):
        return (*keys, c.pick(["id", "id DESC"])), True
    return tuple(keys), False


DIRECTIONS = ["", " DESC", " NULLS LAST", " DESC NULLS FIRST"]
# How far RANGE frames over numbers reach; over others Spark stops at an overflow, or DuckDB differs about NaN.
DISTANCES = {"n": ["0", "1", "2"], "d": ["0", "1", "2.5", "50000000"], "w": ["0.0e0", "1.0e0", "2.5e0"]}


def _frame(c: Choices, below: Shape, order: tuple[str, ...], total: bool, free: bool) -> str:
    """A frame that the order allows; where state is bounded, it does not look ahead forever."""
    if c.chance(25) or not order:
        return ""
    type_ = below.columns.get(order[0].split()[0], "")
    ranged = not total or c.chance(40)
    distances = DISTANCES.get(order[0].split()[0])
    if ranged and len(order) == 1 and distances is not None and c.chance(80):
        starts = ["UNBOUNDED PRECEDING", f"{c.pick(distances)} PRECEDING", "CURRENT ROW"]
        ends = ["CURRENT ROW", f"{c.pick(distances)} FOLLOWING", "UNBOUNDED FOLLOWING"]
    elif ranged and (len(order) > 1 or type_ not in ("timestamp", "timestamp_ntz") or order[0] not in ("ts", "we")):
        starts, ends = ["UNBOUNDED PRECEDING", "CURRENT ROW"], ["CURRENT ROW", "UNBOUNDED FOLLOWING"]
    elif ranged:
        amounts = [
            f"INTERVAL {n} {unit}"
            for n, unit in ((2, "SECONDS"), (500, "MILLISECONDS"), (0, "SECONDS"), (7, "SECONDS"), (1, "DAY"))
        ]
        starts = ["UNBOUNDED PRECEDING", f"{c.pick(amounts)} PRECEDING", "CURRENT ROW"]
        ends = ["CURRENT ROW", f"{c.pick(amounts)} FOLLOWING", "UNBOUNDED FOLLOWING"]
    else:
        starts = ["UNBOUNDED PRECEDING", f"{c.below(4)} PRECEDING", "CURRENT ROW"]
        ends = ["CURRENT ROW", f"{c.below(4)} FOLLOWING", "UNBOUNDED FOLLOWING"]
    if not free:
        ends.remove("UNBOUNDED FOLLOWING")
    return f"{'RANGE' if ranged else 'ROWS'} BETWEEN {c.pick(starts)} AND {c.pick(ends)}"
