"""Metrics for Prometheus, and the dashboard that shows them."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from urllib.request import urlopen

import pytest
import typer
from prometheus_client import CollectorRegistry, generate_latest

from panes.cli.metrics import GAUGES, Metrics, served
from panes.spark.counters import SUMS

from .reports import report

DASHBOARD = Path(__file__).parents[2] / "examples" / "grafana.json"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def values(text: str) -> dict[str, float]:
    """Samples by name and labels; those that the library adds on its own are left out."""
    lines = [line.rpartition(" ") for line in text.splitlines() if line.startswith("panes_")]
    return {name: float(value) for name, _, value in lines if "_created" not in name}


def after_two_batches() -> dict[str, float]:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    metrics.started(["out", "other"], None)
    every = dict.fromkeys(SUMS, 2_000_000)
    for batch in range(2):
        metrics.batch(report(batch=batch, rows_read=3, watermark=5_000_000, backlog=9 - batch, **every))
    metrics.batch(report("plain"))
    metrics.failed("other", RuntimeError("no disk"))
    return values(generate_latest(registry).decode())


def test_counters_add_up_and_gauges_are_the_last() -> None:
    found = after_two_batches()
    for name in SUMS:
        if name in GAUGES:
            assert found[f'panes_{name}{{query="out"}}'] == 2_000_000, name
        elif name != "kernel_us":
            assert found[f'panes_{name}_total{{query="out"}}'] == 4_000_000, name
    assert found['panes_kernel_seconds_total{query="out"}'] == 4
    assert found['panes_batches_total{query="out"}'] == 2
    assert found['panes_batch_seconds_total{query="out"}'] == 1
    assert found['panes_last_batch_seconds{query="out"}'] == 0.5
    assert found['panes_rows_read_total{query="out"}'] == 6
    assert found['panes_watermark_seconds{query="out"}'] == 5
    assert found['panes_backlog_rows{query="out"}'] == 8


def test_counters_that_few_queries_have() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    for batch in range(2):
        metrics.batch(report(batch=batch, malformed_rows=3))
    assert values(generate_latest(registry).decode())['panes_malformed_rows_total{query="out"}'] == 6


def test_what_is_not_known_has_no_value() -> None:
    found = after_two_batches()
    assert 'panes_watermark_seconds{query="plain"}' not in found
    assert 'panes_backlog_rows{query="plain"}' not in found


def test_what_is_no_longer_known_has_no_value_any_more() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    oldest, backlog = 'panes_oldest_open_window_seconds{query="out"}', 'panes_backlog_rows{query="out"}'
    metrics.batch(report(batch=0, backlog=9, oldest_open_window=3_000_000))
    found = values(generate_latest(registry).decode())
    assert (found[oldest], found[backlog]) == (3, 9)
    metrics.batch(report(batch=1))
    assert not {oldest, backlog} & set(values(generate_latest(registry).decode()))


def test_bytes_from_the_cache_add_up() -> None:
    assert after_two_batches()['panes_bytes_cached_total{query="out"}'] == 4_000_000


def test_a_failure_is_seen() -> None:
    found = after_two_batches()
    assert (found['panes_up{query="out"}'], found['panes_up{query="other"}']) == (1, 0)
    assert found['panes_failures_total{query="out"}'] == 0
    assert found['panes_failures_total{query="other"}'] == 1


def test_prometheus_can_read_them() -> None:
    port = free_port()
    with served(port, "127.0.0.1") as metrics:
        metrics.batch(report(rows_in=4))
        with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            assert values(answer.read().decode())['panes_rows_in_total{query="out"}'] == 4
    with served(port, "127.0.0.1"):  # the port is free again
        pass


def test_a_port_in_use_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(typer.Exit) as exit_, served(port, "127.0.0.1"):
            pass
    assert exit_.value.exit_code == 1
    told = capsys.readouterr().err
    assert told == f"cannot serve metrics on 127.0.0.1:{port}: Address already in use\nChoose another --metrics-port.\n"


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1", "a..b"])
def test_a_bad_host_is_told_as_such(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), served(free_port(), host):
        pass
    told = capsys.readouterr().err
    assert told.startswith(f"cannot serve metrics on {host}:")
    assert told.endswith("--metrics-host takes the name or address of this machine, such as 127.0.0.1 or 0.0.0.0.\n")


def test_every_metric_of_the_dashboard_exists() -> None:
    text = DASHBOARD.read_text(encoding="utf-8")
    board = json.loads(text)
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert queries
    named = {name for query in queries for name in re.findall(r"\bpanes_\w+", query)}
    known = {sample.partition("{")[0] for sample in after_two_batches()} | {"panes_oldest_open_window_seconds"}
    assert named <= known
    assert {"panes_rows_in_total", "panes_watermark_seconds", "panes_state_bytes", "panes_up"} <= named
