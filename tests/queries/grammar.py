"""Random scalar expressions that mean the same to Spark and to DuckDB, by their type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .choices import Choices

LITERALS: Mapping[str, tuple[str, ...]] = {
    "int": ("1", "0", "2", "-1"),
    "bigint": ("CAST(1 AS BIGINT)", "CAST(-7 AS BIGINT)"),
    "double": ("CAST(0.5 AS DOUBLE)", "CAST(0 AS DOUBLE)", "CAST('NaN' AS DOUBLE)"),
    "string": ("'a'", "''", "'x'"),
    "boolean": ("true", "false"),
    "decimal(10,2)": ("CAST(1.5 AS DECIMAL(10, 2))",),
    "date": ("DATE'1970-01-01'",),
    "timestamp": ("TIMESTAMP'1970-01-01 00:00:00'",),
    "timestamp_ntz": ("TIMESTAMP_NTZ'1970-01-01 00:00:00'",),
}
ORDERED = ("int", "bigint", "double", "string", "decimal(10,2)", "date", "timestamp", "timestamp_ntz")
SMALL = frozenset(("n", "j", "size"))  # integers whose sums and products stay small


@dataclass(frozen=True)
class Scope:
    """The columns that an expression may name, with their types."""

    columns: Mapping[str, str]

    def of(self, type_: str) -> list[str]:
        return [name for name, one in self.columns.items() if one == type_]

    @property
    def types(self) -> list[str]:
        return sorted(set(self.columns.values()))


def expression(c: Choices, scope: Scope, type_: str, depth: int = 2) -> str:
    """An expression of a type."""
    if depth == 0 or c.chance(60):
        return leaf(c, scope, type_)
    inner = depth - 1
    match type_, c.below(4):
        case _, 0:
            default = leaf(c, scope, type_)
            return (
                f"CASE WHEN {condition(c, scope, inner)} THEN {expression(c, scope, type_, inner)} ELSE {default} END"
            )
        case _, 1:
            return f"coalesce({expression(c, scope, type_, inner)}, {leaf(c, scope, type_)})"
        case "int", _:
            small = [name for name in scope.of("int") if name in SMALL] or ["1"]
            return f"({c.pick(small)} {c.pick('+-*')} {c.pick([*small, '2'])})"
        case "double", 2 if scope.of("int"):
            return f"CAST({c.pick(scope.of('int'))} AS DOUBLE)"
        case "double", _:
            return f"({leaf(c, scope, type_)} {c.pick('+-*')} {leaf(c, scope, type_)})"
        case "bigint", _ if scope.of("int"):
            return f"CAST({c.pick(scope.of('int'))} AS BIGINT)"
        case "string", 2:
            return f"upper({leaf(c, scope, type_)})"
        case "string", _:
            return f"({leaf(c, scope, type_)} || {leaf(c, scope, type_)})"
        case "boolean", _:
            return condition(c, scope, depth)
        case _:
            return leaf(c, scope, type_)


def leaf(c: Choices, scope: Scope, type_: str) -> str:
    options = scope.of(type_)
    if type_ in ("int", "string"):
        field = "a" if type_ == "int" else "b"
        options += [f"{name}.{field}" for name in scope.of("struct<a:int,b:string>")]
    if not options or (type_ in LITERALS and c.chance(10)):
        return c.pick(LITERALS[type_])
    return c.pick(options)


def condition(c: Choices, scope: Scope, depth: int = 2) -> str:
    """A condition, which may be NULL."""
    types = [one for one in ORDERED if scope.of(one)] or ["int"]
    match c.below(6):
        case 0 | 1:
            type_ = c.pick(types)
            operator = c.pick(["=", "<", ">=", "<>", "<=>"])
            right = c.pick(LITERALS[type_]) if c.chance(60) else leaf(c, scope, type_)
            return f"({expression(c, scope, type_, max(0, depth - 1))} {operator} {right})"
        case 2:
            return f"({c.pick(list(scope.columns))} IS {c.pick(['NULL', 'NOT NULL'])})"
        case 3 if scope.of("boolean"):
            return c.pick(scope.of("boolean"))
        case 4 if depth > 0:
            sides = (condition(c, scope, depth - 1), condition(c, scope, depth - 1))
            return f"({sides[0]} {c.pick(['AND', 'OR'])} {sides[1]})"
        case 5 if depth > 0:
            return f"(NOT {condition(c, scope, depth - 1)})"
        case _:
            type_ = c.pick(types)
            return f"({leaf(c, scope, type_)} IN ({', '.join(LITERALS[type_][:2])}))"
