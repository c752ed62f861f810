"""What fuzzed statements can read: an event-time stream, an arrival stream, a changelog, two views and a sink."""

from __future__ import annotations

from panes.catalog import Catalog
from panes.functions import Functions
from panes.script import steps

FUNCTIONS = Functions()

DECLARATIONS = """
CREATE STREAM users (
  user_id STRING, a INT, b INT, v DOUBLE, flag BOOLEAN, tags ARRAY<STRING>, info STRUCT<x: INT, y: STRING>,
  ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 10 SECONDS, PRIMARY KEY (user_id)
) WITH (connector = 'json', path = 'data/users');
CREATE STREAM clicks (k STRING, n BIGINT, x DOUBLE, ok BOOLEAN) WITH (connector = 'rate');
CREATE STREAM orders (
  id INT, k STRING, amount DECIMAL(10, 2), seq BIGINT, at TIMESTAMP, PRIMARY KEY (id)
) WITH (connector = 'json', changelog = 'true', sequence = 'seq');
CREATE VIEW hot AS SELECT user_id, a, v, flag, ts FROM users WHERE a > 10;
CREATE VIEW totals AS
  SELECT user_id, window_end() AS till, sum(v) AS total FROM users GROUP BY tumblingwindow('mi', 1), user_id;
CREATE SINK out WITH (connector = 'console');
CREATE SINK late WITH (connector = 'console');
"""

COLUMNS = {
    "users": ("user_id", "a", "b", "v", "flag", "tags", "info", "ts"),
    "clicks": ("k", "n", "x", "ok"),
    "orders": ("id", "k", "amount", "seq", "at"),
    "hot": ("user_id", "a", "v", "flag", "ts"),
    "totals": ("user_id", "till", "total"),
}


def _declared() -> Catalog:
    catalog = Catalog()
    list(steps(DECLARATIONS, catalog, FUNCTIONS))
    return catalog


_DECLARED = _declared()


def fresh_catalog() -> Catalog:
    """A catalogue of its own for each input, since a script may change it."""
    catalog = Catalog()
    for stream in _DECLARED.streams:
        catalog.streams.put(stream)
    for view in _DECLARED.views:
        catalog.views.put(view)
    for sink in _DECLARED.sinks:
        catalog.sinks.put(sink)
    return catalog
