"""`panes why`: what each query waits for."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from panes.cli.output.figures import length
from panes.cli.output.watch import facts_of
from panes.cli.run_file import RunFile, runs_on
from panes.cli.script_file import console, errors, reported_errors
from panes.cli.spark_options import Conf, Packages, check_folder, packages_of, settings_of
from panes.spark.installed import check_spark
from panes.why.explain import why as findings
from panes.why.facts import Query


@dataclass(frozen=True)
class Asked:
    """Queries that were asked about together: those of a run, or of a checkpoint that nobody runs on."""

    title: str
    script: str | None
    checkpoint: str | None
    pid: int | None
    queries: Sequence[Query]


def why(
    checkpoint: Annotated[
        str | None,
        typer.Argument(help="The --checkpoint of a run, or Spark's checkpointLocation; without it, all runs."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per run or checkpoint.")] = False,
    conf: Conf = None,
    packages: Packages = None,
) -> None:
    """Say what open windows and waiting rows wait for: "why does nothing come out?"

    Runs of this user on this machine answer from what they have written down; for a checkpoint that none of them runs
    on, Spark is started.

    panes why   [dim]all that runs[/dim]

    panes why checkpoint   [dim]the run on this checkpoint, else what the checkpoint holds[/dim]
    """
    now = time.time()
    asked = [_run(one, now) for one in runs_on(checkpoint)]
    if not asked and checkpoint is not None:
        asked = [_checkpoint(checkpoint, settings_of(conf), packages_of(packages))]
    for one in asked:
        if as_json:
            typer.echo(json.dumps(document(one, now)))
        else:
            show(one, now)
    if not asked:
        errors.print("nothing is running; panes why CHECKPOINT looks into a checkpoint")


def _run(run: RunFile, now: float) -> Asked:
    where = f" on {run.checkpoint}" if run.checkpoint is not None else ""
    title = f"{run.script}{where}: process {run.pid}, last update {length(now - run.written)} ago; times are UTC"
    return Asked(title, run.script, run.checkpoint, run.pid, [facts_of(query) for query in run.queries])


def _checkpoint(checkpoint: str, settings: dict[str, str], packages: list[str]) -> Asked:
    """What a checkpoint holds, which only Spark can read."""
    check_folder(checkpoint)
    with reported_errors():
        check_spark()
    from panes.spark.held import held
    from panes.spark.session import embedded

    with reported_errors():
        found = list(held(checkpoint, embedded(packages=packages, settings=settings)))
    return Asked(f"{checkpoint}: times are UTC", None, checkpoint, None, found)


def show(asked: Asked, now: float) -> None:
    console.print(asked.title)
    for query in asked.queries:
        console.print()
        console.print(query.name or "the query")
        for one in findings(query, now):
            console.print(f"  {one.text}")
            if one.hint is not None:
                console.print(f"    hint: {one.hint}")
    if not asked.queries:
        console.print("no query has begun")


def document(asked: Asked, now: float) -> dict[str, Any]:
    """All of it, for machines."""
    queries = [
        {
            "query": query.name,
            "state": query.state.value,
            "watermark": query.watermark,
            "findings": [
                {"cause": one.cause.value, "text": one.text, "hint": one.hint, "due": one.due}
                for one in findings(query, now)
            ],
        }
        for query in asked.queries
    ]
    return {"script": asked.script, "checkpoint": asked.checkpoint, "pid": asked.pid, "queries": queries}
