"""Queries of any size, one kind for each thing that a query can have very many of."""

from __future__ import annotations

from collections.abc import Callable

from panes.catalog import Catalog
from panes.compile import Compiled
from panes.functions import Functions
from panes.script import steps

FUNCTIONS = Functions()
WIDTH = 1_000


def declared() -> Catalog:
    """A stream `s` of four columns and a stream `wide` of 1,000."""
    columns = ", ".join(f"c{i} INT" for i in range(WIDTH))
    catalog = Catalog()
    script = f"""
        CREATE STREAM s (k STRING, v DOUBLE, n INT, ts TIMESTAMP,
                         WATERMARK FOR ts AS ts - INTERVAL 10 SECONDS, PRIMARY KEY (k));
        CREATE STREAM wide ({columns}, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 10 SECONDS)"""
    list(steps(script, catalog, FUNCTIONS))
    return catalog


def explained(sql: str, catalog: Catalog) -> str:
    """The text of EXPLAIN: the whole compiler, from text to text."""
    (compiled,) = steps(sql, catalog, FUNCTIONS)
    assert isinstance(compiled, Compiled)
    return compiled.explain()


def _listed(item: str, query: str, separator: str = ", ") -> Callable[[int], str]:
    """`n` items, in which `#` is the number of each."""
    return lambda n: query.format(separator.join(item.replace("#", str(i)) for i in range(n)))


def _ctes(n: int) -> str:
    """A chain of WITH as long as a plan can be high, and then more that nobody reads."""
    chain = [f"c{i} AS (SELECT v, ts FROM {f'c{i - 1}' if i else 's'})" for i in range(n)]
    return f"WITH {', '.join(chain)} SELECT lag(v) FROM c{min(n, DEEPEST) - 1}"


HIGH = 120  # a plan may be 150 operators high
DEEPEST = 100
WINDOW = "GROUP BY tumblingwindow('ss', 10)"

KINDS: dict[str, Callable[[int], str]] = {
    "stateful calls": _listed("lag(v + #) AS x#", "SELECT {} FROM s"),
    "stateful calls in one expression": _listed("lag(v + #)", "SELECT {} AS x FROM s", " + "),
    "equal stateful calls": _listed("lag(v)", "SELECT {} FROM s"),
    "aggregates": _listed("sum(v + #) AS x#", f"SELECT {{}} FROM s {WINDOW}, k"),
    "aggregates with conditions": _listed("sum(v) FILTER (WHERE n = #)", f"SELECT {{}} FROM s {WINDOW}, k"),
    "conditions of HAVING": _listed("sum(v + #) > 1", f"SELECT count(*) FROM s {WINDOW} HAVING {{}}", " AND "),
    "group keys": _listed("n + #", f"SELECT count(*) FROM s {WINDOW}, {{}}"),
    "OVER, one window": _listed("sum(v + #) OVER (PARTITION BY k ORDER BY ts) AS x#", "SELECT {} FROM s"),
    "OVER, many frames": _listed("sum(v) OVER (PARTITION BY k ORDER BY ts ROWS # PRECEDING) AS x#", "SELECT {} FROM s"),
    "named windows": _listed("w# AS (PARTITION BY k ORDER BY ts)", "SELECT sum(v) OVER w0 FROM s WINDOW {}"),
    "columns of a wide stream": _listed("c#", "SELECT {}, lag(c0) FROM wide"),
    "stateful calls on a wide stream": _listed("lag(c#)", "SELECT {} FROM wide"),
    "conditions of WHERE": _listed("v > #", "SELECT lag(v) FROM s WHERE {}", " AND "),
    "alternatives of WHERE": _listed("v > #", "SELECT lag(v) FROM s WHERE {}", " OR "),
    "IN list, ten times as long": lambda n: f"SELECT lag(v) FROM s WHERE n IN ({', '.join(map(str, range(10 * n)))})",
    "branches of CASE": _listed("WHEN v > # THEN lag(v + #)", "SELECT CASE {} END FROM s", " "),
    "queries of WITH": _ctes,
    "UNION ALL": _listed("SELECT v FROM s", "{}", " UNION ALL "),
}

# Each adds an operator to the plan, or a bracket around all others: they compile up to `HIGH`, and 1,000 are refused.
HIGH_KINDS: dict[str, Callable[[int], str]] = {
    "OVER, many partitions": _listed("sum(v) OVER (PARTITION BY n + # ORDER BY ts) AS x#", "SELECT {} FROM s"),
    "nested sub-queries": lambda n: "SELECT lag(v) FROM " + "(SELECT v, ts FROM " * n + "s" + ")" * n,
    "nested stateful calls": lambda n: "SELECT " + "lag(" * n + "v" + ")" * n + " FROM s",
    "nested parentheses": lambda n: "SELECT lag(v), " + "(" * n + "v" + ")" * n + " FROM s",
}
