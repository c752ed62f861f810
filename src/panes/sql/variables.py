"""Variables of a script: `${name}` stands for a text that is known when the script is run.

Values are put in before anything is read, in strings and names too, so errors are found in another text than the user
wrote. A script remembers which text came from where, and underlines its errors in the user's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from panes.errors import PanesError
from panes.source import Source, Span

VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_]\w*)\}")  # ${ENV:…} and ${FILE:…} are secrets, and stay
COMMENT = r"--[^\n]*|/\*.*?\*/"
QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`"  # what looks like a comment in them is none
PARTS = re.compile(rf"(?P<comment>{COMMENT})|(?P<quoted>{QUOTED})|{VARIABLE.pattern}", re.DOTALL)


@dataclass(frozen=True)
class Piece:
    """The part `[start, end)` of the text that was put together; it stands for `[written, written_end)`."""

    start: int
    end: int
    written: int
    written_end: int


@dataclass(frozen=True)
class Script:
    """A script with its variables replaced, and what the user wrote."""

    text: str
    source: Source
    replaced: tuple[Piece, ...] = ()

    def as_written(self, error: Exception) -> Exception:
        """An error of Panes with the place in the user's text; any other as it is."""
        span = error.span if isinstance(error, PanesError) else None
        if span is None or not self.replaced or span.source.text != self.text:
            return error
        assert isinstance(error, PanesError)
        return PanesError(error.code, error.message, self.written(span), error.hint)

    def written(self, span: Span) -> Span:
        """What the user wrote for a part of the text; of a value all of its `${name}`."""
        source = replace(self.source, redacted=span.source.redacted)
        start = self._place(span.start, at_end=False)
        return Span(
            source, start, max(start, self._place(span.end, at_end=True))
        )  # at an empty value, both are between

    def _place(self, offset: int, at_end: bool) -> int:
        shift = 0
        for piece in self.replaced:
            inside = piece.start < offset <= piece.end if at_end else piece.start <= offset < piece.end
            if inside:
                return piece.written_end if at_end else piece.written
            if piece.end < offset or (piece.end == offset and not at_end):
                shift = piece.written_end - piece.end
        return offset + shift


def with_variables(source: Source, values: Mapping[str, str]) -> Script:
    """The script with its variables replaced.

    >>> with_variables(Source("SELECT * FROM ${t} WHERE k = '${k}'"), {"t": "orders", "k": "a"}).text
    "SELECT * FROM orders WHERE k = 'a'"
    """
    parts: list[str] = []
    replaced: list[Piece] = []
    at = length = 0
    for found in _variables(source.text):
        name = found["name"]
        if name not in values:
            raise _unknown(source, found, values)
        before = source.text[at : found.start()]
        start = length + len(before)
        parts += [before, values[name]]
        length = start + len(values[name])
        replaced.append(Piece(start, length, found.start(), found.end()))
        at = found.end()
    return Script("".join([*parts, source.text[at:]]), source, tuple(replaced))


def _variables(text: str) -> Iterator[re.Match[str]]:
    """All that are not in comments."""
    for part in PARTS.finditer(text):
        if part["quoted"] is not None:
            yield from VARIABLE.finditer(text, part.start(), part.end())
        elif part["name"] is not None:
            yield part


def _unknown(source: Source, found: re.Match[str], values: Mapping[str, str]) -> PanesError:
    name = found["name"]
    meant = get_close_matches(name, values, n=1)
    hint = " ".join([*(f"Did you mean {one}?" for one in meant), f"Set it with --set {name}=…"])
    span = Span(source, found.start(), found.end())
    return PanesError("unknown-variable", f"the variable {name} is not set", span, hint)
