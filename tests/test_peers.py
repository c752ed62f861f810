"""What the benchmark beside peers rests on: rows, answers, and a check that finds what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.peers import data, processes
from benchmarks.peers.check import answer, fault
from benchmarks.peers.data import CHANGES, EVENTS, Shape
from benchmarks.peers.feed import Feed
from benchmarks.peers.latency import latencies
from benchmarks.peers.plot import Bar, Group, chart
from benchmarks.peers.report import Case, Report
from benchmarks.peers.runner import Outcome
from benchmarks.peers.workloads import WORKLOADS, Workload

SHAPE = Shape(keys=5, rows=4_000, file_rows=1_000)
BY_NAME = {workload.name: workload for workload in WORKLOADS}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def events(folder: Path) -> list[tuple[int, int, float]]:
    """Time in milliseconds, key and value of all rows but the last."""
    table = pq.read_table(SHAPE.write(EVENTS, folder)).slice(0, SHAPE.rows)
    times = (table["ts"].cast(pa.int64()).to_numpy() // 1000).tolist()
    return list(zip(times, table["k"].to_pylist(), table["v"].to_pylist(), strict=True))


def answered(name: str, folder: Path) -> list[dict[str, object]]:
    workload = BY_NAME[name]
    rows: list[dict[str, object]] = pq.read_table(
        answer(workload, SHAPE.write(workload.rows, folder), folder / "answers")
    ).to_pylist()
    return sorted(rows, key=lambda row: [str(row[column]) for column in workload.key])


def expect(name: str, folder: Path, wanted: list[dict[str, object]]) -> None:
    key = BY_NAME[name].key
    found = answered(name, folder)
    for one, other in zip(found, sorted(wanted, key=lambda row: [str(row[column]) for column in key]), strict=True):
        assert one == pytest.approx(other)


def test_the_answer_of_statewindow_is_that_of_the_state_machine(folder: Path) -> None:
    wanted: list[dict[str, object]] = []
    active: dict[int, list[tuple[int, float]]] = {}
    for at, key, value in events(folder):
        if key in active:
            active[key].append((at, value))
            if value < 0.1:
                rows = active.pop(key)
                times, values = [one for one, _ in rows], [one for _, one in rows]
                wanted.append({"k": key, "opens": times[0], "closes": at, "s": sum(values), "n": len(rows)})
        elif value > 0.9:
            active[key] = [(at, value)]
    expect("statewindow", folder, wanted)


def test_the_answer_of_session_parts_rows_that_are_more_than_the_gap_apart(folder: Path) -> None:
    sparse = Shape(keys=900, rows=4_000, file_rows=1_000)
    rows = pq.read_table(sparse.write(EVENTS, folder)).slice(0, 4_000)
    times = (rows["ts"].cast(pa.int64()).to_numpy() // 1000).tolist()
    sessions: dict[int, list[list[int]]] = {}
    for at, key in zip(times, rows["k"].to_pylist(), strict=True):
        of_key = sessions.setdefault(key, [])
        if of_key and at - of_key[-1][-1] <= 1_000:
            of_key[-1].append(at)
        else:
            of_key.append([at])
    wanted = sorted((key, one[0], one[-1], len(one)) for key, every in sessions.items() for one in every)
    path = answer(BY_NAME["session"], sparse.write(EVENTS, folder), folder / "answers")
    found = pq.read_table(path).to_pylist()
    assert sorted((row["k"], row["opens"], row["closes"], row["n"]) for row in found) == wanted


def test_the_answer_of_hopping_has_each_row_five_times(folder: Path) -> None:
    counts: dict[tuple[int, int], int] = {}
    for at, key, _ in events(folder):
        for opens in range(at // 2_000 * 2_000 - 8_000, at + 1, 2_000):
            counts[key, opens] = counts.get((key, opens), 0) + 1
    assert {(row["k"], row["opens"]): row["n"] for row in answered("hopping", folder)} == counts


def test_a_changelog_is_consistent(folder: Path) -> None:
    table: dict[int, float] = {}
    for row in pq.read_table(SHAPE.write(CHANGES, folder)).to_pylist():
        if row["_change_type"] == "update_preimage":
            assert table.pop(row["id"]) == row["v"]
        else:
            assert row["id"] not in table
            table[row["id"]] = row["v"]
    assert {row["id"]: row["v"] for row in answered("over_changelog", folder)} == table


def test_lanes_have_the_rows_of_the_files_in_their_order(folder: Path) -> None:
    at = SHAPE.write(EVENTS, folder)
    lanes = [pq.read_table(file) for file in sorted(at.with_name(f"{at.name}-lanes").glob("*.parquet"))]
    assert len(lanes) == 2
    for lane in lanes:
        times = lane["ts"].to_pylist()
        assert times == sorted(times)
    assert pa.concat_tables(lanes).sort_by("ts") == pq.read_table(at).sort_by("ts")


def written(table: pa.Table, folder: Path) -> Path:
    result = folder / "result"
    result.mkdir()
    pq.write_table(table, result / "part-0")
    (result / "_SUCCESS").touch()
    return result


LAG = BY_NAME["lag"]


def lag(folder: Path) -> tuple[pa.Table, Path]:
    path = answer(LAG, SHAPE.write(EVENTS, folder), folder / "answers")
    return pq.read_table(path), path


def test_an_equal_result_in_another_order_with_the_last_row_is_right(folder: Path) -> None:
    table, expected = lag(folder)
    end = pa.table({"k": [data.END], "ts": [0], "v": [0.0], "r": [0.0]}).cast(table.schema)
    result = pa.concat_tables([table, end]).sort_by("v")
    assert fault(LAG, written(result, folder), expected) is None


def test_times_may_be_timestamps(folder: Path) -> None:
    table, expected = lag(folder)
    times = pa.array(table["ts"].to_numpy() * 1000, pa.timestamp("us", "UTC"))
    result = table.set_column(table.column_names.index("ts"), "ts", times)
    assert fault(LAG, written(result, folder), expected) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda table: table.slice(1), "3,999 results instead of 4,000"),
        (lambda table: pa.concat_tables([table, table.slice(0, 1)]), "4,001 results instead of 4,000"),
        (lambda table: pa.concat_tables([table.slice(1), table.slice(1, 1)]), "4,000 results instead of 4,000"),
        (lambda table: shifted(table, 1e-8), "have other values"),
        (lambda table: table.drop(["r"]), "no column r"),
    ],
    ids=["a row too few", "a row too many", "a row twice", "other values", "no such column"],
)
def test_what_is_wrong_is_found(change: object, says: str, folder: Path) -> None:
    table, expected = lag(folder)
    assert callable(change)
    found = fault(LAG, written(change(table), folder), expected)
    assert found is not None
    assert says in found


def shifted(table: pa.Table, by: float) -> pa.Table:
    values = pa.array([None if one is None else one * (1 + by) for one in table["r"].to_pylist()], pa.float64())
    return table.set_column(3, "r", values)


def test_floats_may_differ_by_a_billionth(folder: Path) -> None:
    table, expected = lag(folder)
    assert fault(LAG, written(shifted(table, 1e-10), folder), expected) is None


LATEST = BY_NAME["keep_latest"]


def latest(rows: list[dict[str, object]], folder: Path) -> str | None:
    """Beside an answer of two keys."""
    expected = folder / "expected.parquet"
    pq.write_table(pa.table({"k": [1, 2], "ts": [20, 10], "v": [0.2, 0.1]}), expected)
    return fault(LATEST, written(pa.Table.from_pylist(rows), folder), expected)


def row(k: int, ts: int, v: float, **more: object) -> dict[str, object]:
    return {"k": k, "ts": ts, "v": v, **more}


def test_a_changelog_counts_as_what_it_adds_up_to(folder: Path) -> None:
    rows = [
        row(1, 20, 0.2, _change_type="update_postimage"),
        row(1, 10, 0.5, _change_type="insert"),
        row(2, 10, 0.1, _change_type="insert"),
        row(1, 10, 0.5, _change_type="update_preimage"),
    ]
    assert latest(rows, folder) is None


def test_a_changelog_that_takes_nothing_back_is_wrong(folder: Path) -> None:
    rows = [row(1, 10, 0.5, _change_type="insert"), row(1, 20, 0.2, _change_type="insert")]
    assert "3 results" in str(latest([*rows, row(2, 10, 0.1, _change_type="insert")], folder))


def test_the_last_of_rows_that_replace_others_counts(folder: Path) -> None:
    rows = [row(1, 20, 0.2, _order=2), row(1, 10, 0.5, _order=1), row(2, 10, 0.1, _order=1)]
    assert latest(rows, folder) is None


def test_latency_is_from_the_file_that_completes_a_result(folder: Path) -> None:
    feed = Feed(keys=1, rate=1_000, seconds=10, interval=1.0)
    rows = feed.shape.write(EVENTS, folder)
    names = [file.name for file in feed.files(rows)]
    arrivals = {name: number * 1_000_000_000 for number, name in enumerate(names) if number}
    first = data.START // 1000
    workload = Workload("one", "", "", ("k",), "ts + 1")
    # The last row of the seventh file is complete with the eighth, which came at second 7.
    result = pa.table({"k": [0, 0], "ts": [first + 6_999, first + 7_000], "stamped": [7_250_000_000, 7_050_000_000]})
    found = latencies(workload, written(result, folder), arrivals, feed)
    assert found == pytest.approx((150, 248))


def test_memory_is_of_a_process_and_its_descendants() -> None:
    child = "import sys; block = bytearray(60_000_000); print('there', flush=True); sys.stdin.read()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], stdin=sys.stdin)"
    process = subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == "there\n"
    family = processes.tree(process.pid)
    assert len(family) == 2 and os.getpid() not in family
    assert sum(processes.proportional_set_size(one) for one in family) > 60_000_000
    process.stdin.close()
    process.stdout.close()
    assert process.wait() == 0
    assert processes.proportional_set_size(process.pid) == 0


def test_a_report_shows_the_middle_and_the_spread_and_what_is_missing() -> None:
    from benchmarks.peers.environments import PEERS

    report = Report(rows=1_000, rounds=3, rate=10, peers=PEERS[:2])
    case = Case("lag", 100)
    for warm in (1.0, 4.0, 2.0):
        report.note(case, PEERS[0].name, Outcome(cold=9.0, warm=warm, memory=5_000_000))
    report.note(case, PEERS[1].name, Outcome(cannot="there is no lag"))
    report.note(Case("lag", 100, at_rate=True), PEERS[0].name, Outcome(p50=7.0, p99=9.0, memory=6_000_000))
    text = report.markdown()
    assert "| lag | 500 (250–1,000) | – |" in text
    assert "cannot say it: there is no lag" in text
    assert "p99:\n\n|  | panes | spark |\n| --- | --- | --- |\n| lag | 9 | – |" in text
    assert not report.goes_on(case, PEERS[1].name)


def test_a_chart_has_a_bar_for_each_figure() -> None:
    svg = chart(
        "rows <a second>", ["one", "other"], [Group("lag", (Bar("one", 1e5, 9e4, 2e5), Bar("other", 10, 10, 10)))]
    )
    assert svg.count("<path") == 2 + 6  # a line for each spread, and one for each power of ten from 10 to 1,000,000
    assert "rows &lt;a second&gt;" in svg
