"""WITHIN GROUP (ORDER BY …): which aggregates take it, what it means there, and which way its keys sort."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Within(Enum):
    """What WITHIN GROUP is to an aggregate."""

    NOTHING = "it takes none"
    VALUE = "its key is the value that is aggregated"
    PERHAPS_VALUE = "its key is the value that is aggregated, unless that is an argument"
    ORDER = "its keys order the values"

    @property
    def is_value(self) -> bool:
        return self in (Within.VALUE, Within.PERHAPS_VALUE)


@dataclass(frozen=True)
class Direction:
    """Which way a key sorts.

    >>> Direction(True).sql, Direction(True, nulls_first=True).sql, Direction().sql
    (' DESC', ' DESC NULLS FIRST', '')
    """

    descending: bool = False
    nulls_first: bool | None = None  # None: first when ascending and last when descending, as in Spark

    @property
    def sql(self) -> str:
        nulls = "" if self.nulls_first is None else f" NULLS {'FIRST' if self.nulls_first else 'LAST'}"
        return f"{' DESC' if self.descending else ''}{nulls}"

    @property
    def full(self) -> str:
        """The direction with everything said: `DESC NULLS LAST`."""
        first = not self.descending if self.nulls_first is None else self.nulls_first
        return f"{'DESC' if self.descending else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"
