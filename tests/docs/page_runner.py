"""Runs the blocks of a documentation page and compares what comes out with what the page says.

| block | what happens |
|---|---|
| `sql` | its statements are compiled; what they declare stays for the rest of the page |
| `sql fragment` | is only shown |
| `sql file=NAME`, `python file=NAME` | is a file of that name for the page's `console` blocks, and for tests |
| `plan`, `plan logical`, `plan physical`, `plan json` | EXPLAIN of the last query of the `sql` block before it |
| `error` | the text of the error that the block before it ends in |
| `listing` | the answers of SHOW and DESCRIBE in the `sql` block before it |
| `input STREAM` | rows for a stream, `---` between micro-batches |
| `output` | the rows of the query for these inputs, `---` between micro-batches |
| `python run` | is executed; other Python is only shown |
| `printed` | what the Python before it printed |
| `console` | `$ panes …` and its output |
"""

from __future__ import annotations

import contextlib
import difflib
import io
import json
import shlex
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from typer.testing import CliRunner

from panes.catalog import Catalog, Stream
from panes.cli.main import app
from panes.compile import Compiled
from panes.errors import PanesError
from panes.functions import Functions
from panes.script import Explanation, Listing, Step, steps
from panes.testing import inputs
from panes.testing.inputs import Input
from panes.testing.markdown import Block, blocks_of, rewrite
from panes.testing.queries import Query
from panes.testing.results import rows_text
from panes.testing.tables import read_tables, text_tables

SHOWN = frozenset(("text", "sh", "json", "markdown", "yaml"))
EXPECTATIONS = frozenset(("plan", "error", "listing", "printed", "output"))
PLANS = frozenset((("plan",), ("plan", "logical"), ("plan", "physical"), ("plan", "json")))


class PageError(AssertionError):
    """A page that does not say what is so."""


Batches = Sequence[Sequence[Mapping[str, object]]]
RunCase = Callable[[Query, Mapping[str, Input]], Batches]


@dataclass
class Example:
    """A block that runs, and the blocks that say what comes of it."""

    block: Block
    inputs: list[Block] = field(default_factory=list)
    expected: list[Block] = field(default_factory=list)

    @property
    def needs_spark(self) -> bool:
        return any(block.language == "output" for block in self.expected)


def examples_of(markdown: str) -> list[Example]:
    """The examples of a page, in order; a block that nobody would look at is refused."""
    found: list[Example] = []
    for block in blocks_of(markdown):
        if _runs(block):
            found.append(Example(block, expected=[block] if block.language == "console" else []))
        elif block.language in EXPECTATIONS or block.language == "input":
            if block.language == "plan" and block.words not in PLANS:
                raise PageError(f"line {block.line}: a plan is one of {sorted(PLANS)}")
            if not found:
                raise PageError(f"line {block.line}: nothing stands before this {block.language} block")
            (found[-1].inputs if block.language == "input" else found[-1].expected).append(block)
        elif block.language not in SHOWN and not _only_shown(block):
            raise PageError(
                f"line {block.line}: {' '.join(block.words) or 'a block without a name'} is no kind of block"
            )
    return found


def _runs(block: Block) -> bool:
    return block.words in (("sql",), ("console",), ("python", "run"))


def _only_shown(block: Block) -> bool:
    if block.option("file") is not None:
        return block.language in ("sql", "python")
    return block.words in (("python",), ("sql", "fragment"))


@dataclass
class Outcome:
    """What running an example gave."""

    example: Example
    steps: list[Step] = field(default_factory=list)
    error: Exception | None = None
    printed: str = ""
    query: Query | None = None  # the last one
    streams: dict[str, Stream] = field(default_factory=dict)


def play(markdown: str) -> list[Outcome]:
    """Run the examples of a page one after the other; only `output` blocks are left for later."""
    catalog, functions = Catalog(), Functions()
    names: dict[str, object] = {"__name__": "page"}
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        for block in blocks_of(markdown):
            name = block.option("file")
            if name is not None:
                Path(folder, name).write_text(block.text + "\n", encoding="utf-8")
        for example in examples_of(markdown):
            outcome = Outcome(example)
            outcomes.append(outcome)
            try:
                match example.block.language:
                    case "sql":
                        _sql(outcome, catalog, functions)
                    case "python":
                        _python(outcome, names)
                    case "console":
                        _console(outcome, folder)
            except Exception as error:  # it belongs to this example's test, not to the page
                outcome.error = error
    return outcomes


def _sql(outcome: Outcome, catalog: Catalog, functions: Functions) -> None:
    for step in steps(outcome.example.block.text, catalog, functions):
        outcome.steps.append(step)
        if isinstance(step, Compiled):
            outcome.query = Query.of(step, catalog)
    outcome.streams = {stream.name: stream for stream in catalog.streams}


def _python(outcome: Outcome, names: dict[str, object]) -> None:
    block = outcome.example.block
    printed = io.StringIO()
    # Empty lines before it, so that a traceback shows the line of the page.
    code = compile("\n" * block.line + block.text, "<page>", "exec")
    with contextlib.redirect_stdout(printed):
        try:
            exec(code, names)
        finally:
            outcome.printed = printed.getvalue().rstrip("\n")


def _console(outcome: Outcome, folder: str) -> None:
    runner = CliRunner(env={"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"})
    shown: list[str] = []
    for line in outcome.example.block.text.split("\n"):
        if not line.startswith("$ "):
            continue
        program, *arguments = shlex.split(line[2:])
        if program != "panes":
            raise PageError(f"{program} is not run by pages, panes is")
        with contextlib.chdir(folder):
            result = runner.invoke(app, arguments)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        shown += [line, *result.output.rstrip().split("\n")]
    outcome.printed = "\n".join(shown)


def check(path: Path, outcome: Outcome, run_case: RunCase | None, update: bool) -> None:
    """Compare an example with its page, or with `update` rewrite the blocks that differ."""
    example, error = outcome.example, outcome.error
    wants_error = any(block.language == "error" for block in example.expected)
    if error is not None and not (wants_error and isinstance(error, PanesError)):
        if isinstance(error, PanesError):
            raise PageError(f"{path.name}:{example.block.line} is refused:\n{error}") from error
        raise error
    for block in example.expected:
        actual = _actual(outcome, block, run_case)
        if _same(actual, block):
            continue
        if not update:
            lines = difflib.unified_diff(block.text.split("\n"), actual.split("\n"), "page", "now", lineterm="")
            raise PageError(f"{path.name}:{block.line} is out of date:\n" + "\n".join(lines))
        rewrite(path, block.number, actual)


def _actual(outcome: Outcome, block: Block, run_case: RunCase | None) -> str:
    match block.words:
        case ("error",):
            if outcome.error is None:
                raise PageError(f"line {block.line}: an error is expected, but there is none")
            return str(outcome.error)
        case ("plan", *which):
            return _plan(outcome, block, which[0] if which else "")
        case ("listing",):
            listings = [step for step in outcome.steps if isinstance(step, Listing)]
            if not listings:
                raise PageError(f"line {block.line}: nothing is listed by SHOW or DESCRIBE")
            return "\n\n".join(_listing(one) for one in listings)
        case ("printed",) | ("console",):
            return outcome.printed
        case ("output",):
            return _output(outcome, run_case)
    raise PageError(f"line {block.line}: {' '.join(block.words)} is no kind of block")


def _plan(outcome: Outcome, block: Block, which: str) -> str:
    plans = [step for step in outcome.steps if isinstance(step, Compiled | Explanation)]
    if not plans:
        raise PageError(f"line {block.line}: there is no query to explain")
    last = plans[-1]
    if which == "json":
        text = last.explain_json() if isinstance(last, Compiled) else last.text
        json.loads(text)
        return text
    text = last.explain() if isinstance(last, Compiled) else last.text
    if not which:
        return text
    (table,) = [part for part in text.split("\n\n") if part.startswith(f"{which} plan\n")]
    return table.partition("\n")[2]


def _listing(listing: Listing) -> str:
    rows = [list(row) for row in (listing.header, *listing.rows)]
    return text_tables([[[" ".join(cell.split()) for cell in row] for row in rows]])


def _output(outcome: Outcome, run_case: RunCase | None) -> str:
    if run_case is None:
        raise PageError("output blocks need something that runs queries")
    if outcome.query is None:
        raise PageError(f"line {outcome.example.block.line}: there is no query to run")
    given = {block.words[1].lower(): input_of(block, outcome) for block in outcome.example.inputs}
    return rows_text(run_case(outcome.query, given))


def input_of(block: Block, outcome: Outcome) -> Input:
    stream = outcome.streams.get(block.words[1])
    if stream is None:
        raise PageError(f"line {block.line}: the page declares no stream {block.words[1]}")
    return inputs.input_of(block, stream)


def _same(actual: str, block: Block) -> bool:
    """Equal texts; the rows of one micro-batch in any order, for that is promised per partition only."""
    if block.language != "output":
        return actual == block.text
    return _counted(actual) == _counted(block.text)


def _counted(text: str) -> list[Counter[tuple[str | None, ...]]]:
    return [Counter(tuple(row) for row in table) for table in read_tables(text)]
