"""Another text of a query that computes the same: it goes on from a checkpoint of the first."""

from __future__ import annotations

import re
from collections.abc import Iterable

LITERALS = re.compile(r"('[^']*'|`[^`]*`)")
WINDOW = re.compile(
    r"window\('(?P<unit>..)', (?P<first>\d+)(?:, (?P<second>\d+))?"
    r"(?:, offset => INTERVAL (?P<offset>-?\d+) (?P<of>MILLISECONDS|HOURS))?"
)
ALIAS = re.compile(r"\b(?:p|s|o|a|key)\d+_\d+\b")
MILLISECONDS = {"ms": 1, "ss": 1_000, "mi": 60_000, "hh": 3_600_000, "dd": 86_400_000}


def reworded(sql: str, outputs: Iterable[str], views: Iterable[str] = ()) -> str:
    """With other layout and comments, other lengths, other names for what only sub-queries have, and no view.

    >>> reworded("SELECT p0_0 AS p1_0 FROM (SELECT v AS p0_0 FROM t)", ["p1_0"])
    'SELECT /* again */ p0_0_other AS p1_0 FROM (SELECT\\n  v\\n  AS\\n  p0_0_other\\n  FROM\\n  t)'
    """
    kept = {*outputs, *(name for view in views for name in ALIAS.findall(view))}
    parts = LITERALS.split(WINDOW.sub(_respelled, sql))
    for at in range(0, len(parts), 2):
        part = ALIAS.sub(lambda found: found[0] if found[0] in kept else f"{found[0]}_other", parts[at])
        head, inside, rest = part.partition("(SELECT ")
        parts[at] = head + (inside + rest).replace(" ", "\n  ")
    return "".join(parts).replace("SELECT ", "SELECT /* again */ ", 1)


def _respelled(found: re.Match[str]) -> str:
    """The same lengths in another unit, as a number or an interval, and the other offset of less than a hop.

    >>> WINDOW.sub(_respelled, "tumblingwindow('ss', 60)"), WINDOW.sub(_respelled, "slidingwindow('ss', 3, 0)")
    ("tumblingwindow('mi', 1)", 'slidingwindow(INTERVAL 3000 MILLISECONDS, INTERVAL 0 MILLISECONDS)')
    >>> WINDOW.sub(_respelled, "hoppingwindow('ms', 2000, 1000, offset => INTERVAL -500 MILLISECONDS)")
    "hoppingwindow('ss', 2, 1, offset => INTERVAL 500 MILLISECONDS)"
    """
    was = found["unit"]
    lengths = [int(length) * MILLISECONDS[was] for length in (found["first"], found["second"]) if length is not None]
    coarse = [unit for unit, size in MILLISECONDS.items() if not any(length % size for length in lengths)]
    if coarse[-1] != was:
        text = f"window('{coarse[-1]}', {', '.join(str(length // MILLISECONDS[coarse[-1]]) for length in lengths)}"
    else:
        text = f"window({', '.join(f'INTERVAL {length} MILLISECONDS' for length in lengths)}"
    if found["offset"] is None:
        return text
    offset = int(found["offset"]) * (1 if found["of"] == "MILLISECONDS" else MILLISECONDS["hh"])
    offset += lengths[-1] if offset < 0 else -lengths[-1]
    return f"{text}, offset => INTERVAL {offset} MILLISECONDS"
