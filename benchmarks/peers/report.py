"""Figures of all runs: as JSON, as tables in the page, and as plots."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from statistics import median

from benchmarks.page_figures import FOLDER, machine, replace_figures, table
from benchmarks.peers.environments import Peer
from benchmarks.peers.plot import Bar, Group, chart
from benchmarks.peers.runner import Outcome

BEGIN, END = "<!-- figures: written by make bench-peers -->", "<!-- end of figures -->"


@dataclass(frozen=True)
class Case:
    workload: str
    keys: int
    at_rate: bool = False

    def __str__(self) -> str:
        return f"{self.workload}, {self.keys:,} keys{', at a fixed rate' if self.at_rate else ''}"


@dataclass(frozen=True)
class Measure:
    """A figure of a run: what a table of it says, and the value with its unit."""

    name: str
    title: str
    of: Callable[[Outcome, int], float | None]
    shown: str
    at_rate: bool = False


MEASURES = (
    Measure("warm", "Rows a second, warm", lambda one, rows: rows / one.warm if one.warm else None, "{:,.0f}"),
    Measure(
        "cold", "Seconds from the start of the process to the last result, cold", lambda one, _: one.cold, "{:.1f}"
    ),
    Measure(
        "memory",
        "Peak memory of all processes, MB",
        lambda one, _: one.memory / 1e6 if one.memory else None,
        "{:,.0f}",
    ),
    Measure("p50", "Milliseconds from arrival to result, p50", lambda one, _: one.p50, "{:,.0f}", at_rate=True),
    Measure("p99", "Milliseconds from arrival to result, p99", lambda one, _: one.p99, "{:,.0f}", at_rate=True),
)


@dataclass
class Report:
    rows: int
    rounds: int
    rate: int
    peers: tuple[Peer, ...]
    found: dict[tuple[Case, str], list[Outcome]] = field(default_factory=dict)

    def note(self, case: Case, peer: str, outcome: Outcome) -> None:
        self.found.setdefault((case, peer), []).append(outcome)

    def goes_on(self, case: Case, peer: str) -> bool:
        """Whether another round of it makes sense."""
        return not any(one.cannot or one.failed for one in self.found.get((case, peer), []))

    @property
    def cases(self) -> list[Case]:
        return list(dict.fromkeys(case for case, _ in self.found))

    def values(self, measure: Measure, case: Case, peer: str) -> list[float]:
        """Of all rounds; none if one of them went wrong."""
        if not self.goes_on(case, peer):
            return []
        every = (measure.of(one, self.rows) for one in self.found.get((case, peer), []))
        return [one for one in every if one is not None]

    def markdown(self) -> str:
        parts = [self._about(), *self._tables(), self._missing()]
        return "\n\n".join(part for part in parts if part)

    def _about(self) -> str:
        said = {one.environment or "panes": one.versions() for one in self.peers}
        lines = [
            f"Measured on {datetime.now(UTC):%Y-%m-%d}: {machine()}.",
            f"{self.rows:,} rows a run, {self.rounds} rounds; the middle value, in brackets the lowest and highest.",
            f"At a fixed rate: {self.rate:,} rows a second.",
            f"Versions: {'; '.join(said.values())}.",
        ]
        return "\n".join(lines)

    def _tables(self) -> list[str]:
        found = []
        for keys in dict.fromkeys(case.keys for case in self.cases):
            found.append(f"### {keys:,} keys\n\n![Rows a second of each workload]({plot_name(keys)})")
            for measure in MEASURES:
                of_keys = (case for case in self.cases if (case.keys, case.at_rate) == (keys, measure.at_rate))
                rows = [self._row(measure, case) for case in of_keys]
                if any(any(cell.strip("–") for cell in row[1:]) for row in rows):
                    found.append(f"{measure.title}:\n\n{table(['', *(peer.name for peer in self.peers)], rows)}")
        return found

    def _row(self, measure: Measure, case: Case) -> list[str]:
        return [case.workload, *(self._cell(measure, case, peer.name) for peer in self.peers)]

    def _cell(self, measure: Measure, case: Case, peer: str) -> str:
        values = self.values(measure, case, peer)
        if not values:
            return "–"
        middle, low, high = (measure.shown.format(one) for one in (median(values), min(values), max(values)))
        return middle if len(values) == 1 else f"{middle} ({low}–{high})"

    def _missing(self) -> str:
        """What has no figure, and why; where all numbers of keys have the same reason, once."""
        why: dict[tuple[str, str, str], None] = {}
        for (case, peer), outcomes in self.found.items():
            for one in outcomes:
                if one.cannot:
                    why[peer, case.workload, f"cannot say it: {one.cannot}"] = None
                if one.failed:
                    why[peer, str(case), one.failed.replace("|", "\\|")] = None
        if not why:
            return ""
        return "### Without a figure\n\n" + table(["peer", "workload", "why"], [list(one) for one in sorted(why)])

    def write(self) -> None:
        """The page, its plots, and all figures as JSON."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        runs = [
            {**asdict(case), "peer": peer, "rounds": [asdict(one) for one in outcomes]}
            for (case, peer), outcomes in self.found.items()
        ]
        about = {"machine": machine(), "rows": self.rows, "rate": self.rate, "date": f"{datetime.now(UTC):%Y-%m-%d}"}
        (FOLDER / "peers.json").write_text(json.dumps({**about, "runs": runs}, indent=1) + "\n", encoding="utf-8")
        for keys in dict.fromkeys(case.keys for case in self.cases):
            (FOLDER / plot_name(keys)).write_text(self._plot(keys), encoding="utf-8")
        replace_figures(FOLDER / "index.md", BEGIN, END, self.markdown())

    def _plot(self, keys: int) -> str:
        names = [peer.name for peer in self.peers]
        groups = []
        for case in self.cases:
            if case.keys == keys and not case.at_rate:
                values = [(peer, self.values(MEASURES[0], case, peer)) for peer in names]
                bars = [Bar(peer, median(found), min(found), max(found)) for peer, found in values if found]
                groups.append(Group(case.workload, tuple(bars)))
        return chart(f"Rows a second, warm, {keys:,} keys", names, groups)


def plot_name(keys: int) -> str:
    return f"peers-{keys}-keys.svg"
