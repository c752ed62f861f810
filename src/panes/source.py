"""Where something was written: source texts, spans in them, and underlining. Secrets that stand there are not shown."""

from __future__ import annotations

import re
from dataclasses import dataclass

SECRET = re.compile(r"password|passwd|secret|token|credential|(?:access|account|api|sas)[._-]?key|jaas", re.IGNORECASE)
IN_URL = re.compile(r"(?<=://)([^/@:\s]+):([^/@\s]+)(?=@)")  # user:password
OPTION = re.compile(r"([\w.`-]+\s*=\s*')((?:[^']|'')*)('|$)")


@dataclass(frozen=True)
class Source:
    """A text that was handed to Panes, and what to call it in a message."""

    text: str
    name: str = ""

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


def hidden(line: str) -> str:
    """A line of the same length without the secrets in its options; `${ENV:NAME}` is none.

    >>> hidden("url = 'pg://me:hunter2@db', password = 'hunter2', kafka.token = '${ENV:TOKEN}'")
    "url = 'pg://me:*******@db', password = '*******', kafka.token = '${ENV:TOKEN}'"
    """
    line = IN_URL.sub(lambda found: f"{found[1]}:{_stars(found[2])}", line)
    return OPTION.sub(
        lambda found: found[1] + (_stars(found[2]) if SECRET.search(found[1]) else found[2]) + found[3], line
    )


def _stars(text: str) -> str:
    return text if text.startswith("${") else "*" * len(text)


WIDTH = 110  # longer lines are shown in part, around the place


def underline(span: Span) -> str:
    """The source line of a span with carets below it.

    >>> print(underline(Span(Source("SELECT a\\nFROM nowhere"), 14, 21)))
       2 | FROM nowhere
         |      ^^^^^^^
    """
    number, column = span.source.position(span.start)
    line = hidden(span.source.text.split("\n")[number - 1].rstrip("\r").replace("\t", " "))
    first = column - 1
    length = max(1, min(span.end - span.start, len(line) - first))
    if len(line) > WIDTH:
        cut = max(0, first - WIDTH // 3)
        line, first = line[cut : cut + WIDTH], first - cut
        length = max(1, min(length, len(line) - first))
    gutter = f"{number:>4} | "
    rows = [gutter + line, " " * (len(gutter) - 2) + "| " + " " * first + "^" * length]
    return "\n".join([f"in {span.source.name}:", *rows] if span.source.name else rows)
