"""A trace as a picture: SVG without scripts, the same bytes for the same trace."""

from panes.picture.svg import svg
from panes.picture.theme import Theme

__all__ = ["Theme", "svg"]
