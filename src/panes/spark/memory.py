"""How much memory a Python worker may take: what Spark leaves to its workers, divided by the tasks that run at once.

executor        [ JVM heap: spark.executor.memory ][ beside it: memoryOverhead        ][ pyspark.memory ]
workers         take pyspark.memory where it is set, but for what they only map; else half of what is beside the
                heap: RocksDB is there, too
one worker      [ DuckDB: half, then it spills ][ cached chunks: a quarter at most ][ the micro-batch ]
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from panes.errors import PanesError

WORKER = "spark.panes.worker.memory"  # the user's word on it
LIMIT, OVERHEAD = "spark.executor.pyspark.memory", "spark.executor.memoryOverhead"
MB = 1 << 20
MAPPED = 1536 * MB  # of the addresses that Spark limits: libraries, and what Arrow and DuckDB reserve and never use
LEAST_DUCKDB = 128 * MB  # with less, some of its operators cannot spill, but fail
MOST_CACHED = 256 * MB
LEAST_OVERHEAD = 384 * MB  # Spark's own figures
CGROUP = Path("/sys/fs/cgroup/memory.max")
UNITS = {"b": 1, "k": 1 << 10, "m": MB, "g": 1 << 30, "t": 1 << 40}
SIZE = re.compile(r"(\d+)\s*([bkmgt]?)b?", re.IGNORECASE)
LOCAL = re.compile(r"local(?:\[(\d+|\*)[^]]*\])?")
LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*\d+\s*,\s*(\d+)\s*,.*\]")


@dataclass(frozen=True)
class Memory:
    """What the Python workers of an executor may take together, and how many tasks it runs at once.

    None is what only the worker can tell: half of its machine, and its cores.
    """

    total: int | None = None
    slots: int | None = None

    @property
    def share(self) -> int:
        """What one worker may take."""
        total = machine_bytes() // 2 if self.total is None else self.total
        return total // (self.slots or os.cpu_count() or 1)

    @property
    def duckdb(self) -> int:
        return max(LEAST_DUCKDB, self.share // 2)

    @property
    def cached(self) -> int:
        return min(MOST_CACHED, self.share // 4)


def memory_of(spark: SparkSession) -> Memory:
    """What the settings of a session leave to Python workers."""

    def setting(name: str) -> str | None:
        return spark.conf.get(name, None)

    of_worker = setting(WORKER)
    if of_worker is not None:
        return Memory(size(WORKER, of_worker), 1)
    master = setting("spark.master") or ""
    is_local = LOCAL.fullmatch(master) is not None
    slots = slots_of(master, setting("spark.executor.cores"), int(setting("spark.task.cpus") or 1))
    limit = setting(LIMIT)
    if limit is not None:  # a local Spark takes it at its word, too, for each worker
        bytes_, among = size(LIMIT, limit), int(setting("spark.executor.cores") or 1) if is_local else slots
        return Memory(max(bytes_ // 2, bytes_ - (among or os.cpu_count() or 1) * MAPPED), among)
    overhead = setting(OVERHEAD)
    if overhead is not None and not is_local:
        return Memory(size(OVERHEAD, overhead) // 2, slots)
    if master.startswith(("yarn", "k8s")):
        heap = size("spark.executor.memory", setting("spark.executor.memory") or "1g")
        factor = float(setting("spark.executor.memoryOverheadFactor") or (0.4 if master.startswith("k8s") else 0.1))
        return Memory(max(LEAST_OVERHEAD, int(heap * factor)) // 2, slots)
    return Memory(None, slots)


def slots_of(master: str, executor_cores: str | None, task_cpus: int) -> int | None:
    """How many tasks run at once in one executor; None for as many as its machine has cores."""
    local, cluster = LOCAL.fullmatch(master), LOCAL_CLUSTER.fullmatch(master)
    if local is not None:
        return None if local[1] == "*" else int(local[1] or 1)
    cores = executor_cores or (cluster[1] if cluster is not None else None)
    if cores is None and master.startswith(("yarn", "k8s")):
        cores = "1"
    return None if cores is None else max(1, int(cores) // task_cpus)


def size(name: str, text: str) -> int:
    """A size as Spark writes it, in bytes; without a unit it is megabytes, as for executors.

    >>> size("spark.executor.memory", "2g"), size("spark.executor.memory", "512")
    (2147483648, 536870912)
    """
    found = SIZE.fullmatch(text.strip())
    if found is None:
        raise PanesError("stream-options", f"{name} is a size such as 512m or 2g, not {text}")
    return int(found[1]) * UNITS[found[2].lower() or "m"]


def machine_bytes() -> int:
    """The memory of this machine, or of the container that this process is in."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if CGROUP.exists() and (limit := CGROUP.read_text().strip()).isdigit():
        return min(physical, int(limit))
    return physical
