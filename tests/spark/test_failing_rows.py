"""Values that a kernel cannot compute are named: operator, function, key and row. No Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from panes.errors import PanesError
from panes.kernels.duck import query
from panes.kernels.kernel import Clock, State, Step, run_step
from panes.spark.failing_rows import Named, Names, shown_row
from panes.spark.pack import TIME

ROWS = pa.table({"panes_c0": ["a", "b", "c", "d"], "panes_c1": [1, 2, 300, 400], "hidden": [0, 0, 0, 0]})
NAMES = Names("tumblingwindow", {"v0": "max(v)", "v1": "sum(v)"}, {"panes_c0": "k", "panes_c1": "v + 1"})


@dataclass(frozen=True)
class Call:
    output: str
    sql: str


@dataclass(frozen=True)
class Computed:
    """A kernel that computes its calls over all rows, by DuckDB or, for the call `arrow`, by Arrow."""

    calls: tuple[Call, ...]

    def depends_on(self) -> Mapping[str, Any]:
        return {}

    def pack(self, rows: pa.Table) -> pa.Table:
        return rows

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        if batch is None:
            raise OverflowError("nothing\n\nat all")
        for call in self.calls:
            if call.sql == "arrow":
                pc.add_checked(batch["panes_c1"].cast(pa.int8()), pa.scalar(100, pa.int8()))
            else:
                query(f"SELECT {call.sql} FROM t", t=batch)
        return Step(state, batch)


def refused(*calls: str, rows: pa.Table | None = ROWS) -> str:
    kernel = Named(Computed(tuple(Call(f"v{i}", sql) for i, sql in enumerate(calls))), NAMES)
    with pytest.raises(PanesError) as caught:
        run_step(kernel, State(), rows, Clock())
    assert caught.value.code == "value-failed"
    assert "\n" not in caught.value.message
    return caught.value.message


@pytest.mark.parametrize("sql", ["panes_c1::UTINYINT", "sum(panes_c1)::UTINYINT", "arrow"])
def test_the_first_row_that_fails(sql: str) -> None:
    message = refused(sql)
    assert message.startswith("max(v) in tumblingwindow: ")
    assert message.endswith(", at the row k = 'c', v + 1 = 300")


def test_the_function_that_fails() -> None:
    assert refused("max(panes_c1)", "panes_c1::UTINYINT").startswith("sum(v) in tumblingwindow: ")


def test_what_fails_without_rows() -> None:
    assert refused("1", rows=None) == "max(v) in tumblingwindow: nothing"
    assert refused("1000::UTINYINT").startswith("max(v) in tumblingwindow: ")
    assert "at the row" not in refused("(count(*) + 1000)::UTINYINT")


def test_mistakes_of_ours_stay_what_they_are() -> None:
    with pytest.raises(Exception, match="nowhere") as caught:
        Named(Computed((Call("v0", "nowhere"),)), NAMES).step(State(), ROWS, Clock())
    assert caught.value.__notes__ == ["in tumblingwindow"]
    errors = Named(Computed((Call("v0", "error('PanesError')"),)), NAMES)
    with pytest.raises(PanesError):
        run_step(errors, State(), ROWS, Clock())


def test_what_works_is_passed_on() -> None:
    kernel = Named(Computed((Call("v0", "panes_c1"),)), NAMES)
    assert kernel.pack(ROWS) is ROWS
    assert run_step(kernel, State(), ROWS, Clock()).rows is ROWS


@pytest.mark.parametrize("time", [2**63 - 1, -(2**63), 0, None])
@pytest.mark.parametrize("type_", [pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.date32(), pa.duration("us")])
def test_any_row_can_be_shown(time: int | None, type_: pa.DataType) -> None:
    fits = time if time is None or type_ != pa.date32() else max(-(2**31), min(time, 2**31 - 1))
    times = pa.array([fits], type_)
    row = pa.table({"t": times, "s": pa.StructArray.from_arrays([times], ["x"]), "l": pa.array([["x" * 1000]])})
    assert len(shown_row(row, {"t": "t", "s": "s", "l": "l"})) < 500


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        (2**63 - 1, "+294247-01-10 04:00:54.775807Z"),
        (-(2**63), "-290308-12-21 19:59:05.224192Z"),
        (-(2**63) + 5, "-290308-12-21 19:59:05.224197Z"),
    ],
)
def test_a_time_that_no_kernel_can_reckon_with_is_named_where_rows_come_in(time: int, shown: str) -> None:
    """Before a kernel sees it: there sums would wrap around."""
    rows = pa.table({TIME: pa.array([0, time, 0], pa.timestamp("us", "UTC")), "panes_c0": ["a", "b", "c"]})
    names = Names("tumblingwindow", {}, {"panes_c0": "k", TIME: "ts"})
    with pytest.raises(PanesError) as caught:
        Named(Computed(()), names).pack(rows)
    assert caught.value.code == "value-failed"
    assert caught.value.message.endswith(f", at the row k = 'b', ts = {shown}")
    assert Named(Computed(()), names).pack(rows.slice(2)).num_rows == 1
