"""`panes shell`: statements one after the other, with their answers."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from panes.cli.java_prints import java_prints_to
from panes.cli.output.lines import Lines
from panes.cli.run_file import announced, state_folder
from panes.cli.script_file import console, errors, reported_errors, standard_input
from panes.cli.shell_text import (
    HELP,
    LeaveError,
    UnknownCommandError,
    completions,
    is_complete,
    known_words,
    needs_spark,
    statement_of,
)
from panes.cli.signals import Stop
from panes.cli.spark_options import Conf, Master, Packages, Remote, packages_of, settings_of
from panes.errors import PanesError
from panes.source import Source
from panes.spark.installed import check_spark
from panes.sql.parser import script_parts

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer

    from panes.cli.run_file import Writer
    from panes.engine import Engine

FIRST, MORE = "panes> ", "    -> "


def shell(
    flush: Annotated[
        bool,
        typer.Option(
            "--flush", help="A query ends once all available input has been read, and every open window is emitted."
        ),
    ] = False,
    rows: Annotated[int, typer.Option(min=1, help="How many rows are shown per micro-batch.")] = 20,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    packages: Packages = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show errors with full Python and Java stack traces.")] = False,
) -> None:
    r"""Try statements and queries. \? shows what else there is.

    Statements that come through a pipe run with --flush, and the exit code is 1 if one of them fails, or 128 + n if
    signal n stopped one; the rest is not run then:

    panes shell < queries.sql
    """
    with reported_errors(debug=debug):
        check_spark()
    from panes.engine import Engine

    engine = Engine(packages=packages_of(packages), settings=settings_of(conf, master, remote))
    asked = sys.stdin.isatty()
    with announced("shell", None) as file:
        session = Session(engine, Lines(quiet=True, most_rows=rows), file, flush or not asked, debug, asked)
        all_went_well = session.answer_all(typed(_prompt(engine)) if asked else piped(standard_input()))
    if not all_went_well and not asked:
        raise typer.Exit(1)


class Session:
    """What has been declared so far, and how queries run."""

    def __init__(
        self, engine: Engine, output: Lines, file: Writer, flush: bool, debug: bool, interactive: bool
    ) -> None:
        self._engine, self._output, self._file = engine, output, file
        self._flush, self._debug, self._interactive = flush, debug, interactive
        self._started = False

    def answer_all(self, texts: Iterable[str]) -> bool:
        """Answer one after the other, until the user leaves; False if one failed."""
        went_well = True
        try:
            for text in texts:
                went_well = self.answer(text) and went_well
        except LeaveError:
            pass
        return went_well

    def answer(self, text: str) -> bool:
        """Run a statement, and show what comes of it; False if it failed. A signal ends all; Ctrl-C, not a prompt."""
        try:
            statement = statement_of(text)
        except UnknownCommandError as error:
            errors.print(str(error))
            return False
        if statement is None:
            console.print(HELP)
            return True
        went_well = True
        with Stop() as stop:
            try:
                with reported_errors(debug=self._debug):
                    self._run(statement, stop)
            except typer.Exit:
                went_well = False
        if stop.signal == signal.SIGTERM or (stop.signal is not None and not self._interactive):
            raise typer.Exit(128 + stop.signal)
        return went_well

    def _run(self, statement: str, stop: Stop) -> None:
        if needs_spark(statement) and not self._started:
            self._find_mistakes(statement)
            self._start()
            stop.rearm()
        self._engine.run(
            statement,
            flush=self._flush,
            show=self._output.step,
            rows=self._output.rows,
            report=self._file.batch,
            stopped=stop.asked,
        )

    def _find_mistakes(self, statement: str) -> None:
        """Most are found before Spark starts; it may know a table that nobody has declared."""
        if len(script_parts(Source(statement))) > 1:
            return
        try:
            self._engine.compile(statement)
        except PanesError as error:
            if error.code != "unknown-stream":
                raise

    def _start(self) -> None:
        if errors.is_terminal:
            errors.print("Starting Spark …", style="dim")
        with java_prints_to(self._file.log):
            context = getattr(self._engine.spark, "_sc", None)
        if context is not None and not self._debug:
            context.setLogLevel("OFF")
        self._started = True


def piped(lines: Iterable[str]) -> Iterator[str]:
    """Lines put together to statements; what the last `;` leaves is one, too."""
    text = ""
    for line in lines:
        text += line
        if is_complete(text):
            yield text
            text = ""
    if text.strip():
        yield text


def typed(ask: Callable[[str], str]) -> Iterator[str]:
    """The same of what is typed at a prompt; Ctrl-C forgets it, Ctrl-D ends."""
    text = ""
    while True:
        try:
            text += ask(MORE if text else FIRST) + "\n"
        except KeyboardInterrupt:
            text = ""
        except EOFError:
            return
        if is_complete(text):
            yield text
            text = ""
        elif not text.strip():
            text = ""


def _prompt(engine: Engine) -> Callable[[str], str]:
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import FileHistory, History, InMemoryHistory
    except ImportError:
        errors.print("panes shell needs the package prompt-toolkit: pip install 'panes[shell]'")
        raise typer.Exit(1) from None
    path = history_file()
    history: History = FileHistory(str(path)) if path is not None else InMemoryHistory()
    console.print(r"\? shows what there is, \q leaves", style="dim")
    session: PromptSession[str] = PromptSession(history=history, completer=_completer(engine))
    return session.prompt


def history_file() -> Path | None:
    """Where what is typed is kept, for nobody else to read: passwords are typed, too. None where it cannot be kept."""
    try:
        path = state_folder() / "history"
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        path.chmod(0o600)  # one that was there before
    except OSError:
        return None
    return path


def _completer(engine: Engine) -> Completer:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class Words(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
            words = known_words(engine.catalog, engine.functions)
            for word, replaced in completions(document.text_before_cursor, words):
                yield Completion(word, start_position=-replaced)

    return Words()
