"""The commands of the page on clusters, as printed: a standalone cluster whose workers' own Python has no Panes."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from docs.markdown_page import blocks_of

from spark.cluster import home

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "clusters.md"
SCRIPT = """
CREATE STREAM orders (ts TIMESTAMP, shop STRING, amount DOUBLE, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
WITH (connector = 'json', path = 'orders');
CREATE SINK totals WITH (connector = 'parquet', path = 'totals');
INSERT INTO totals SELECT shop, window_end() AS at, sum(amount) AS total
FROM orders GROUP BY tumblingwindow('ss', 20), shop;
"""
# The last row, 2.0 of south, is not released: one before it may still be on its way.
RISES = {"north": [None, -7.5, -4.5, -4.5], "south": [None, 25.0, -21.0], "east": [None, -29.0]}
TOTALS = {"north": [40.5, 3.5], "south": [35.0, 9.0, 2.0], "east": [40.0, 11.0]}


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@dataclass(frozen=True)
class Terminal:
    """A folder in which the page's commands run; ports and the wheel are this test's own."""

    folder: Path
    replaced: dict[str, str]
    env: dict[str, str]

    def command(self, containing: str) -> str:
        """The block of the page with these words."""
        texts = [one.text for one in blocks_of(PAGE.read_text(encoding="utf-8")) if one.language == "sh"]
        (text,) = (one for one in texts if containing in one)
        for written, here in self.replaced.items():
            text = text.replace(written, here)
        return text

    def run(self, command: str, **also: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=self.folder,
            env={**self.env, **also},
            capture_output=True,
            text=True,
            timeout=400,
        )

    def written(self, name: str, value: str) -> dict[str, list[float | None]]:
        """The values of each shop in the order of their times."""
        files = [pq.read_table(file) for file in (self.folder / name).glob("*.parquet")]
        rows = sorted((row for file in files for row in file.to_pylist()), key=lambda row: row["at"])
        return {shop: [row[value] for row in rows if row["shop"] == shop] for shop in {row["shop"] for row in rows}}


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
    own = [str(Path(sys.executable).parent), str(spark_home / "bin"), os.environ["PATH"]]
    env = {**kept, "SPARK_HOME": str(spark_home), "SPARK_LOCAL_IP": "127.0.0.1", "PATH": os.pathsep.join(own)}
    replaced = {"7077": free_port(), "15002": free_port(), "install panes ": f"install {wheel} "}
    terminal = Terminal(folder, replaced, env)
    packed = terminal.run(terminal.command("venv-pack"))
    assert packed.returncode == 0, packed.stderr[-3000:]
    shutil.copytree(ROOT / "examples" / "orders", folder / "orders")
    shutil.copy(ROOT / "examples" / "cluster_job.py", folder)
    (folder / "script.sql").write_text(SCRIPT, encoding="utf-8")
    commands = terminal.command("master.Master").splitlines()
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for number, command in enumerate(commands):
            host = "127.0.0.2" if "127.0.0.2" in command else "127.0.0.1"
            path = os.pathsep.join([str(bare / "bin"), env["PATH"]])
            with (folder / f"cluster-{number}.log").open("wb") as log:
                processes.append(
                    subprocess.Popen(
                        ["bash", "-c", f"exec {command}"],
                        cwd=folder,
                        env={**env, "PATH": path, "SPARK_LOCAL_IP": host},
                        stdout=log,
                        stderr=log,
                    )
                )
            time.sleep(3)
        yield terminal
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait()


def test_a_job_and_a_script(terminal: Terminal) -> None:
    submitted = terminal.run(terminal.command("spark-submit"))
    assert submitted.returncode == 0, submitted.stderr[-3000:]
    assert terminal.written("rises", "rise") == RISES
    run = terminal.run(terminal.command("panes run"))
    assert run.returncode == 0, run.stderr[-3000:] + run.stdout[-3000:]
    assert terminal.written("totals", "total") == TOTALS


def test_executors_without_panes(terminal: Terminal) -> None:
    """One clear error, before anything runs."""
    script = terminal.command("panes run").replace("--conf spark.archives=env.tar.gz#env ", "")
    run = terminal.run(script.replace("./env/bin/python", "python3").replace("of-script", "of-none"))
    assert run.returncode == 1 and "unfit-workers" in run.stderr, run.stderr[-3000:]
    assert "no Panes" in run.stderr or "has no panes" in run.stderr
    assert "Traceback" not in run.stderr


def test_spark_connect(terminal: Terminal) -> None:
    pids = terminal.folder / "pids"
    started = terminal.run(terminal.command("start-connect-server"), SPARK_PID_DIR=str(pids))
    try:
        assert started.returncode == 0, started.stderr[-3000:]
        deadline = time.monotonic() + 120
        while True:
            client = terminal.run(terminal.command("SPARK_REMOTE"))
            if client.returncode == 0 or time.monotonic() > deadline:
                break
        logs = "".join(path.read_text(errors="replace")[-3000:] for path in terminal.folder.glob("spark/logs/*"))
        assert client.returncode == 0, client.stderr[-3000:] + logs
        assert terminal.written("rises-by-connect", "rise") == RISES
    finally:
        for file in pids.glob("*.pid"):
            os.kill(int(file.read_text()), signal.SIGTERM)
