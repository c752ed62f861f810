"""A counterexample as a test file, to be kept until it passes."""

from __future__ import annotations

from collections.abc import Iterator

from panes.testing.cases import Case
from panes.testing.inputs import Input
from panes.testing.run_case import Runnable
from panes.testing.search import Counterexample
from panes.testing.tables import text_of_rows
from panes.testing.variants import Variant


def as_file(case: Case, ready: Runnable, found: Counterexample, promised: str, seed: int) -> str:
    """The file; its output is what the promise says."""
    return "\n\n".join(_parts(case, ready, found.variant, promised, seed)) + "\n"


def _parts(case: Case, ready: Runnable, variant: Variant, promised: str, seed: int) -> Iterator[str]:
    yield f"# {case.name}: the result depends on how rows come (seed {seed})"
    for block in (*case.setup, *case.tables, *case.sql):
        yield fenced(block.words, block.text)
    for block in case.inputs:
        name = block.words[1].lower()
        if name in ready.streams:
            yield fenced(block.words, rows_of(ready.streams[name], variant))
        else:
            yield fenced(block.words, block.text)
    if ready.clock:
        yield fenced(("clock",), "\n".join(ready.clock[: len(variant.batches)]))
    yield fenced(("output", "table", *words_of(variant)), promised)


def fenced(words: tuple[str, ...], text: str) -> str:
    """A block, within a fence that is longer than any in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return "\n".join([f"{fence}{' '.join(words)}", *([text] if text else []), fence])


def words_of(variant: Variant) -> list[str]:
    """How an output block says restarts, kills and shards.

    >>> words_of(Variant(((), ()), restarts=frozenset([0]), kills=frozenset([1, 2]), shards=7))
    ['restart=1', 'kill=2,3', 'shards=7']
    """
    said = {"restart": variant.restarts, "kill": variant.kills}
    found = [f"{name}={','.join(str(one + 1) for one in sorted(many))}" for name, many in said.items() if many]
    return [*found, f"shards={variant.shards}"]


def rows_of(given: Input, variant: Variant) -> str:
    """The rows of a stream, in the columns in which they were written."""
    stored = [column.name.lower() for column in given.stored()]
    places = [stored.index(name.lower()) for name in given.columns]
    batches = variant.of_stream(given.stream.name.lower())
    return text_of_rows(given.columns, [[[row[at] for at in places] for row in batch] for batch in batches])
