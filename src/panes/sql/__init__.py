"""Text → tree: statements, windows, the stateful, aggregate and OVER rewrites."""

from panes.sql.parser import parse
from panes.sql.statements import SelectStmt
from panes.sql.window_kinds import Window

__all__ = ["SelectStmt", "Window", "parse"]
