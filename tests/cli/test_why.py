"""`panes why` with runs that are made up: what it prints, and its JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from panes.cli.main import app
from panes.cli.run_file import Writer, announced
from panes.why.plan import OperatorPlan, QueryPlan, StreamPlan, Waits

from .reports import report

NOON = 1_704_110_400_000_000
WINDOW = OperatorPlan(0, "tumblingwindow", Waits.WATERMARK, size=60_000_000, shards=2)
PLAN = QueryPlan((StreamPlan("orders", "ts", 10_000_000),), (WINDOW,))


@contextmanager
def run(checkpoint: Path | None = None, clock: float = 1000.0) -> Iterator[Writer]:
    """A run whose query has had rows until 12:00:50 of its stream, at a moment."""
    with announced("orders.sql", str(checkpoint) if checkpoint is not None else None, clock=lambda: clock) as file:
        file.plans({"totals": PLAN, "other": QueryPlan()})
        gauges = {
            "open_windows": 1,
            "oldest_open_window": NOON,
            "groups": 3,
            "next_due": NOON + 60_000_000,
            "shards": 2,
        }
        times = {"watermark": NOON + 40_000_000, "latest": NOON + 40_000_000}
        file.batch(report("totals", 7, rows_in=5, rows_read=5, **gauges, **times))
        file.write()
        yield file


@pytest.fixture
def four_minutes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("panes.cli.why.time.time", lambda: 1240.0)


@pytest.mark.usefixtures("four_minutes_later")
def test_what_a_run_waits_for(tmp_path: Path) -> None:
    with run(tmp_path / "x"):
        for arguments in ([], [str(tmp_path / "x")]):
            done = CliRunner().invoke(app, ["why", *arguments])
            assert done.exit_code == 0
            lines = done.output.split("\n")
            assert lines[0].startswith(f"orders.sql on {tmp_path}/x: process ")
            assert lines[0].endswith(", last update 4 min 0 s ago; times are UTC")
            assert lines[2:10] == [
                "totals",
                "  window 2024-01-01 12:00:00–12:01:00, with 3 groups in state, closes when the watermark reaches "
                "12:01:00; it is at 12:00:40, since the latest row is of 12:00:50 and the delay is 10 s",
                "  no micro-batch has brought a row for 4 min: the watermark stands still until one comes, and reaches "
                "2024-01-01 12:01:00 with a row of 12:01:10",
                "    hint: Declare idle_timeout on orders: then its clock goes on without rows. An input that has an "
                "end: run it with --flush.",
                "",
                "other",
                "  no micro-batch has been done in the 4 min since the run began: no row has come, or the first one is "
                "still being worked on",
                "",
            ]


@pytest.mark.usefixtures("four_minutes_later")
def test_json() -> None:
    with run() as file:
        file.failed("other", RuntimeError("no disk"))
        told = json.loads(CliRunner().invoke(app, ["why", "--json"]).output)
    assert (told["script"], told["checkpoint"]) == ("orders.sql", None)
    totals, other = told["queries"]
    assert (totals["query"], totals["state"], totals["watermark"]) == ("totals", "running", NOON + 40_000_000)
    assert [one["cause"] for one in totals["findings"]] == ["open-windows", "idle-source"]
    assert totals["findings"][0]["due"] == NOON + 60_000_000
    assert "idle_timeout" in totals["findings"][1]["hint"]
    failed = {"cause": "failed", "text": "it has failed: no disk", "hint": None, "due": None}
    assert (other["state"], other["findings"]) == ("failed", [failed])


def test_the_last_micro_batch_is_seen_though_it_came_soon_after_the_one_before() -> None:
    """A file is written once a second; what comes between is written when somebody looks whether the run is to stop."""
    now = [1000.0]
    with announced("orders.sql", None, clock=lambda: now[0]) as file:
        for batch in range(3):
            now[0] += 0.1
            file.batch(report("totals", batch))
        assert '"micro-batch' not in CliRunner().invoke(app, ["status", "--json"]).output
        now[0] += 5.0
        file.catch_up()
        status = json.loads(CliRunner().invoke(app, ["status", "--json"]).output)
    assert status["queries"][0]["batch"] == 2
    assert "why" not in status["queries"][0]


def test_nothing_runs(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["why"])
    assert (done.exit_code, done.stdout) == (0, "")
    assert "panes why CHECKPOINT" in done.stderr
    done = CliRunner().invoke(app, ["why", str(tmp_path / "nowhere")])
    assert (done.exit_code, done.stderr) == (1, f"there is no folder {tmp_path}/nowhere\n")
