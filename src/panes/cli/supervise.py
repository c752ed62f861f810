"""A script from its text to its exit code: compiled, run, watched, and everyone told who wants to know."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from panes.catalog import Catalog
from panes.cli.java_prints import java_prints_to
from panes.cli.metrics import served
from panes.cli.output.choice import Listener, Output, Wanted, output_for, plain_output
from panes.cli.run_file import Writer, announced
from panes.cli.script_file import errors, reported_errors
from panes.cli.signals import Stop
from panes.compile import Compiled
from panes.errors import PanesError
from panes.functions import Functions
from panes.options import redaction_of
from panes.script import Step, steps
from panes.spark.installed import check_spark
from panes.sql.variables import Script, with_variables

if TYPE_CHECKING:
    from panes.engine import Engine
    from panes.spark.report import Report
    from panes.why.plan import QueryPlan


@dataclass(frozen=True)
class Supervised:
    """What to run, and how; `metrics` is a port and an address."""

    text: str
    name: str
    values: Mapping[str, str] = field(default_factory=dict)
    checkpoint: str | None = None
    once: bool = False
    flush: bool = False
    every: str | None = None
    on_error: str = "stop"
    wanted: Wanted = field(default_factory=Wanted)
    metrics: tuple[int, str] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    debug: bool = False


class Telling:
    """Tells the output and all other listeners what happens; each failure is told once, in the user's text."""

    def __init__(self, output: Output, script: Script) -> None:
        self.output = output
        self.listeners: list[Listener] = [output]
        self.file: Writer | None = None  # what others see of the run
        self._script = script
        self._failures: list[str] = []

    def started(self, queries: list[str], ui: str | None) -> None:
        for one in self.listeners:
            one.started(queries, ui)

    def plans(self, plans: Mapping[str, QueryPlan]) -> None:
        if self.file is not None:
            self.file.plans(plans)

    def catch_up(self) -> None:
        if self.file is not None:
            self.file.catch_up()

    def batch(self, report: Report) -> None:
        for one in self.listeners:
            one.batch(report)

    def failed(self, query: str, error: Exception) -> None:
        self._failures.append(str(error))
        for one in self.listeners:
            one.failed(query, self._script.as_written(error))

    def refused(self, error: Exception) -> None:
        if str(error) not in self._failures:  # it may have been raised anew, without its secrets
            self.output.refused(self._script.as_written(error))


def supervise(wanted: Supervised) -> int | None:
    """Run a script; the signal that stopped it, if one did."""
    early = plain_output(wanted.wanted)
    catalog = Catalog()
    catalog.redacted = redaction_of(wanted.settings)
    with reported_errors(tell=early.refused, debug=wanted.debug):
        script = with_variables(catalog.source(wanted.text, wanted.name), wanted.values)
    with reported_errors(script, early.refused, wanted.debug):
        found = list(steps(script.text, catalog, Functions(), wanted.name))  # mistakes are found before Spark starts
        printed = _printed(found, catalog)
        if printed and wanted.wanted.json:
            hint = "Leave INSERT INTO out: the rows of a SELECT alone come as JSON. Or take another sink."
            text = f"the sink {printed[0]} prints tables, between which nobody finds the JSON of --json"
            raise PanesError("stream-options", text, None, hint)
    with ExitStack() as stack:
        listeners: list[Listener] = []
        if wanted.metrics is not None:
            listeners.append(stack.enter_context(served(*wanted.metrics)))
        file = stack.enter_context(announced(wanted.name, wanted.checkpoint, warn=early.warned))
        listeners.append(file)
        stop = stack.enter_context(Stop())
        with reported_errors(script, early.refused, wanted.debug):
            engine = _engine(wanted, catalog)
            if any(isinstance(step, Compiled) for step in found):
                _start(engine, wanted, file.log)
                stop.rearm()
        telling = Telling(stack.enter_context(output_for(wanted.wanted, bool(printed))), script)
        telling.listeners += listeners
        telling.file = file
        try:
            with reported_errors(tell=telling.refused, debug=wanted.debug):
                _run(engine, script.text, wanted, telling, stop)
        except BaseException:
            telling.output.ended("failed")
            raise
        telling.output.ended("stopped" if stop.asked() else "done")
    return stop.signal


def _printed(found: Sequence[Step], catalog: Catalog) -> list[str]:
    """The sinks that are written and that Spark prints itself."""
    plans = [step.physical for step in found if isinstance(step, Compiled)]
    sinks = [catalog.sinks.get(name) for plan in plans for name in (plan.sink, plan.late) if name is not None]
    return [sink.name for sink in sinks if sink is not None and sink.options["connector"] == "console"]


def _engine(wanted: Supervised, catalog: Catalog) -> Engine:
    check_spark()
    from panes.engine import Engine
    from panes.spark.packages import needed_packages

    needed = needed_packages([*catalog.streams, *catalog.sinks], wanted.packages, wanted.settings)
    return Engine(packages=[*wanted.packages, *needed], settings=wanted.settings)


def _start(engine: Engine, wanted: Supervised, log: Path) -> None:
    """Start Spark; unless all is to be seen, what Java and its workers print goes to a file."""
    if wanted.debug:
        _ = engine.spark
        return
    if errors.is_terminal and not wanted.wanted.quiet:
        errors.print("Starting Spark …", style="dim")
    with java_prints_to(log):
        context = getattr(engine.spark, "_sc", None)  # Spark Connect has none
    if context is not None:
        context.setLogLevel("OFF")  # what fails is told once, by Panes


def _run(engine: Engine, text: str, wanted: Supervised, telling: Telling, stop: Stop) -> None:
    def started(queries: list[str]) -> None:
        telling.started(queries, ui_of(engine))

    def stopped() -> bool:
        telling.catch_up()  # this is asked every second
        return stop.asked()

    engine.run(
        text,
        checkpoint=wanted.checkpoint,
        once=wanted.once,
        flush=wanted.flush,
        every=wanted.every,
        on_error=wanted.on_error,
        show=telling.output.step,
        report=telling.batch,
        failed=telling.failed,
        rows=telling.output.rows,
        started=started,
        stopped=stopped,
        plans=telling.plans,
        name=wanted.name,
    )


def with_ui(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings for a session whose web pages can be looked at; those of a local one, from this machine only."""
    if "spark.remote" in settings:
        return dict(settings)
    if settings.get("spark.master", "local").startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return {"spark.ui.enabled": "true", **settings}


def ui_of(engine: Engine) -> str | None:
    """The address of Spark's web pages, if it has any that are known here."""
    context = getattr(engine.spark, "_sc", None)  # Spark Connect has none
    return context.uiWebUrl if context is not None else None
