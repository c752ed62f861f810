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
from panes.trace.given import Given

_FENCE = re.compile(r"(`{3,})\s*(.*)")
_IMAGE = re.compile(r"!\[[^\]]*\]\(([^)\s]+\.svg)\)")
_BETWEEN = re.compile(r"^---+$", re.MULTILINE)


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


def _parts(markdown: str) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """The fenced blocks and the images of a page."""
    lines, index = markdown.split("\n"), 0
    while index < len(lines):
        fence, image = _FENCE.fullmatch(lines[index]), _IMAGE.fullmatch(lines[index].strip())
        if fence is not None:
            end = index + 1
            while end < len(lines) and lines[end].rstrip() != fence[1]:
                end += 1
            yield index + 1, tuple(fence[2].split()), "\n".join(lines[index + 1 : end])
            index = end
        elif image is not None:
            yield index + 1, ("image",), image[1]
        index += 1


def given_of(table: str) -> Given:
    """The rows of an input block: a header, cells between `|`, `---` between micro-batches, NULL for no value."""
    (header, *first), *more = [
        [[cell.strip() for cell in line.split("|")] for line in part.split("\n") if line.strip()]
        for part in _BETWEEN.split(table)
    ]
    return Given(tuple(tuple(_record(header, row) for row in batch) for batch in (first, *more)))


def _record(header: list[str], row: list[str]) -> dict[str, str | None]:
    return {name: None if cell == "NULL" else cell for name, cell in zip(header, row, strict=True)}
