"""A test file as cases: a query, the rows of its streams, and what is expected of them.

| block | what it says |
|---|---|
| `sql` | statements; what they declare stays for the rest of the file, the last query is what is tested |
| `sql script=FILE query=NAME` | those of a script, then the block's own; NAME is what `panes run` calls it |
| `input STREAM` | rows of a stream, `---` between micro-batches; after an `output` they begin another case |
| `table NAME` | a table for joins, whose columns have types; it stays for the rest of the file |
| `clock` | the time of each micro-batch, for arrival mode and idle_timeout |
| `setup` | `module:function`, called with each engine: registers functions; it stays |
| `output` | what comes out of each micro-batch, and at the flush |
| `output table` | what all that comes out adds up to |
| `output late` | the late rows of an INSERT with LATE ROWS INTO |
| `counters` | counters by name, and their sums |
| `error` | the error that the query ends in, or its code alone |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from panes.testing.inputs import CaseError
from panes.testing.markdown import Block, blocks_of

FRAGMENT = "fragment"
EXPECTED = ("output", "counters", "error")
GIVEN = ("input", "clock")
KINDS = {
    "sql": (frozenset((FRAGMENT,)), frozenset(("script", "query", "set"))),
    "output": (frozenset(("no-flush", "table", "late")), frozenset(("restart", "kill", "shards"))),
}
NUMBERS = re.compile(r"\d+(,\d+)*")


@dataclass(frozen=True)
class Case:
    """One test of a file; `sql` has all blocks up to its own."""

    path: Path
    name: str = ""
    sql: tuple[Block, ...] = ()
    setup: tuple[Block, ...] = ()
    tables: tuple[Block, ...] = ()
    given: tuple[Block, ...] = ()
    expected: tuple[Block, ...] = field(default=())

    @property
    def line(self) -> int:
        """Where it begins to be expected."""
        return self.expected[0].line if self.expected else self.sql[-1].line

    @property
    def inputs(self) -> tuple[Block, ...]:
        return tuple(block for block in self.given if block.language == "input")

    @property
    def clock(self) -> list[str]:
        """The time of each micro-batch, where one is said."""
        texts = [block.text for block in self.given if block.language == "clock"]
        return [line.strip() for text in texts for line in text.split("\n") if line.strip().strip("-")]

    @property
    def refused(self) -> bool:
        """Whether an error is expected."""
        return any(block.language == "error" for block in self.expected)


@dataclass(frozen=True)
class Way:
    """How the rows of a case are run, as its output block says; micro-batches count from 0."""

    flush: bool = True
    restarts: tuple[int, ...] = ()
    kills: tuple[int, ...] = ()
    shards: int | None = None


def way_of(block: Block) -> Way:
    """What stands after the fence of an output block, where micro-batches count from 1."""
    restarts, kills, shards = (_numbers(block, name) for name in ("restart", "kill", "shards"))
    if len(shards) > 1 or 0 in (*restarts, *kills, *shards):
        raise CaseError(block.line, "micro-batches and shards count from 1, and there is one number of shards")
    less = [tuple(one - 1 for one in many) for many in (restarts, kills)]
    return Way("no-flush" not in block.words, less[0], less[1], shards[0] if shards else None)


def _numbers(block: Block, name: str) -> tuple[int, ...]:
    said = block.option(name)
    if said is None:
        return ()
    if NUMBERS.fullmatch(said) is None:
        raise CaseError(block.line, f"{name}={said} is no number; several have commas between them: {name}=1,2")
    return tuple(map(int, said.split(",")))


def cases_of(path: Path) -> list[Case]:
    """The cases of a file, each under the name of its heading."""
    text = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    try:
        blocks = blocks_of(text)
    except ValueError as error:
        raise CaseError(0, str(error)) from None
    return _named([case for case in _cases(Case(path), blocks) if case.expected])


def _cases(case: Case, blocks: list[Block]) -> Iterator[Case]:
    for block in blocks:
        _check_words(block)
        match block.language:
            case "sql" if FRAGMENT not in block.words:
                yield _complete(case)
                case = replace(case, sql=(*case.sql, block), given=(), expected=())
            case "setup":
                case = replace(case, setup=(*case.setup, block))
            case "table":
                case = replace(case, tables=(*case.tables, block))
            case "input" | "clock":
                if case.expected:
                    yield case
                    case = replace(case, given=(), expected=())
                case = replace(case, given=(*_needs_sql(case, block).given, block))
            case "output" | "counters" | "error":
                case = replace(case, expected=(*_needs_sql(case, block).expected, block))
            case _:
                pass
    yield _complete(case)


def _check_words(block: Block) -> None:
    alone, named = KINDS.get(block.language, (frozenset(), frozenset()))
    if block.language in KINDS:
        for word in block.words[1:]:
            name, equals, _ = word.partition("=")
            if name not in (named if equals else alone):
                words = ", ".join([*sorted(alone), *(f"{one}=…" for one in sorted(named))])
                raise CaseError(block.line, f"{word} says nothing of {block.language}: it takes {words}")
    if block.language == "input" and len(block.words) != 2:
        raise CaseError(block.line, "an input block names one stream: input STREAM")


def _complete(case: Case) -> Case:
    if case.given and not case.expected:
        raise CaseError(case.given[0].line, "nothing is expected of these rows: add an output block")
    return case


def _needs_sql(case: Case, block: Block) -> Case:
    if not case.sql:
        raise CaseError(block.line, f"no sql block stands before this {block.language} block")
    return case


def _named(cases: list[Case]) -> list[Case]:
    """Each under a name of its own: several below one heading are numbered."""
    found: list[Case] = []
    count: dict[str, int] = {}
    for case in cases:
        heading = (case.given or case.expected)[0].heading or case.path.stem
        count[heading] = count.get(heading, 0) + 1
        found.append(replace(case, name=heading if count[heading] == 1 else f"{heading} ({count[heading]})"))
    return found
