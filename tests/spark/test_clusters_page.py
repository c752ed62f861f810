"""The commands of the page on clusters, as printed: a standalone cluster whose workers' own Python has no Panes."""

from __future__ import annotations

import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.functions.stateful import StatefulFunction
from panes.testing.markdown import blocks_of
from spark.cluster import home
from spark.compare import check_rows, plain, rows_of

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
BLOCKS = [
    one.text
    for one in blocks_of((ROOT / "docs" / "how-to" / "clusters.md").read_text(encoding="utf-8"))
    if one.language == "sh"
]
ORDERS = ROOT / "examples" / "orders"
JOB = ROOT / "examples" / "cluster_job.py"
DELAY = timedelta(seconds=5)  # in the job, and in the script
TOTALS = """
    SELECT shop, window_end() AS at, sum(amount) AS total
    FROM orders GROUP BY tumblingwindow('ss', 20), shop
"""
SCRIPT = f"""
CREATE STREAM orders (ts TIMESTAMP, shop STRING, amount DOUBLE, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
WITH (connector = 'json', path = 'orders');
CREATE SINK totals WITH (connector = 'parquet', path = 'totals');
INSERT INTO totals {TOTALS};
"""
TO_MASTER = "script.sql \\\n  --master"  # words of the block that runs the script without Connect
PATIENCE = 120  # seconds until a server must listen


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def block(containing: str) -> str:
    """The block of the page with these words."""
    (text,) = (one for one in BLOCKS if containing in one)
    return text


@dataclass(frozen=True)
class Terminal:
    """A folder in which the page's commands run; ports and the wheel are this test's own."""

    folder: Path
    replaced: dict[str, str]
    env: dict[str, str]
    ran: list[str] = field(default_factory=list)  # blocks of the page

    def command(self, text: str) -> str:
        for written, here in self.replaced.items():
            text = text.replace(written, here)
        return text

    def shell(self, text: str, **also: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-e", "-c", self.command(text)],
            cwd=self.folder,
            env={**self.env, **also},
            capture_output=True,
            text=True,
            timeout=400,
        )

    def run(self, containing: str, **also: str) -> None:
        """Run a block of the page, once."""
        text = block(containing)
        done = self.shell(text, **also)
        self.ran.append(text)
        assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]

    @contextmanager
    def running(self, containing: str, **also: str) -> Iterator[None]:
        """Each line of a block is a process until the end of the Python block."""
        text = block(containing)
        processes: list[subprocess.Popen[bytes]] = []
        self.ran.append(text)
        try:
            for number, line in enumerate(self.command(text).splitlines()):
                host = "127.0.0.2" if "127.0.0.2" in line else "127.0.0.1"
                with (self.folder / f"cluster-{number}.log").open("wb") as log:
                    env = {**self.env, **also, "SPARK_LOCAL_IP": host}
                    command = ["bash", "-c", f"exec {line}"]
                    processes.append(subprocess.Popen(command, cwd=self.folder, env=env, stdout=log, stderr=log))
                if number == 0:
                    listens(self.replaced["7077"])
            yield
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait()

    @contextmanager
    def daemon(self, containing: str) -> Iterator[None]:
        """A block that starts a server and returns."""
        pids = self.folder / "pids"
        try:
            self.run(containing, SPARK_PID_DIR=str(pids))
            listens(self.replaced["15002"])
            yield
        finally:
            for file in pids.glob("*.pid"):
                os.kill(int(file.read_text()), signal.SIGTERM)

    def written(self, name: str) -> list[dict[str, Any]]:
        """The rows of a folder."""
        files = (self.folder / name).glob("*.parquet")
        tables = [pq.read_table(file, coerce_int96_timestamp_unit="us") for file in files]
        return [plain(row) for table in tables for row in table.to_pylist()]


def listens(port: str) -> None:
    """Wait until somebody takes connections there."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", int(port))) == 0:
                return
        assert time.monotonic() < deadline, f"nobody listens on port {port}"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """With a packed environment, and a cluster: a master and two workers, all by the page's own commands."""
    folder = tmp_path_factory.mktemp("cluster")
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    bare = folder / "bare"  # what the workers have of their own
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    spark_home = home(folder / "spark")
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYSPARK_PYTHON")}
    path = os.pathsep.join([str(Path(sys.executable).parent), str(spark_home / "bin"), os.environ["PATH"]])
    env = {**kept, "SPARK_HOME": str(spark_home), "SPARK_LOCAL_IP": "127.0.0.1", "PATH": path}
    replaced = {"7077": free_port(), "15002": free_port(), "install panes ": f"install {wheel} "}
    terminal = Terminal(folder, replaced, env)
    terminal.run("venv-pack")
    shutil.copytree(ORDERS, folder / "orders")
    shutil.copy(JOB, folder)
    (folder / "script.sql").write_text(SCRIPT, encoding="utf-8")
    with terminal.running("master.Master", PATH=os.pathsep.join([str(bare / "bin"), path])):
        yield terminal


def batch(spark: SparkSession, query: str, *functions: StatefulFunction) -> list[dict[str, Any]]:
    """The same query over the same rows as one batch."""
    engine = Engine(spark)
    for function in functions:
        engine.register(function)
    orders = spark.read.schema("ts timestamp, shop string, amount double").json(str(ORDERS))
    engine.stream("orders", orders, time="ts")
    return rows_of(engine.sql(query))


def rises(spark: SparkSession) -> list[dict[str, Any]]:
    """What the job gives: the rows before the watermark, for it does not end its input."""
    job = runpy.run_path(str(JOB))
    rows = batch(spark, job["QUERY"], job["smoothed"])
    watermark = max(row["at"] for row in rows) - DELAY
    released = [row for row in rows if row["at"] < watermark]
    assert 0 < len(released) < len(rows)
    return released


def test_every_command_of_the_page(terminal: Terminal, spark: SparkSession) -> None:
    """Results are those of a batch; the job's own stateful function reaches executors that do not have its file."""
    all_rises, totals = rises(spark), batch(spark, TOTALS)
    terminal.run("spark-submit")
    check_rows(terminal.written("rises"), all_rises)
    terminal.run(TO_MASTER)
    check_rows(terminal.written("totals"), totals)
    with terminal.daemon("start-connect-server"):
        terminal.run("SPARK_REMOTE")
        check_rows(terminal.written("rises-by-connect"), all_rises)
        shutil.rmtree(terminal.folder / "totals")  # it is the first script's, whose checkpoint is another one
        terminal.run("--remote")
        check_rows(terminal.written("totals"), totals)
    assert sorted(terminal.ran) == sorted(BLOCKS)


def test_executors_without_panes(terminal: Terminal) -> None:
    """One clear error, before anything runs."""
    shutil.rmtree(terminal.folder / "totals", ignore_errors=True)  # it is another checkpoint's
    script = block(TO_MASTER).replace("--conf spark.archives=env.tar.gz#env ", "")
    run = terminal.shell(script.replace("./env/bin/python", "python3").replace("of-script", "of-none"))
    assert run.returncode == 1 and "unfit-workers" in run.stderr, run.stderr[-3000:]
    assert "no Panes" in run.stderr or "has no panes" in run.stderr
    assert "Traceback" not in run.stderr
