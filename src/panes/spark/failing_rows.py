"""A value that a kernel cannot compute: the error names the operator, the function and the row, and stops the query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import pyarrow as pa

from panes.errors import PanesError
from panes.kernels.kernel import Clock, Kernel, State, Step
from panes.kernels.parts import release_of
from panes.kernels.state.release import Release
from panes.kernels.time_range import check_times
from panes.kernels.windows.axes import CYCLE
from panes.spark.pack import TIME

# What values can do; anything else that is raised is a mistake of ours, or no memory, and is told as it is.
VALUE_ERRORS = (duckdb.DataError, duckdb.InvalidInputException, pa.ArrowInvalid, ArithmeticError)
LONGEST = 200  # letters of a value that an error shows
MOST_COLUMNS = 20  # of a row

Action = Callable[[Kernel, Any], Any]  # with rows, or none


@dataclass(frozen=True)
class Names:
    """What an operator is called in a query, and its columns: those of functions' values, and those of rows."""

    operator: str = "an operator"
    functions: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)  # in the order in which they are shown


@dataclass(frozen=True)
class Named:
    """A kernel whose errors have names."""

    kernel: Kernel
    names: Names

    def pack(self, rows: pa.Table) -> pa.Table:
        def action(kernel: Kernel, part: pa.Table) -> pa.Table:
            if TIME in part.column_names:
                check_times(part[TIME])
            return kernel.pack(part)

        with self._named(action, rows):
            return action(self.kernel, rows)

    @property
    def release(self) -> Release | None:
        return release_of(self.kernel)

    def depends_on(self) -> Mapping[str, Any]:
        return self.kernel.depends_on()

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        def action(kernel: Kernel, part: pa.Table | None) -> None:
            for _ in kernel.step(state, part, clock).tables():
                pass

        with self._named(action, batch):
            step = self.kernel.step(state, batch, clock)
        return replace(step, pieces=self._pieces(step.pieces, action, batch))

    def _pieces(self, pieces: Iterable[pa.Table], action: Action, rows: pa.Table | None) -> Iterator[pa.Table]:
        with self._named(action, rows):
            yield from pieces

    @contextmanager
    def _named(self, action: Action, rows: pa.Table | None) -> Iterator[None]:
        """Where an action fails on these rows: it can be done again with some of them."""
        try:
            yield
        except VALUE_ERRORS as error:
            raise self._error(Trial(self.kernel, action, type(error)), rows, error) from error
        except PanesError:
            raise
        except Exception as error:
            error.add_note(f"in {self.names.operator}")
            raise

    def _error(self, trial: Trial, rows: pa.Table | None, error: Exception) -> PanesError:
        """Kernels are pure: the one that failed is tried again on parts, to find the row and the function."""
        count = trial.first_failing(rows) if rows is not None else None
        place = ""
        if rows is not None and count is not None:
            rows = rows.slice(0, count)
            place = f", at the row {shown_row(rows.slice(count - 1), self.names.columns)}"
        call = self.names.functions.get(trial.function(rows) or "")
        function = f"{call} in " if call is not None else ""
        return PanesError("value-failed", f"{function}{self.names.operator}: {_one_line(error)}{place}")


@dataclass(frozen=True)
class Trial:
    """What a kernel failed at, and how."""

    kernel: Kernel
    action: Action
    error: type[Exception]

    def first_failing(self, rows: pa.Table) -> int | None:
        """How many of the first rows it takes to fail; None if they do not, or if it fails without any."""
        if not self._fails(self.kernel, rows) or self._fails(self.kernel, rows.slice(0, 0)):
            return None
        fine, failing = 0, int(rows.num_rows)
        while failing - fine > 1:
            middle = (fine + failing) // 2
            if self._fails(self.kernel, rows.slice(0, middle)):
                failing = middle
            else:
                fine = middle
        return failing

    def function(self, rows: pa.Table | None) -> str | None:
        """The column of the first call that fails alone; an only call is known without."""
        calls = list(_calls(self.kernel))
        return next((output for output, alone in calls if len(calls) == 1 or self._fails(alone, rows)), None)

    def _fails(self, kernel: Kernel, rows: pa.Table | None) -> bool:
        try:
            self.action(kernel, rows)
        except self.error:
            return True
        except Exception:  # a part of a kernel need not work by itself
            return False
        return False


def _calls(kernel: Any) -> Iterator[tuple[str, Any]]:
    """The kernel with each of its calls alone, by the column of the call's value."""
    if hasattr(kernel, "calls"):
        yield from ((call.output, replace(kernel, calls=(call,))) for call in kernel.calls)
    elif hasattr(kernel, "folds"):
        yield from ((fold.state, replace(kernel, folds=(fold,))) for fold in kernel.folds)
    elif hasattr(kernel, "grouping"):
        grouping = kernel.grouping
        for fold in grouping.folds:
            yield fold.state, replace(kernel, grouping=replace(grouping, folds=(fold,)))
    elif hasattr(kernel, "windows"):
        yield from ((output, replace(kernel, windows=alone)) for output, alone in _calls(kernel.windows))


def shown_row(row: pa.Table, columns: Mapping[str, str]) -> str:
    """The first row of a table, by the names of its columns in the query.

    >>> shown_row(pa.table({"panes_c0": ["a"], "panes_c1": [1]}), {"panes_c1": "v", "panes_c0": "k"})
    "v = 1, k = 'a'"
    """
    names = [name for name in columns if name in row.column_names][:MOST_COLUMNS]
    return ", ".join(f"{columns[name]} = {_shown(row[name][0])}" for name in names)


def _shown(value: pa.Scalar) -> str:
    if pa.types.is_timestamp(value.type) and value.is_valid:
        text = _time(value)
    elif pa.types.is_temporal(value.type) or pa.types.is_decimal(value.type):
        text = str(value.cast(pa.string()).as_py())
    else:
        try:
            text = repr(value.as_py())
        except (ValueError, OverflowError):  # a time inside that Python has not
            text = f"a value of type {value.type}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _time(value: pa.Scalar) -> str:
    """Also of a year that Arrow writes as another: the calendar repeats every 400 years.

    >>> _time(pa.scalar(2**63 - 1, pa.timestamp("us", "UTC")))
    '+294247-01-10 04:00:54.775807Z'
    """
    type_ = pa.timestamp("us", value.type.tz)
    cycles, within = divmod(value.cast(type_).cast(pa.int64()).as_py(), CYCLE)
    year, rest = str(pa.scalar(within, type_).cast(pa.string()).as_py()).split("-", 1)
    years = int(year) + 400 * cycles
    return f"{years:04}-{rest}" if 0 <= years <= 9999 else f"{years:+}-{rest}"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split("\n\n")[0].split())
