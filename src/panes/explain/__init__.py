"""Plans for readers: as a table with a tree, as JSON, and drawn in a notebook."""

from panes.explain.plan_text import PlanText
from panes.explain.table import Info, Row, document, info_text, table

__all__ = ["Info", "PlanText", "Row", "document", "info_text", "table"]
