"""The key by which a sink that holds a table applies a changelog."""

from __future__ import annotations

from panes.compile import Compiled
from panes.errors import PanesError
from panes.logical.result_key import missing_of_key, result_key


def applied_key(named: tuple[str, ...], sink: str, compiled: Compiled) -> tuple[str, ...]:
    """The key that a sink names, if it names one, else what identifies the rows of the result."""
    key = named or result_key(compiled.logical)
    missing = missing_of_key(compiled.logical, key)
    if missing is not None:
        hint = "Select what identifies a row, and name all of it if the sink has a key; or say changelog = 'rows'."
        raise PanesError("stream-options", f"the key of the sink {sink} lacks {missing}", None, hint)
    return key
