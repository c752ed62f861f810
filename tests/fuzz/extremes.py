"""Texts that are very deep or very long; each takes a size."""

from __future__ import annotations

from collections.abc import Callable

Sized = Callable[[int], str]


def _around(before: str, middle: str, after: str, query: str = "SELECT {} FROM users") -> Sized:
    """`middle` in `n` layers of `before` and `after`."""
    return lambda n: query.format(before * n + middle + after * n)


def _list(item: str, query: str, separator: str = ", ") -> Sized:
    """`n` items, in which `#` is the number of each."""
    return lambda n: query.format(separator.join(item.replace("#", str(i)) for i in range(n)))


def _ctes(n: int) -> str:
    named = "".join(f", c{i} AS (SELECT a, ts FROM c{i - 1})" for i in range(1, n))
    return f"WITH c0 AS (SELECT a, ts FROM users){named} SELECT lag(a) FROM c{n - 1}"


def _doubling_views(n: int) -> str:
    """Each view reads the one before it twice, so that written out they are 2ⁿ."""
    pairs = "".join(
        f"CREATE VIEW p{i} AS SELECT l.k FROM p{i - 1} l JOIN q{i - 1} r ON l.k = r.k;"
        f"CREATE VIEW q{i} AS SELECT r.k FROM p{i - 1} l JOIN q{i - 1} r ON l.k = r.k;"
        for i in range(1, min(n, 100))
    )
    return f"CREATE VIEW p0 AS SELECT k FROM clicks; CREATE VIEW q0 AS SELECT k FROM clicks; {pairs} SELECT * FROM p0"


def _doubling_aliases(n: int) -> str:
    """Each alias stands for the one before it twice."""
    aliases = "".join(f", c{i - 1} + c{i - 1} AS c{i}" for i in range(1, n))
    return f"SELECT lag(a), a + a AS c0{aliases} FROM users"


DEEP: dict[str, Sized] = {
    "parentheses": _around("(", "a", ")"),
    "parentheses around a condition": _around("(", "a > 1", ")", "SELECT lag(a) FROM users WHERE {}"),
    "brackets": _around("tags[", "0", "]"),
    "arrays": _around("array(", "a", ")"),
    "braces": _around("{", "a", "}"),
    "mixed brackets": _around("(tags[{", "0", "}])"),
    "not": _around("NOT ", "flag", "", "SELECT lag(a) FROM users WHERE {}"),
    "minus": _around("- ", "a", ""),
    "tildes": _around("~", "a", ""),
    "case": _around("CASE WHEN flag THEN ", "a", " END"),
    "case in else": _around("CASE WHEN flag THEN 1 ELSE ", "a", " END", "SELECT lag(a) FROM users WHERE 1 = {}"),
    "cast": _around("CAST(", "a", " AS INT)"),
    "calls": _around("abs(", "a", ")"),
    "stateful calls": _around("lag(", "a", ")"),
    "stateful calls with a condition": _around("lag(a) FILTER (WHERE ", "flag", ")"),
    "aggregates": _around("sum(", "a", ")", "SELECT {} FROM users GROUP BY tumblingwindow('ss', 1)"),
    "over": _around("sum(", "a", ") OVER (ORDER BY ts)"),
    "over in over": _around("sum(a) OVER (ORDER BY ", "ts", ")"),
    "windows": _around("statewindow(", "flag", ", flag)", "SELECT a FROM users GROUP BY {}"),
    "sub-queries": _around("(SELECT * FROM ", "users", ")", "SELECT lag(a) FROM {}"),
    "stateful sub-queries": _around("(SELECT a, lag(a) FROM ", "users", ")", "SELECT a FROM {}"),
    "scalar sub-queries": _around("(SELECT ", "1", ")"),
    "exists": _around("EXISTS (SELECT 1 WHERE ", "true", ")", "SELECT a FROM users WHERE {}"),
    "with in with": _around("WITH w AS (", "SELECT a FROM users", ") SELECT * FROM w", "{}"),
    "queries in parentheses": _around("(", "SELECT lag(a) FROM users", ")", "{}"),
    "lambdas": _around("transform(tags, t -> ", "a", ")"),
    "explain": _around("EXPLAIN ", "SELECT a FROM users", "", "{}"),
    "types": _around("ARRAY<", "INT", ">", "CREATE STREAM deep (a {})"),
    "type of a cast": _around("ARRAY<", "INT", ">", "SELECT CAST(a AS {}), lag(a) FROM users"),
    "left brackets": _around("(", "a", ""),
    "right brackets": _around("", "a", ")"),
    "quotes": _around("'", "a", ""),
    "comments": _around("/* ", "a", " */"),
    "jinja": _around("{{ ", "a", " }}"),
}

LONG: dict[str, Sized] = {
    "columns": _list("a", "SELECT {} FROM users"),
    "stateful calls": _list("lag(a + #)", "SELECT {} FROM users"),
    "sum of stateful calls": _list("lag(a + #)", "SELECT {} FROM users", " + "),
    "aggregates": _list("sum(a + #)", "SELECT {} FROM users GROUP BY tumblingwindow('ss', 1)"),
    "frames": _list("sum(a) OVER (ORDER BY ts ROWS # PRECEDING)", "SELECT {} FROM users"),
    "partitions": _list("sum(a) OVER (PARTITION BY a + # ORDER BY ts)", "SELECT {} FROM users"),
    "stateful partitions": _list("lag(a) OVER (PARTITION BY a + #)", "SELECT {} FROM users"),
    "named windows": _list("w# AS (PARTITION BY a ORDER BY ts)", "SELECT sum(a) OVER w0 FROM users WINDOW {}"),
    "group keys": _list("a + #", "SELECT count(*) FROM users GROUP BY tumblingwindow('ss', 1), {}"),
    "partition keys": _list("a + #", "SELECT lag(a) OVER (PARTITION BY {}) FROM users"),
    "order keys": _list("a + #", "SELECT sum(a) OVER (ORDER BY ts, {}) FROM users"),
    "and": _list("a > #", "SELECT lag(a) FROM users WHERE {}", " AND "),
    "or": _list("a > #", "SELECT lag(a) FROM users WHERE {}", " OR "),
    "between": _list("a BETWEEN # AND #", "SELECT lag(a) FROM users WHERE {}", " AND "),
    "in": _list("#", "SELECT lag(a) FROM users WHERE a IN ({})"),
    "concatenation": _list("'#'", "SELECT {} FROM users", " || "),
    "case branches": _list("WHEN a = # THEN #", "SELECT lag(a), CASE {} END FROM users", " "),
    "arguments": _list("a", "SELECT had_changed(true, {}) FROM users"),
    "arguments of a call": _list("a", "SELECT lag(coalesce({})) FROM users"),
    "dotted name": _list("a#", "SELECT {} FROM users", "."),
    "dotted table": _list("a#", "SELECT a FROM {}", "."),
    "subscripts": _list("[0]", "SELECT tags{}, lag(a) FROM users", ""),
    "casts": _list("INT", "SELECT a::{}, lag(a) FROM users", "::"),
    "except": _list("a#", "SELECT * EXCEPT ({}) FROM users"),
    "unions": _list("SELECT a FROM users", "{}", " UNION ALL "),
    "joins": _list("users u#", "SELECT 1 FROM {}", " CROSS JOIN "),
    "tables": _list("users u#", "SELECT 1 FROM {}"),
    "values": _list("(#)", "VALUES {}"),
    "chain of with": _ctes,
    "doubling views": _doubling_views,
    "doubling aliases": _doubling_aliases,
    "with": _list("c# AS (SELECT a FROM users)", "WITH {} SELECT lag(a) FROM c0"),
    "declared columns": _list("c# INT", "CREATE STREAM long ({}); SELECT lag(c0) FROM long; DESCRIBE long"),
    "options": _list("o# = 'x'", "CREATE SINK long WITH (connector = 'console', {}); DESCRIBE long"),
    "statements": _list("SHOW STREAMS", "{}", "; "),
    "explained statements": _list("EXPLAIN SELECT 1", "{}", ";"),
    "empty statements": lambda n: ";" * n,
    "white space": lambda n: "SELECT" + " \n" * n + "a FROM users",
    "comments": lambda n: "SELECT a -- x\n" + "-- x\n" * n + "FROM users",
    "strings side by side": lambda n: "SELECT " + "'a' " * n + "FROM users",
    "identifier": lambda n: f"SELECT lag({'a' * n}) FROM users",
    "quoted identifier": lambda n: f"SELECT lag(a) AS `{'é' * n}` FROM users",
    "string": lambda n: f"SELECT lag('{'x' * n}') FROM users",
    "number": lambda n: f"SELECT lag(a, {'9' * n}) FROM users GROUP BY countwindow({'9' * n})",
    "ordinal": lambda n: f"SELECT a FROM users GROUP BY tumblingwindow('ss', 1), {'1' * n}",
    "limit of a rank": lambda n: f"SELECT * FROM users QUALIFY rank() OVER (ORDER BY ts) <= {'9' * n}",
    "fraction": lambda n: f"SELECT lag(a + 0.{'3' * n}) FROM users",
    "exponent": lambda n: f"SELECT lag(a + 1e{'9' * n}) FROM users",
    "watermark": lambda n: f"CREATE STREAM long (t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL {'9' * n} DAYS)",
    "commas": lambda n: f"SELECT a{',' * n} FROM users",
    "operators": lambda n: f"SELECT a {'+ ' * n} FROM users",
    "dots": lambda n: f"SELECT a{'.' * n}b FROM users",
    "stars": lambda n: f"SELECT {'*' * n} FROM users",
    "quotes": lambda n: f"SELECT {chr(39) * n} FROM users",
    "combining characters": lambda n: f"SELECT a{chr(0x301) * n} FROM users",
    "astral characters": lambda n: f"SELECT lag('{chr(0x1F600) * n}') AS {chr(0x1D4D0) * n} FROM users",
    "nul": lambda n: f"SELECT a{chr(0) * n} FROM users",
    "jinja": lambda n: "SELECT {{ a }}, {% if x %} " * n + "FROM users",
}  # fmt: skip

EXTREMES: dict[str, Sized] = {
    **{f"deep {name}": make for name, make in DEEP.items()},
    **{f"long {name}": make for name, make in LONG.items()},
}
