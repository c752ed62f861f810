"""A Markdown page as a list of fenced blocks, each of which can be rewritten in place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"(`{3,})\s*(.*)")


@dataclass(frozen=True)
class Block:
    """One fenced block: the words after its fence, its text, and where it stands."""

    number: int
    words: tuple[str, ...]
    text: str
    line: int
    heading: str

    @property
    def language(self) -> str:
        return self.words[0] if self.words else ""

    def option(self, name: str) -> str | None:
        """The value of `name=value` after the fence."""
        return next(iter(self.options(name)), None)

    def options(self, name: str) -> list[str]:
        """All values of `name=value` after the fence."""
        return [word.partition("=")[2] for word in self.words[1:] if word.startswith(f"{name}=")]


def blocks_of(markdown: str) -> list[Block]:
    """The fenced blocks of a page; a fence of four backticks can hold one of three.

    >>> [block.words for block in blocks_of("# Title\\n```sql fragment\\nSELECT\\n```\\n")]
    [('sql', 'fragment')]
    """
    blocks: list[Block] = []
    lines = markdown.split("\n")
    heading, index = "", 0
    while index < len(lines):
        line = lines[index]
        fence = FENCE.fullmatch(line)
        if line.startswith("#"):
            heading = line.lstrip("#").strip()
        if fence is not None:
            end = _end(lines, index, fence[1])
            text = "\n".join(lines[index + 1 : end])
            blocks.append(Block(len(blocks), tuple(fence[2].split()), text, index + 1, heading))
            index = end
        index += 1
    return blocks


def _end(lines: list[str], start: int, fence: str) -> int:
    for index in range(start + 1, len(lines)):
        if lines[index].startswith(fence) and not lines[index].strip("`").strip():
            return index
    raise ValueError(f"nothing closes the block at line {start + 1}")


def rewrite(path: Path, number: int, text: str) -> None:
    """Give a block of a page another text."""
    markdown = path.read_text(encoding="utf-8")
    block = blocks_of(markdown)[number]
    lines = markdown.split("\n")
    length = len(block.text.split("\n")) if _has_lines(lines, block) else 0
    lines[block.line : block.line + length] = text.split("\n") if text else []
    path.write_text("\n".join(lines), encoding="utf-8")


def _has_lines(lines: list[str], block: Block) -> bool:
    """Whether anything, if only an empty line, stands between the fences."""
    fence = FENCE.fullmatch(lines[block.line - 1])
    assert fence is not None
    return _end(lines, block.line - 1, fence[1]) > block.line
