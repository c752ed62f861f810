"""A cluster of two executors on this machine, for a process of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession


def cluster(folder: Path, settings: Mapping[str, str]) -> SparkSession:
    """A session on it; executors import what this process can, and work below the folder."""
    os.environ["SPARK_HOME"] = str(home(folder / "home"))
    builder = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
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
