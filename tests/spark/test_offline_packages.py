"""Packages come from the caches of Maven and Ivy, as the page on Kafka says, where no repository can be reached."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>panes.test</groupId><artifactId>tiny</artifactId><version>1</version>
</project>
"""
JOB = """
import sys
from panes import Engine
from panes.errors import PanesError

settings = {"spark.jars.ivy": sys.argv[1]}
try:
    Engine(packages=["panes.test:nowhere:1"], settings=settings).spark
except PanesError as error:
    print(error.code)
spark = Engine(packages=["panes.test:tiny:1"], settings=settings).spark
loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
print(loader.getResource("panes-tiny.txt") is not None)
"""


@pytest.mark.slow
@pytest.mark.spark
def test_packages_are_found_without_a_network(tmp_path: Path) -> None:
    home = tmp_path / "home"
    there = home / ".m2" / "repository" / "panes" / "test" / "tiny" / "1"
    there.mkdir(parents=True)
    (there / "tiny-1.pom").write_text(POM)
    with zipfile.ZipFile(there / "tiny-1.jar", "w") as jar:
        jar.writestr("panes-tiny.txt", "here")
    assert said(tmp_path, home) == ["missing-package", "True"]  # out of Maven's folder, into Ivy's

    shutil.rmtree(home)
    home.mkdir()
    assert said(tmp_path, home) == ["missing-package", "True"]  # out of Ivy's

    shutil.rmtree(tmp_path / "ivy")
    assert said(tmp_path, home) == ["missing-package"]


def said(folder: Path, home: Path) -> list[str]:
    """What the job prints, for a Java with this home and a proxy that does not answer."""
    proxies = " ".join(f"-D{kind}.proxyHost=127.0.0.1 -D{kind}.proxyPort=1" for kind in ("http", "https"))
    env = {**os.environ, "SPARK_SUBMIT_OPTS": f"{os.environ['SPARK_SUBMIT_OPTS']} -Duser.home={home} {proxies}"}
    env.pop("PYSPARK_SUBMIT_ARGS", None)  # the packages of a session are not looked at beside its own
    command = [sys.executable, "-c", JOB, str(folder / "ivy")]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=900)
    return done.stdout.split()
