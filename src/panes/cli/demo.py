"""`panes demo`: the product in a minute."""

from __future__ import annotations

from panes.cli.script_file import console


def demo() -> None:
    """Run a small pipeline and show what its windows emit."""
    console.print("soon")
