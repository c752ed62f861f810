"""Expected rows against actual ones: which are missing and which are too many, micro-batch by micro-batch."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from panes.testing.tables import NO_ROWS, NULL, Cell, Table, read_tables, text_row

SHOWN = 40  # rows of a micro-batch


def rows_differ(expected: str, actual: str, inexact: Collection[str] = ()) -> str | None:
    """A text that shows two blocks of rows side by side, or None where they are the same; rows are in any order.

    Numbers in the columns `inexact` are equal to 1e-9, and however many digits they are written with.

    >>> print(rows_differ("k | n\\na | 1\\nb | 2", "k | n\\na | 1\\nb | 3"))
      k | n
      a | 1
    - b | 2
    + b | 3
    1 row is missing (-), 1 is too many (+)
    """
    wanted, found = _tables(expected), _tables(actual)
    if wanted == found:
        return None
    if _header(wanted) != _header(found) and _header(wanted) and _header(found):
        return f"  the columns are {_named(found)},\n  and expected are {_named(wanted)}"
    numbers = frozenset(at for at, name in enumerate(_header(found)) if name in inexact)
    return _batches(wanted, found, numbers)


def _tables(text: str) -> list[Table]:
    return [[]] if text.strip() in ("", NO_ROWS) else read_tables(text)


def _header(tables: list[Table]) -> list[Cell]:
    return tables[0][0] if tables and tables[0] else []


def _named(tables: list[Table]) -> str:
    return " | ".join(str(name) for name in _header(tables))


def _batches(wanted: list[Table], found: list[Table], inexact: frozenset[int]) -> str | None:
    header = _header(wanted) or _header(found)
    parts = [_body(wanted), _body(found)]
    count = max(map(len, parts))
    lines: list[str] = []
    missing = extra = 0
    widths = _widths([header, *(row for part in parts for table in part for row in table)])
    for number in range(count):
        left, right = (part[number] if number < len(part) else [] for part in parts)
        less, more = _only(left, right, inexact)
        if not less and not more:
            continue
        missing, extra = missing + len(less), extra + len(more)
        lines += [f"micro-batch {number + 1}:"] if count > 1 else []
        lines += _side_by_side(header, left, less, more, widths)
    if len(parts[0]) != len(parts[1]):
        lines.append(f"  there are {len(parts[1])} micro-batches, and expected are {len(parts[0])}")
    if not lines:
        return None
    return "\n".join([*lines, *_counted(missing, extra)])


def _body(tables: list[Table]) -> list[Table]:
    return [tables[0][1:], *tables[1:]] if tables else [[]]


def _counted(missing: int, extra: int) -> list[str]:
    told = []
    if missing:
        told.append(f"{missing} {'row is' if missing == 1 else 'rows are'} missing (-)")
    if extra:
        noun = "" if told else "row " if extra == 1 else "rows "
        told.append(f"{extra} {noun}{'is' if extra == 1 else 'are'} too many (+)")
    return [", ".join(told)] if told else []


def _side_by_side(header: list[Cell], left: Table, less: Table, more: Table, widths: list[int]) -> list[str]:
    lines = [f"  {_line(header, widths)}"]
    lacking = list(less)
    for row in left[:SHOWN]:
        lacks = row in lacking
        if lacks:
            lacking.remove(row)
        lines.append(f"{'-' if lacks else ' '} {_line(row, widths)}")
    lines += [f"- {_line(row, widths)}" for row in lacking[:SHOWN]]
    lines += [f"+ {_line(row, widths)}" for row in more[:SHOWN]]
    unsaid = max(0, len(left) - SHOWN) + max(0, len(more) - SHOWN)
    return [*lines, *([f"  … {unsaid} more"] if unsaid else [])]


def _widths(rows: Sequence[Sequence[Cell]]) -> list[int]:
    most = max((len(row) for row in rows), default=0)
    return [max(len(_shown(row[at])) for row in rows if at < len(row)) for at in range(most)]


def _line(row: Sequence[Cell], widths: Sequence[int]) -> str:
    return text_row([_shown(one) for one in row], widths[: len(row)])


def _shown(cell: Cell) -> str:
    return NULL if cell is None else cell if cell else '""'


def _only(left: Table, right: Table, inexact: frozenset[int]) -> tuple[Table, Table]:
    """The rows that only one of two tables has."""
    rest = list(right)
    only: Table = []
    for row in left:
        at = next((at for at, other in enumerate(rest) if _same(row, other, inexact)), None)
        if at is None:
            only.append(row)
        else:
            rest.pop(at)
    return only, rest


def _same(left: Sequence[Cell], right: Sequence[Cell], inexact: frozenset[int]) -> bool:
    if len(left) != len(right):
        return False
    pairs = enumerate(zip(left, right, strict=True))
    return all(one == two or (at in inexact and _close(one, two)) for at, (one, two) in pairs)


def _close(wanted: Cell, found: Cell) -> bool:
    if wanted is None or found is None:
        return False
    try:
        one, two = float(wanted), float(found)
    except ValueError:
        return False
    return (one != one and two != two) or math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-9)
