"""Where something was written: source texts, spans in them, and underlining. Secrets that stand there are not shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from panes.hiding import hidden


@dataclass(frozen=True)
class Source:
    """A text that was handed to Panes, and what to call it in a message.

    `redacted` finds names of options whose values are not shown, beside those that Panes takes for secret.
    """

    text: str
    name: str = ""
    redacted: re.Pattern[str] | None = field(default=None, compare=False, repr=False)

    @property
    def shown(self) -> str:
        """The text as it may be printed: of the same length."""
        return hidden(self.text, self.redacted)

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both counted from 1."""
        before = self.text[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


@dataclass(frozen=True)
class Span:
    """The half-open range `[start, end)` of a source text."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of the other."""
        return Span(self.source, min(self.start, other.start), max(self.end, other.end))


def shown(span: Span) -> str:
    """The text of a span as it may be printed."""
    return span.source.shown[span.start : span.end]


WIDTH = 110  # longer lines are shown in part, around the place


def underline(span: Span) -> str:
    """The source line of a span with carets below it.

    >>> print(underline(Span(Source("SELECT a\\nFROM nowhere"), 14, 21)))
       2 | FROM nowhere
         |      ^^^^^^^
    """
    number, column = span.source.position(span.start)
    lines = span.source.shown.split("\n")  # a value may stand in another line than its name
    line = lines[number - 1].rstrip("\r").replace("\t", " ")
    first = column - 1
    length = max(1, min(span.end - span.start, len(line) - first))
    if len(line) > WIDTH:
        cut = max(0, first - WIDTH // 3)
        line, first = line[cut : cut + WIDTH], first - cut
        length = max(1, min(length, len(line) - first))
    gutter = f"{number:>4} | "
    rows = [gutter + line, " " * (len(gutter) - 2) + "| " + " " * first + "^" * length]
    return "\n".join([f"in {span.source.name}:", *rows] if span.source.name else rows)
