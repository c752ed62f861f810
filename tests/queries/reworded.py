"""Another text of a query that computes the same: it goes on from a checkpoint of the first."""

from __future__ import annotations

import re
from collections.abc import Iterable

LITERALS = re.compile(r"('[^']*'|`[^`]*`)")
LENGTHS = re.compile(r"window\('ss', (\d+)(?:, (\d+))?\)")
ALIAS = re.compile(r"\b(?:p|s|o|a|key)\d+_\d+\b")


def reworded(sql: str, outputs: Iterable[str], views: Iterable[str] = ()) -> str:
    """With other layout and comments, lengths as intervals, other names for what only sub-queries have, and no view.

    >>> reworded("SELECT p0_0 AS p1_0 FROM (SELECT v AS p0_0 FROM t)", ["p1_0"])
    'SELECT /* again */ p0_0_other AS p1_0 FROM (SELECT\\n  v\\n  AS\\n  p0_0_other\\n  FROM\\n  t)'
    """
    kept = {*outputs, *(name for view in views for name in ALIAS.findall(view))}
    parts = LITERALS.split(LENGTHS.sub(_intervals, sql))
    for at in range(0, len(parts), 2):
        part = ALIAS.sub(lambda found: found[0] if found[0] in kept else f"{found[0]}_other", parts[at])
        head, inside, rest = part.partition("(SELECT ")
        parts[at] = head + (inside + rest).replace(" ", "\n  ")
    return "".join(parts).replace("SELECT ", "SELECT /* again */ ", 1)


def _intervals(found: re.Match[str]) -> str:
    return f"window({', '.join(f'INTERVAL {length} SECONDS' for length in found.groups() if length is not None)})"
