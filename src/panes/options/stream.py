"""What may be said about a stream, wherever it is declared: SQL, Python and tests take these options and no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, TypeAlias

Length: TypeAlias = str | timedelta  # '10 seconds', or a timedelta


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """How a stream is declared: in `engine.stream`, `panes.testing.Stream` and `CREATE STREAM`.

    In SQL `time` and `watermark` are `WATERMARK FOR ts AS ts - INTERVAL 10 SECONDS`, `key` is `PRIMARY KEY (…)`, and
    the others stand in `WITH (…)`.
    """

    time: str | None = None
    watermark: Length | None = None
    key: Sequence[str] = ()
    changelog: bool = False
    sequence: str | None = None
    state_ttl: Length | None = None
    heartbeat: Length | None = None
    idle_timeout: Length | None = None
    on_inconsistency: str = "fail"
    preimages: str = "maybe"

    def keywords(self) -> dict[str, Any]:
        """The options by name, for another function that takes them."""
        return {name: getattr(self, name) for name in NAMES}


NAMES = tuple(one.name for one in fields(StreamOptions))
CLAUSES = ("time", "watermark", "key")  # what has a clause of its own in SQL
WITH = tuple(name for name in NAMES if name not in CLAUSES)

DOCS = {
    "time": "the column of a row's time; without one the stream is in arrival mode",
    "watermark": "how late rows may be; a batch needs none",
    "key": "columns that break ties of time; those of a changelog identify a row",
    "changelog": "whether rows are changes, named by `_change_type`",
    "sequence": "of a changelog: the column that tells which of two changes is newer",
    "state_ttl": "how long a partition is quiet before its state expires",
    "heartbeat": "how long at most until something due comes out, though no row comes",
    "idle_timeout": "event time: how long to wait for a row before the clock goes on without one",
    "on_inconsistency": "of a changelog: `fail` or `skip`, if a change does not fit",
    "preimages": "of a changelog: `always` if every change comes with the whole old row, else `maybe`",
}
