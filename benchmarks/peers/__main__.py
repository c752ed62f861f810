"""`python -m benchmarks.peers`: run the peers in turn, check every result, and write the figures into the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, TypeVar

import typer
from rich.console import Console

from benchmarks.peers.data import Shape
from benchmarks.peers.environments import PEERS, Peer
from benchmarks.peers.feed import Feed
from benchmarks.peers.report import Case, Report
from benchmarks.peers.runner import Outcome, Runner
from benchmarks.peers.workloads import WORKLOADS, Workload

FOUR = "panes,spark,applyInPandas,flink"
AT_RATE = "tumbling"
One = TypeVar("One", Peer, Workload)


def main(
    rows: Annotated[int, typer.Option(help="Rows of a run.")] = 1_000_000,
    keys: Annotated[str, typer.Option(help="Numbers of keys, with commas between them.")] = "10000",
    workloads: Annotated[str, typer.Option(help="Names of workloads; all by default.")] = "",
    peers: Annotated[str, typer.Option(help="Names of peers, or all.")] = FOUR,
    rounds: Annotated[int, typer.Option(help="Times that each peer runs each workload, in turn.")] = 3,
    file_rows: Annotated[int, typer.Option(help="Rows of a file; Spark takes two files a micro-batch.")] = 250_000,
    limit: Annotated[float, typer.Option(help="Seconds after which a process is given up.")] = 120,
    at_rate: Annotated[str, typer.Option(help="Workloads that also run at a fixed rate; - for none.")] = AT_RATE,
    rate: Annotated[int, typer.Option(help="Rows a second there.")] = 2_000,
    seconds: Annotated[float, typer.Option(help="Seconds that the rows come there.")] = 20,
    write: Annotated[bool, typer.Option(help="Write the figures into docs/benchmarks.")] = True,
) -> None:
    """Panes beside its peers."""
    console = Console()
    chosen = _chosen(PEERS, "" if peers == "all" else peers)
    report = Report(rows, rounds, rate, chosen)
    runner = Runner(limit=limit)
    for count in (int(number) for number in keys.split(",")):
        for workload in _chosen(WORKLOADS, workloads):
            case = Case(workload.name, count)
            for number in range(rounds):
                for peer in chosen:
                    if report.goes_on(case, peer.name):
                        outcome = runner.throughput(peer, workload, Shape(count, rows, file_rows))
                        _note(report, console, case, peer, number, outcome)
            if workload.due and workload.name in at_rate.split(","):
                at_rate_too = Case(workload.name, count, at_rate=True)
                for number in range(rounds):
                    for peer in chosen:
                        if report.goes_on(case, peer.name) and report.goes_on(at_rate_too, peer.name):
                            outcome = runner.latency(peer, workload, Feed(count, rate, seconds))
                            _note(report, console, at_rate_too, peer, number, outcome)
            if write:
                report.write()
    console.print(report.markdown())


def _note(report: Report, console: Console, case: Case, peer: Peer, number: int, outcome: Outcome) -> None:
    report.note(case, peer.name, outcome)
    found = {name: value for name, value in asdict(outcome).items() if value is not None}
    console.print(f"{case}, {peer.name}, round {number + 1}: {found}")


def _chosen(known: tuple[One, ...], names: str) -> tuple[One, ...]:
    """Those that are named, or all."""
    wanted = [name for name in names.split(",") if name]
    unknown = set(wanted) - {one.name for one in known}
    if unknown:
        there = ", ".join(one.name for one in known)
        raise typer.BadParameter(f"there is no {', '.join(sorted(unknown))}; there is {there}")
    return tuple(one for one in known if not wanted or one.name in wanted)


if __name__ == "__main__":
    typer.run(main)
