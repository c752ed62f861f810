"""What must hold of a query: as a stream, however it is cut, it is what it is as a batch, and what an oracle says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from .calls import ORDER
from .double.engine import Replayed, batch
from .double.types import Schema
from .oracle import UNKNOWN
from .reworded import reworded
from .rows import Cut, Row, Stream

CHANGE = "_change_type"
REMOVES = ("delete", "update_preimage")
# A query may be refused for these; anything else is a finding.
REFUSALS = ("unbounded-state", "watermark-required", "not-executable", "unsupported-clause", "over-arguments",
            "changelog-not-supported", "function-arguments")  # fmt: skip


class WrongError(AssertionError):
    """A law that does not hold."""


@dataclass(frozen=True)
class Case:
    """A query over rows, cut in several ways."""

    sql: str
    stream: Stream
    rows: Sequence[Row]
    cuts: Sequence[Cut]
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)
    lags: bool = False  # a changelog is not that of all rows before the flush: some wait for the watermark

    def batch(self, rows: Sequence[Row]) -> pa.Table:
        """The result over rows at once, by the double."""
        return batch(self.sql, self.stream.table(rows), self.stream.options(False), self.tables, self.views)


def check(case: Case, expected: pa.Table | None = None) -> list[Row]:
    """Every law of a query; PanesError where it is refused. The result is what it adds up to."""
    rows = case.stream.table(case.rows)
    whole = case.batch(case.rows)
    result = _table(whole)
    if expected is not None:
        compare("batch", result, "oracle", known_rows(expected), known_names(expected))
    for number, one in enumerate(case.cuts):
        _check_stream(case, one, rows, whole.schema, result, f"stream {number}")
    return result


def _check_stream(case: Case, cut: Cut, rows: pa.Table, schema: pa.Schema, result: list[Row], name: str) -> None:
    schema_ = Schema.of_arrow(rows.schema)
    options = case.stream.options(True)
    run = Replayed(case.sql, schema_, options, cut.shards, len(cut.sizes), case.tables, case.views)
    given = run.result.schema.simpleString()
    wanted = Schema.of_arrow(schema).simpleString()
    if given != wanted:
        raise WrongError(f"{name} has the schema {given}, the batch {wanted}")
    changes = CHANGE in run.result.columns
    place = 0
    for number, sizes in enumerate(cut.sizes):
        parts = []
        for size in sizes:
            parts.append(rows.slice(place, size))
            place += size
        run.micro_batch(parts)
        if number in cut.restarts:
            late = run.counter("late_rows")
            run.sql = reworded(case.sql, run.result.columns, case.views.values())
            run.start()
            _none_late(late)
        if changes and not case.lags and (number + len(cut.sizes)) % 3 == 0:
            so_far = case.batch(case.rows[:place])
            compare(f"{name} after {place} rows", added_up(run.outputs), "batch", _table(so_far))
    run.flush()
    _none_late(run.counter("late_rows"))
    compare(name, added_up(run.outputs), "batch", result)


def _none_late(late: int) -> None:
    if late:
        raise WrongError(f"{late} rows were late")


def _table(table: pa.Table) -> list[Row]:
    return added_up([table])


def added_up(outputs: Iterable[pa.Table]) -> list[Row]:
    """What rows leave; those of a changelog are applied as their change type says."""
    return added_up_rows(row for table in outputs for row in table.to_pylist())


def added_up_rows(rows: Iterable[Row]) -> list[Row]:
    kept: list[Row] = []
    for row in map(dict, rows):
        change = row.pop(CHANGE, None)
        if change not in REMOVES:
            kept.append(row)
            continue
        at = next((at for at, one in enumerate(kept) if same(one, row)), None)
        if at is None:
            raise WrongError(f"{change} of a row that is not there: {row}")
        kept.pop(at)
    return kept


def known_rows(table: pa.Table) -> list[Row]:
    return list(table.select(known_names(table)).to_pylist())


def known_names(table: pa.Table) -> list[str]:
    """The columns of which the oracle knows what they hold."""
    return [one.name for one in table.schema if one.name != ORDER and UNKNOWN not in (one.metadata or {})]


def compare(name: str, rows: list[Row], other_name: str, others: list[Row], names: Sequence[str] | None = None) -> None:
    """Both hold the same rows, in any order."""
    if names is not None:
        rows = [{one: row[one] for one in names} for row in rows]
    left, right = sorted(rows, key=sort_key), sorted(others, key=sort_key)
    if len(left) == len(right) and all(map(same, left, right)):
        return
    only = [row for row in left if not any(same(row, one) for one in right)]
    missing = [row for row in right if not any(same(row, one) for one in left)]
    if len(left) == len(right) and not only and not missing:
        return  # sorted in another way by digits that do not count
    sizes = f"{name} has {len(left)} rows, {other_name} {len(right)}"
    raise WrongError(f"{sizes}\n  only {name}: {only[:4]}\n  only {other_name}: {missing[:4]}")


def same(left: Any, right: Any) -> bool:
    """Equal: NaN to itself, 0.0 to -0.0, floating-point numbers to 1e-9."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[name]) for name, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and isinstance(right, int | float | Decimal):
        other = float(right)
        return (left != left and other != other) or math.isclose(left, other, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(left, int | Decimal) and isinstance(right, int | Decimal):
        return isinstance(left, bool) == isinstance(right, bool) and left == right
    return type(left) is type(right) and bool(left == right)


def sort_key(row: Row) -> str:
    """Numbers of any kind with few digits, so that the last ones do not sort."""
    return repr([(name, _rounded(value)) for name, value in sorted(row.items())])


def _rounded(value: Any) -> Any:
    if isinstance(value, float | int | Decimal) and not isinstance(value, bool):
        return f"{float(value) + 0.0:.6g}"
    if isinstance(value, datetime):
        return value.isoformat()
    return [_rounded(one) for one in value] if isinstance(value, list) else value
