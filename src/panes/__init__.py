"""Streaming SQL windows for Spark: write the SQL you mean, get an ordinary DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from panes.errors import PanesError

if TYPE_CHECKING:
    from panes.engine import Engine
    from panes.functions.stateful import stateful
    from panes.spark.progress import counters

__version__ = "0.1.0"
__all__ = ["Engine", "PanesError", "__version__", "counters", "stateful"]


def __getattr__(name: str) -> Any:
    """Public names are imported when first used, so that `import panes` needs no Spark and is quick."""
    if name == "Engine":
        from panes.engine import Engine

        return Engine
    if name == "counters":
        from panes.spark.progress import counters

        return counters
    if name == "stateful":
        from panes.functions.stateful import stateful

        return stateful
    raise AttributeError(f"module 'panes' has no attribute {name!r}")
