"""The picture of a trace for each theme of the page."""

from __future__ import annotations

from panes.picture import Theme, svg
from panes.trace.model import Trace


def pictures(trace: Trace) -> dict[str, str]:
    """Drawn at its last step; the page shows the others by what each part says of itself."""
    return {theme.value: svg(trace, theme=theme) for theme in (Theme.LIGHT, Theme.DARK)}
