"""Names that mean something in SQL already: a user's function under one of them would change what queries mean."""

from __future__ import annotations

from panes.functions.aggregates import AGGREGATES
from panes.functions.over import OVER_FUNCTIONS
from panes.functions.refused import REFUSED

WINDOWS = frozenset(("tumblingwindow", "hoppingwindow", "sessionwindow", "countwindow", "slidingwindow", "statewindow"))
BOUNDS = frozenset(("window_start", "window_end", "window_trigger"))


def taken(name: str) -> str | None:
    """What a name stands for, as far as that can be told without Spark; None if it is free.

    >>> taken("Sum"), taken("window_end"), taken("case"), taken("streak")
    ('an aggregate', 'a function of windows', 'a word of SQL', None)
    """
    from sqlglot.dialects import Spark  # here, since workers read the tables of functions and need no sqlglot

    name = name.lower()
    if name in REFUSED or any(name in (one.name, *one.aliases) for one in AGGREGATES):
        return "an aggregate"
    if any(name == one.name for one in OVER_FUNCTIONS):
        return "an OVER function"
    if name in WINDOWS:
        return "a window"
    if name in BOUNDS:
        return "a function of windows"
    return "a word of SQL" if name.upper() in Spark.Tokenizer.KEYWORDS else None
