"""Figures beside their targets: shown one by one as they are found, and all in a table in the end."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Figures:
    title: str
    console: Console
    found: dict[str, dict[str, object]] = field(default_factory=dict)

    def note(self, name: str, value: float, target: str = "", **more: object) -> None:
        """A figure; `more` is only written."""
        self.found[name] = {"value": value, "target": target, **more}
        self.console.print(f"{name}: {value:.2f} {target and f'({target})'}")

    def show(self) -> dict[str, object]:
        table = Table("case", "", "target", title=self.title, title_justify="left")
        for name, one in self.found.items():
            table.add_row(name, f"{one['value']:.2f}", str(one["target"]))
        self.console.print(table)
        return dict(self.found)
