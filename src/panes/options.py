"""Options of `WITH (…)`: names in any case, and what may be printed of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

CONNECTORS = frozenset(("json", "csv", "parquet", "orc", "text", "console", "memory", "noop", "rate", "kafka", "delta"))
SECRET = re.compile(r"password|passwd|secret|token|credential|(?:access|account|api|sas)[._-]?key|jaas", re.IGNORECASE)
IN_URL = re.compile(r"(?<=://)([^/@:\s]+):[^/@\s]+(?=@)")  # user:password


def read_options(given: Mapping[str, str], own: Collection[str]) -> dict[str, str]:
    """Options with the names that Panes reads in lower case; those that only a connector reads stay as they are.

    >>> read_options({"CONNECTOR": "JSON", "maxFilesPerTrigger": "1"}, ())
    {'connector': 'json', 'maxFilesPerTrigger': '1'}
    """
    known = ("connector", "path", *own)
    options = {name.lower() if name.lower() in known else name: value for name, value in given.items()}
    connector = options.get("connector", "")
    return options | {"connector": connector.lower()} if connector.lower() in CONNECTORS else options


def shown_options(options: Mapping[str, str]) -> dict[str, str]:
    """Options as they may be printed.

    >>> shown_options({"path": "x", "kafka.ssl.key.password": "hunter2"})
    {'path': 'x', 'kafka.ssl.key.password': '***'}
    >>> shown_options({"url": "postgresql://me:hunter2@db/x"})
    {'url': 'postgresql://me:***@db/x'}
    """
    return {name: "***" if SECRET.search(name) else IN_URL.sub(r"\1:***", value) for name, value in options.items()}
