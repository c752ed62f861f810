"""Options of `WITH (…)`: names in any case, and what may be printed of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from panes.hiding import SECRET, masked_value, secret_values
from panes.secrets import MASK, check_references, is_reference, without

REDACTION = "spark.redaction.regex"
CONNECTORS = frozenset(
    ("json", "csv", "parquet", "orc", "text", "console", "memory", "noop", "rate", "kafka", "postgres", "jdbc", "delta")
)


def read_options(given: Mapping[str, str], own: Collection[str]) -> dict[str, str]:
    """Options with the names that Panes reads in lower case; those that only a connector reads stay as they are.

    >>> read_options({"CONNECTOR": "JSON", "maxFilesPerTrigger": "1"}, ())
    {'connector': 'json', 'maxFilesPerTrigger': '1'}
    """
    check_references(given)
    known = ("connector", "path", *own)
    options = {name.lower() if name.lower() in known else name: value for name, value in given.items()}
    connector = options.get("connector", "")
    return options | {"connector": connector.lower()} if connector.lower() in CONNECTORS else options


def shown_options(options: Mapping[str, str], also: re.Pattern[str] | None = None) -> dict[str, str]:
    """Options as they may be printed; `also` finds the names of more that are secret: Spark's `spark.redaction.regex`.

    >>> shown_options({"path": "x", "kafka.ssl.key.password": "hunter2"})
    {'path': 'x', 'kafka.ssl.key.password': '***'}
    >>> shown_options({"url": "postgresql://me:hunter2@db/x", "password": "${ENV:PGPASSWORD}"})
    {'url': 'postgresql://me:***@db/x', 'password': '${ENV:PGPASSWORD}'}
    """
    return {name: _shown(name, value, also) for name, value in options.items()}


def without_secrets(text: str, options: Mapping[str, str]) -> str:
    """What a driver or client says, without the secrets among the options that it was given.

    >>> without_secrets("no login with hunter2 at pg://me:word@db", {"password": "hunter2"})
    'no login with *** at pg://me:***@db'
    """
    return masked_value(without(text, secret_values(options)), MASK)


def redaction_of(settings: Mapping[str, str]) -> re.Pattern[str] | None:
    """What settings for a session say of the names of secret options. A pattern that only Java can read hides all."""
    pattern = settings.get(REDACTION)
    try:
        return re.compile(pattern) if pattern is not None else None
    except re.error:
        return re.compile("")


def _shown(name: str, value: str, also: re.Pattern[str] | None) -> str:
    if is_reference(value):
        return value
    secret = SECRET.search(name) or (also is not None and also.search(name))
    return MASK if secret else masked_value(value, MASK)
