"""Clusters of two executors on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

HOSTS = ("127.0.0.1", "127.0.0.2")  # Spark runs a speculative copy of a task on another host only


def cluster(folder: Path, settings: Mapping[str, str], master: str = "local-cluster[2,1,1024]") -> SparkSession:
    """A session on one, for a process of its own; executors import what this process can."""
    os.environ["SPARK_HOME"] = str(home(folder / "home"))
    builder = (
        SparkSession.builder.master(master)
        .config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"])
        .config("spark.deploy.maxExecutorRetries", "-1")
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
    )
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def home(folder: Path) -> Path:
    """Spark's home by links: executors work in a folder of it, and it must not be the installed one."""
    folder.mkdir(exist_ok=True)
    for entry in Path(pyspark.__file__).parent.iterdir():
        link = folder / entry.name
        if not link.is_symlink():
            link.symlink_to(entry)
    return folder


@dataclass(frozen=True)
class Standalone:
    """A master and its two workers, each on a host of its own."""

    url: str
    workers: tuple[int, ...]  # their process ids

    def executors(self) -> list[int]:
        """Those of the last application, by their process ids."""
        found: dict[str, list[int]] = {}
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().decode().split("\0") if entry.name.isdigit() else []
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1]) if words else 0
            except OSError:  # it has ended
                continue
            if parent in self.workers and "--app-id" in words:
                found.setdefault(words[words.index("--app-id") + 1], []).append(int(entry.name))
        return sorted(found[max(found)]) if found else []


@contextmanager
def standalone(folder: Path) -> Iterator[Standalone]:
    """A standalone cluster that works below the folder, and ends with the block."""
    spark_home = home(folder / "home")
    with socket.socket() as free:
        free.bind((HOSTS[0], 0))
        url = f"spark://{HOSTS[0]}:{free.getsockname()[1]}"
    environment = {
        **os.environ,
        "SPARK_HOME": str(spark_home),
        "SPARK_MASTER_OPTS": "-Dspark.deploy.maxExecutorRetries=-1",
        "SPARK_DAEMON_MEMORY": "256m",
    }
    processes: list[subprocess.Popen[bytes]] = []

    def start(kind: str, host: str, *arguments: str) -> int:
        command = [str(spark_home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", "--host", host]
        with (folder / f"cluster-{len(processes)}.log").open("ab") as log:
            processes.append(
                subprocess.Popen(
                    [*command, "--webui-port", "0", *arguments],
                    env={**environment, "SPARK_LOCAL_IP": host},
                    stdout=log,
                    stderr=log,
                )
            )
        return processes[-1].pid

    try:
        start("master.Master", HOSTS[0], "--port", url.rpartition(":")[2])
        time.sleep(3)
        workers = tuple(
            start("worker.Worker", host, *("--cores", "2", "--memory", "1g", "--work-dir", str(folder / host)), url)
            for host in HOSTS
        )
        yield Standalone(url, workers)
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait()
