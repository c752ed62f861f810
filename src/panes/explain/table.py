"""Plans as a table with a tree (`id | info`), and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Info = dict[str, object]


@dataclass(frozen=True)
class Row:
    """One node: its name, what was decided about it, and the nodes below."""

    node: str
    info: Info
    inputs: tuple[Row, ...] = field(default=())


def table(root: Row) -> str:
    """The tree as text.

    >>> print(table(Row("Filter", {"predicates": ["a > 0"]}, (Row("DataSource", {"stream": "s"}),))))
    id             | info
    ---------------+--------------------
    Filter_1       | predicates=[a > 0]
    └─DataSource_2 | stream=s
    """
    lines = [(prefix + f"{row.node}_{number}", info_text(row.info)) for number, prefix, row in _walk(root)]
    width = max(len("id"), *(len(name) for name, _ in lines))
    longest = max(len("info"), *(len(info) for _, info in lines))
    head = [f"{'id':<{width}} | info", "-" * (width + 1) + "+" + "-" * (longest + 2)]
    return "\n".join([*head, *(f"{name:<{width}} | {info}".rstrip() for name, info in lines)])


def document(root: Row) -> dict[str, object]:
    """The tree as plain data for JSON."""
    numbers = {id(row): number for number, _, row in _walk(root)}
    return _document(root, numbers)


def _document(row: Row, numbers: dict[int, int]) -> dict[str, object]:
    inputs = [_document(one, numbers) for one in row.inputs]
    return {"id": f"{row.node}_{numbers[id(row)]}", "node": row.node, "info": row.info, "inputs": inputs}


def _walk(root: Row) -> Iterator[tuple[int, str, Row]]:
    """Every node with its number and what to draw before it, top to bottom."""
    stack: list[tuple[str, str, Row]] = [("", "", root)]
    number = 0
    while stack:
        prefix, indent, row = stack.pop()
        number += 1
        yield number, prefix, row
        for position, child in reversed(list(enumerate(row.inputs))):
            last = position == len(row.inputs) - 1
            stack.append((indent + ("└─" if last else "├─"), indent + ("  " if last else "│ "), child))


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
