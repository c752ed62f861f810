"""Plans as a table with a tree (`id | info`), and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Info = dict[str, object]

WIDTH = 100  # of a line, unless a terminal is narrower
NARROW = 40  # of what is told of a node: below it, each attribute has a line of its own


@dataclass(frozen=True)
class Row:
    """One node: its name, what was decided about it, and the nodes below."""

    node: str
    info: Info
    inputs: tuple[Row, ...] = field(default=())


def table(root: Row, width: int = WIDTH) -> str:
    """The tree as text; what is too long for a line goes on below.

    >>> plan = Row("Filter", {"predicates": ["a > 0"]}, (Row("DataSource", {"stream": "s", "columns": ["a"]}),))
    >>> print(table(plan))
    id             | info
    ---------------+-----------------------
    Filter_1       | predicates=[a > 0]
    └─DataSource_2 | stream=s, columns=[a]
    >>> print(table(plan, 30))
    id             | info
    ---------------+--------------------
    Filter_1       | predicates=[a > 0]
    └─DataSource_2 | stream=s,
                   | columns=[a]
    """
    nodes = [(place, f"{place.before}{row.node}_{number}", row) for number, place, row in _walk(root)]
    names = max(len("id"), *(len(name) for _, name, _ in nodes))
    lines = [
        (place.below if number else name, text)
        for place, name, row in nodes
        for number, text in enumerate(wrapped(row.info, width - names - 3))
    ]
    longest = max(len("info"), *(len(text) for _, text in lines))
    head = [f"{'id':<{names}} | info", "-" * (names + 1) + "+" + "-" * (longest + 2)]
    return "\n".join([*head, *(f"{name:<{names}} | {text}".rstrip() for name, text in lines)])


def document(root: Row) -> dict[str, object]:
    """The tree as plain data for JSON."""
    numbers = {id(row): number for number, _, row in _walk(root)}
    return _document(root, numbers)


def _document(row: Row, numbers: dict[int, int]) -> dict[str, object]:
    inputs = [_document(one, numbers) for one in row.inputs]
    return {"id": f"{row.node}_{numbers[id(row)]}", "node": row.node, "info": row.info, "inputs": inputs}


@dataclass(frozen=True)
class Place:
    """What is drawn before a node, and below it, where its text goes on."""

    before: str
    below: str


def _walk(root: Row) -> Iterator[tuple[int, Place, Row]]:
    """Every node with its number and its place in the tree, top to bottom."""
    stack: list[tuple[str, str, Row]] = [("", "", root)]
    number = 0
    while stack:
        prefix, indent, row = stack.pop()
        number += 1
        yield number, Place(prefix, indent + ("│" if row.inputs else "")), row
        for position, child in reversed(list(enumerate(row.inputs))):
            last = position == len(row.inputs) - 1
            stack.append((indent + ("└─" if last else "├─"), indent + ("  " if last else "│ "), child))


def wrapped(info: Info, width: int) -> list[str]:
    """The text in lines of this width; where there is little room, each attribute has lines of its own.

    >>> wrapped({"kind": "state", "keys": ["shop", "city"], "state": "rows"}, 60)
    ['kind=state, keys=[shop, city], state=rows']
    >>> wrapped({"kind": "state", "keys": ["shop", "city"], "state": "rows"}, 18)
    ['kind=state,', 'keys=[shop, city],', 'state=rows']
    >>> wrapped({"keys": ["shop", "city"]}, 12)
    ['keys=[shop,', '  city]']
    """
    lines: list[str] = []
    for number, (name, value) in enumerate(info.items(), 1):
        first, *more = _parts(name, value, width, "," if number < len(info) else "")
        if lines and width >= NARROW and len(lines[-1]) + 1 + len(first) <= width:
            lines[-1] += f" {first}"
        else:
            lines.append(first)
        for part in more:
            if len(lines[-1]) + 1 + len(part) <= width:
                lines[-1] += f" {part}"
            else:
                lines.append(f"  {part}")
    return lines or [""]


def _parts(name: str, value: object, width: int, end: str) -> list[str]:
    """An attribute in one part, or the items of a list that is too long for a line."""
    text = f"{name}={value_text(value)}{end}"
    if len(text) <= width or isinstance(value, str) or not isinstance(value, Sequence):
        return [text]
    items = [f"{one}," for one in value]
    return [f"{name}=[{items[0]}", *items[1:-1], f"{value[-1]}]{end}"] if len(items) > 1 else [text]


def info_text(info: Info) -> str:
    return ", ".join(f"{name}={value_text(value)}" for name, value in info.items())


def value_text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(str(one) for one in value) + "]"
    return str(value)
