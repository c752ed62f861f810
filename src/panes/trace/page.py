"""The examples of a Markdown page that have input blocks, and the picture that each names.

    ```sql …``` ```input bids …``` ```output …```

    ![Two windows, and a row that is late](../pictures/tumbling.svg)

The image stands after the blocks of its example, before the next `sql` block. What a page declares in its `sql` blocks
stays for the rest of it; a block that ends in an `error` block declares nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from panes.source import Source
from panes.sql.parser import script_parts
from panes.sql.tokens import span_of
from panes.testing.markdown import blocks_of
from panes.testing.tables import read_tables
from panes.trace.given import Given

_IMAGE = re.compile(r"!\[[^\]]*\]\(([^)\s]+\.svg)\)")


@dataclass(frozen=True)
class PageExample:
    """A query of a page with its declarations, the rows of its streams, and the picture that stands below it."""

    line: int
    script: str
    given: dict[str, Given] = field(default_factory=dict)
    picture: str | None = None


def examples_of(markdown: str) -> list[PageExample]:
    """The examples with input blocks, in order."""
    return [one for one in _examples(markdown) if one.given]


def _examples(markdown: str) -> Iterator[PageExample]:
    declared: list[str] = []
    example: PageExample | None = None
    refused = False
    for line, words, text in _parts(markdown):
        if words == ("sql",):
            if example is not None:
                yield example
                declared += [] if refused else _declarations(example.script.removeprefix(_joined(declared)))
            example, refused = PageExample(line, _joined(declared) + text), False
        elif words == ("error",):
            refused = True
        elif example is not None and len(words) == 2 and words[0] == "input":
            example = replace(example, given={**example.given, words[1]: given_of(text)})
        elif example is not None and words == ("image",) and example.given:
            example = replace(example, picture=text)
    if example is not None:
        yield example


def _joined(statements: list[str]) -> str:
    return "".join(f"{one};\n" for one in statements)


def _declarations(script: str) -> list[str]:
    """What a block declares."""
    texts = [span_of(part).text for part in script_parts(Source(script))]
    return [text for text in texts if text.split(None, 1)[0].upper() in ("CREATE", "DROP")]


def _parts(markdown: str) -> list[tuple[int, tuple[str, ...], str]]:
    """The fenced blocks and the images of a page, by their lines."""
    blocks = blocks_of(markdown)
    inside = {block.line + at for block in blocks for at in range(len(block.text.split("\n")) + 1)}
    images = (
        (number, ("image",), found[1])
        for number, line in enumerate(markdown.split("\n"), start=1)
        if number not in inside and (found := _IMAGE.fullmatch(line.strip())) is not None
    )
    return sorted([*((block.line, block.words, block.text) for block in blocks), *images])


def given_of(table: str) -> Given:
    """The rows of an input block: a header, cells between `|`, `---` between micro-batches, NULL for no value."""
    (header, *first), *more = read_tables(table)
    names = [str(name) for name in header]
    return Given(tuple(tuple(dict(zip(names, row, strict=True)) for row in batch) for batch in (first, *more)))
