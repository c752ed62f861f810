"""Jars for tests by their Maven coordinates: fetched once, with `mvn` and its own settings, into the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

BROKER = ("org.apache.kafka:kafka_2.13:4.3.1",)
# Where there is no connector for this Spark, that of another one with what it needs: it runs on 4.1 to 4.3.
CONNECTORS = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
    "org.apache.spark:spark-avro_2.13:4.1.1",
)
# Hadoop's client for S3 names a bundle of 600 MB; it works with these parts of it.
S3 = ("org.apache.hadoop:hadoop-aws:3.5.0", "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1")
AWS = tuple(f"software.amazon.awssdk:{name}:2.35.4" for name in ("s3", "s3-transfer-manager", "sts"))
# Spark's own Delta, for the Spark that it is built for, without what Spark brings along itself.
DELTA = (
    "io.delta:delta-spark_4.2_2.13:4.4.0",
    *(f"io.delta:delta-{name}:4.4.0" for name in ("storage", "kernel-api", "kernel-defaults", "kernel-unitycatalog")),
)
DATABASES = (  # JDBC drivers; H2 is the whole database
    "org.postgresql:postgresql:42.7.14",
    "com.h2database:h2:2.3.232",
)
LONGEST = 300  # seconds that a download may take
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>panes</groupId><artifactId>tests</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{}</dependencies>
</project>
"""
ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"


class MissingError(Exception):
    """Jars that cannot be had here."""


def jars(name: str, coordinates: Sequence[str], alone: bool) -> list[Path]:
    """The jars of these coordinates, and what they depend on if they are not to be `alone`."""
    folder = cache() / "-".join([name, *(one.rpartition(":")[2] for one in coordinates)])
    if not folder.exists():
        _fetch(folder, POM.format("".join(_dependency(one, alone) for one in coordinates)))
    return sorted(folder.glob("*.jar"))


def cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "panes" / "jars"


def _dependency(coordinate: str, alone: bool) -> str:
    group, artifact, version = coordinate.split(":")
    names = f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
    return f"<dependency>{names}{ALONE if alone else ''}</dependency>"


def _fetch(folder: Path, pom: str) -> None:
    """All of them or none: the folder is there when they are."""
    if shutil.which("mvn") is None:
        raise MissingError("mvn is not installed, which fetches jars for tests")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as at:
        (Path(at) / "pom.xml").write_text(pom, encoding="utf-8")
        command = ["mvn", "--quiet", "--batch-mode", "--file", f"{at}/pom.xml", "dependency:copy-dependencies"]
        try:
            done = subprocess.run(
                [*command, f"-DoutputDirectory={at}/jars"], capture_output=True, text=True, timeout=LONGEST
            )
        except subprocess.TimeoutExpired:
            raise MissingError(f"mvn did not fetch {folder.name} in {LONGEST} seconds") from None
        if done.returncode:
            raise MissingError(f"mvn could not fetch {folder.name}: {done.stdout.strip()[:300]}")
        if not folder.exists():
            (Path(at) / "jars").rename(folder)


def skip(missing: MissingError) -> None:
    """Skip a test, and say why; with PANES_SKIP_NOTHING=1 it fails."""
    if os.environ.get("PANES_SKIP_NOTHING"):
        raise missing
    pytest.skip(str(missing))
