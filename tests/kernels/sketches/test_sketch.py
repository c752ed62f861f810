"""The functions of sketches in DuckDB are those of the sketches."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panes.kernels.duck import query
from panes.kernels.sketches.distinct import distinct
from panes.kernels.sketches.quantiles import Quantiles
from panes.kernels.sketches.sketch import Sketch

CASES: dict[str, tuple[Sketch, pa.DataType]] = {
    "distinct": (distinct(0.3), pa.int64()),
    "quantiles": (Quantiles(16, (0.1, 0.9)), pa.float64()),
}


@pytest.mark.parametrize("name", CASES)
def test_duckdb_calls_the_sketch(name: str) -> None:
    """Over more groups than DuckDB takes at once, one without values."""
    sketch, type_ = CASES[name]
    numbers = range(30_000)
    rows = pa.table({"k": [at % 2_500 for at in numbers], "x": pa.array([at * 7919 for at in numbers], type_)})
    fold = f"SELECT k, {sketch.sql('fold', 'list(x) FILTER (WHERE k > 0)')} AS s FROM rows GROUP BY k"
    merge = f"SELECT k // 2 AS k, {sketch.sql('merge', 'list(s ORDER BY k)')} AS s FROM ({fold}) GROUP BY 1"
    got = query(f"SELECT k, s, {sketch.sql('evaluate', 's')} AS v FROM ({merge}) ORDER BY k", rows=rows)
    lists: list[list[int]] = [[] for _ in range(1_250)]
    for at in numbers:
        lists[at % 2_500 // 2] += [at * 7919] if at % 2_500 else []
    expected = sketch.fold(pa.array(lists, pa.list_(type_)))
    assert got["s"].to_pylist() == expected.to_pylist()
    assert got["v"].to_pylist() == sketch.evaluate(expected).to_pylist()
    assert expected.type == sketch.state_type
