"""The peers, each in a virtual environment of its own with pinned versions, which is made when it is first needed."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

HADOOP = "org.apache.hadoop:hadoop-client"
SPARK = ("pyspark", "pyarrow", "numpy", "pandas", "protobuf")  # in the versions that Panes runs with here
FLINK_JARS = (  # Flink reads and writes Parquet with these
    "org.apache.flink:flink-sql-parquet:2.3.0",
    f"{HADOOP}-api:3.4.3",
    f"{HADOOP}-runtime:3.4.3",
)


@dataclass(frozen=True)
class Peer:
    """`script` is a module of `engines`; peers of one `environment` share it; None: the one that runs this."""

    name: str
    script: str
    environment: str | None
    packages: tuple[str, ...] = ()
    jars: tuple[str, ...] = ()

    def versions(self) -> str:
        """As a table shows it."""
        return ", ".join(self.packages) if self.environment else f"panes=={version('panes')}, {_same('pyspark')}"

    def python(self, folder: Path) -> Path:
        """Its interpreter, after everything is installed."""
        if self.environment is None:
            return Path(sys.executable)
        at = folder / "venvs" / self.environment
        python, installed = at / "bin" / "python", at / ".installed"
        wanted = "\n".join(self.packages)
        if not installed.exists() or installed.read_text(encoding="utf-8") != wanted:
            print(f"installing {', '.join(self.packages)}", flush=True)
            venv.create(at, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", *self.packages], check=True)
            installed.write_text(wanted, encoding="utf-8")
        return python

    def jar_folder(self, folder: Path) -> Path:
        """The jars that PyPI does not have, by Maven."""
        at = folder / "jars"
        for jar in self.jars:
            _, name, number = jar.split(":")
            if not (at / f"{name}-{number}.jar").exists():
                print(f"fetching {jar}", flush=True)
                goal = ["dependency:copy", f"-Dartifact={jar}", f"-DoutputDirectory={at.resolve()}"]
                subprocess.run(["mvn", "--quiet", "--batch-mode", *goal], check=True)
        return at

    def surroundings(self, python: Path) -> dict[str, str]:
        """The variables that its processes see: this repository on the path, and its own Python for Spark's workers."""
        kept = {name: value for name, value in os.environ.items() if name not in ("SPARK_HOME", "PYSPARK_PYTHON")}
        root = str(Path(__file__).parents[2])
        paths = [root, str(Path(root) / "src")] if self.environment is None else [root]
        return {**kept, "PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": str(python)}


def _same(package: str) -> str:
    return f"{package}=={version(package)}"


_SPARK = tuple(_same(package) for package in SPARK)
_FLINK = ("apache-flink==2.3.0",)
PEERS = (
    Peer("panes", "panes", None),
    Peer("spark", "spark", "spark", _SPARK),
    Peer("spark-heap", "spark", "spark", _SPARK),
    Peer("applyInPandas", "by_hand", "spark", _SPARK),
    Peer("transformWithState", "by_hand", "spark", _SPARK),
    Peer("flink", "flink", "flink", _FLINK, FLINK_JARS),
    Peer("flink-rocksdb", "flink", "flink", _FLINK, FLINK_JARS),
    Peer("laminardb", "laminardb", "laminardb", ("laminardb==0.17.0", "pyarrow==26.0.1")),
    Peer("pathway", "pathway", "pathway", ("pathway==0.33.0",)),
    Peer("bytewax", "bytewax", "bytewax", ("bytewax==0.21.1", "pyarrow==26.0.1")),
)
