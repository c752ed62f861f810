"""Values and times as a trace has them."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any

from panes.trace.model import Value

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros_of(moment: str | datetime) -> int:
    """Microseconds since 1970; a time without a zone is UTC.

    >>> micros_of("1970-01-01 00:00:02.5")
    2500000
    """
    given = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return ((given if given.tzinfo is not None else given.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def moment_text(micros: int) -> str:
    """A time in UTC, without what is zero at its end.

    >>> moment_text(2_500_000), moment_text(0)
    ('1970-01-01 00:00:02.5', '1970-01-01 00:00:00')
    """
    text = (_EPOCH.replace(tzinfo=None) + timedelta(microseconds=micros)).isoformat(sep=" ")
    return text.rstrip("0") if "." in text else text


def plain(value: Any) -> Value:
    """A value as JSON has it."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case datetime():
            return moment_text(micros_of(value))
        case date():
            return value.isoformat()
        case bytes() | bytearray():
            return value.hex()
        case dict():
            return {str(name): plain(part) for name, part in value.items()}
        case list() | tuple():
            return [plain(part) for part in value]
        case _:
            return str(value)
