"""Metrics of a run for Prometheus: all counters and gauges of its reports, by query."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import typer

from panes.cli.script_file import errors
from panes.spark.counters import CLOCK, DUE, OLDEST, SUMS

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Gauge

    from panes.spark.report import Report

GAUGES = ("open_windows", "buffered_rows", "waiting_rows", "groups", "state_bytes")
OTHERS = (*GAUGES, "kernel_us", OLDEST, DUE, CLOCK)  # what is no counter, or another one
MICROS = 1_000_000
QUERY = ["query"]


class Metrics:
    """What Prometheus reads: counters add up since the start of the run, gauges are those of the last micro-batch."""

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Gauge

        def counter(name: str, about: str) -> Counter:
            return Counter(f"panes_{name}", about, QUERY, registry=registry)

        def gauge(name: str, about: str) -> Gauge:
            return Gauge(f"panes_{name}", about, QUERY, registry=registry)

        self._counter = counter
        words = {name: name.replace("_", " ") for name in SUMS}
        self._counters = {name: counter(name, words[name]) for name in SUMS if name not in OTHERS}
        self._gauges = {name: gauge(name, f"{words[name]} over all shards") for name in GAUGES}
        self._kernel = counter("kernel_seconds", "time in kernels, summed over shards")
        self._batches = counter("batches", "micro-batches")
        self._batch_seconds = counter("batch_seconds", "time in micro-batches")
        self._rows_read = counter("rows_read", "rows that Spark read")
        self._failures = counter("failures", "failures of the query")
        self._last_seconds = gauge("last_batch_seconds", "time of the last micro-batch")
        self._watermark = gauge("watermark_seconds", "watermark, in seconds since 1970")
        self._oldest = gauge("oldest_open_window_seconds", "start of the oldest open window, in seconds since 1970")
        self._due = gauge("next_due_seconds", "watermark at which something falls due, in seconds since 1970")
        self._backlog = gauge("backlog_rows", "rows waiting in the sources, where the source reports it")
        self._up = gauge("up", "1 while the query runs, 0 when it has failed")

    def started(self, queries: list[str], ui: str | None) -> None:
        for name in queries:
            self._up.labels(name).set(1)
            self._failures.labels(name)

    def batch(self, report: Report) -> None:
        query, found = report.sink, report.counters
        self._batches.labels(query).inc()
        self._batch_seconds.labels(query).inc(report.seconds)
        self._last_seconds.labels(query).set(report.seconds)
        self._rows_read.labels(query).inc(report.rows_read)
        for name, value in found.items():
            if name not in self._counters and name not in OTHERS:
                self._counters[name] = self._counter(name, name.replace("_", " "))  # of some queries only
            if name in self._counters:
                self._counters[name].labels(query).inc(value)
        for name, gauge in self._gauges.items():
            gauge.labels(query).set(found.get(name, 0))
        self._kernel.labels(query).inc(found.get("kernel_us", 0) / MICROS)
        _set(self._watermark, query, report.watermark, MICROS)
        _set(self._oldest, query, found.get(OLDEST), MICROS)
        _set(self._due, query, found.get(DUE), MICROS)
        _set(self._backlog, query, report.backlog)

    def failed(self, query: str, error: Exception) -> None:
        self._up.labels(query).set(0)
        self._failures.labels(query).inc()


@contextmanager
def served(port: int, host: str) -> Iterator[Metrics]:
    """Metrics that Prometheus can read at http://host:port/metrics, until the end of the block."""
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ImportError:
        _refuse("--metrics-port needs the package prometheus-client: pip install 'panes[metrics]'")
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    try:
        server, thread = start_http_server(port, host, registry)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a host name"
        _refuse(f"cannot serve metrics on {host}:{port}: {why}\n{_remedy(error)}")
    try:
        yield metrics
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _set(gauge: Gauge, query: str, value: float | None, unit: int = 1) -> None:
    """What is not known, or no longer, has no value."""
    if value is None:
        gauge.remove(query)
    else:
        gauge.labels(query).set(value / unit)


def _remedy(error: OSError | UnicodeError) -> str:
    if isinstance(error, OSError) and error.errno in (errno.EADDRINUSE, errno.EACCES):
        return "Choose another --metrics-port."
    return "--metrics-host takes the name or address of this machine, such as 127.0.0.1 or 0.0.0.0."


def _refuse(text: str) -> NoReturn:
    errors.print(text)
    raise typer.Exit(1)
