"""The page on notebooks: its cells run in a real kernel, and show what the page says."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from panes.testing.markdown import blocks_of

pytestmark = pytest.mark.spark
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "notebooks.md"


def test_the_cells_of_the_page(tmp_path: Path) -> None:
    cells = [one.text for one in blocks_of(PAGE.read_text(encoding="utf-8")) if one.language == "python"]
    made = [nbformat.v4.new_code_cell(cell) for cell in cells]  # type: ignore[no-untyped-call]
    notebook = nbformat.v4.new_notebook(cells=made)  # type: ignore[no-untyped-call]
    NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    plan, rows, counters = (shown(notebook, start) for start in ("query =", "import time", "panes.counters"))
    assert 'class="panes-plan"' in plan and "DataSource" in plan and "Window" in plan
    assert "<th>closes</th>" in rows and "<th>n</th>" in rows
    assert 'class="panes-counters"' in counters and "rows_in" in counters


def shown(notebook: nbformat.NotebookNode, start: str) -> str:
    """The HTML that the cell shows."""
    (cell,) = (one for one in notebook.cells if one.source.startswith(start))
    return "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)
