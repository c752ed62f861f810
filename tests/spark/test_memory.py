"""A worker's share of the memory, by the settings of a session."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from panes.errors import PanesError
from panes.spark import memory
from panes.spark.memory import MB, Memory, machine_bytes, memory_of

GB = 1 << 30


def session(settings: dict[str, str]) -> Any:
    return SimpleNamespace(conf=SimpleNamespace(get=settings.get))


def share(**settings: str) -> int:
    """A worker's, by settings whose names begin with `spark.`, dots written as underscores."""
    return memory_of(session({f"spark.{name.replace('_', '.')}": value for name, value in settings.items()})).share


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 64 GB and 16 cores."""
    monkeypatch.setattr(memory, "machine_bytes", lambda: 64 * GB)
    monkeypatch.setattr(os, "cpu_count", lambda: 16)


def test_a_local_spark_takes_half_of_the_machine_in_all() -> None:
    assert share(master="local[4]") == share(master="local[4,2]") == 8 * GB
    assert share(master="local") == 32 * GB
    assert share(master="local[*]") == 2 * GB
    assert share(master="local[4]", executor_memoryOverhead="1g", executor_cores="1") == 8 * GB


def test_what_is_given_to_python_is_divided_by_the_tasks() -> None:
    """Less what each worker maps and never uses, for Spark limits its address space."""
    settings = {"executor_cores": "8", "task_cpus": "2", "executor_pyspark_memory": "16g"}
    assert share(master="yarn", **settings) == 4 * GB - 1536 * MB
    assert share(master="yarn", executor_memoryOverhead="1g", **settings) == 4 * GB - 1536 * MB
    assert share(master="yarn", executor_pyspark_memory="1g") == 512 * MB


def test_a_local_spark_limits_each_of_its_workers() -> None:
    assert share(master="local[4]", executor_pyspark_memory="4g") == 4 * GB - 1536 * MB
    assert share(master="local[4]", executor_pyspark_memory="8g", executor_cores="2") == 4 * GB - 1536 * MB


def test_else_it_is_half_of_what_is_beside_the_heap() -> None:
    assert share(master="spark://host:7077", executor_memoryOverhead="2048", executor_cores="2") == 512 * MB
    assert share(master="yarn", executor_memory="20g") == 1 * GB
    assert share(master="yarn", executor_memory="1g") == 192 * MB
    assert share(master="k8s://host", executor_memory="20g", executor_cores="2") == 2 * GB
    assert share(master="yarn", executor_memory="20g", executor_memoryOverheadFactor="0.2") == 2 * GB


def test_where_nothing_is_set_it_is_half_of_the_machine() -> None:
    """A standalone cluster has no containers, and an executor takes all cores."""
    assert share(master="spark://host:7077") == 2 * GB
    assert share(master="spark://host:7077", executor_cores="4") == 8 * GB
    assert share(master="local-cluster[2,1,1024]") == 32 * GB
    assert share() == 2 * GB


def test_the_users_word_counts() -> None:
    settings = {"panes_worker_memory": "3g", "executor_pyspark_memory": "1g", "executor_cores": "4"}
    assert share(master="yarn", **settings) == 3 * GB


def test_a_size_that_is_none_is_refused() -> None:
    with pytest.raises(PanesError) as error:
        share(panes_worker_memory="much")
    assert error.value.code == "stream-options"


def test_a_worker_divides_its_share() -> None:
    large, small = Memory(16 * GB, 4), Memory(384 * MB, 8)
    assert (large.duckdb, large.cached) == (2 * GB, 256 * MB)
    assert (small.duckdb, small.cached) == (128 * MB, 12 * MB)


def test_a_container_is_smaller_than_its_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    for text, expected in (("max\n", machine_bytes()), ("123456789\n", 123_456_789)):
        limit.write_text(text)
        monkeypatch.setattr(memory, "CGROUP", limit)
        assert machine_bytes() == expected
