"""A store that speaks S3, for tests: moto's server on this machine, in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jars import AWS, S3, jars

LONGEST = 60  # seconds until it answers
BUCKET = "panes"


@dataclass(frozen=True)
class Server:
    """Its address, and what a Spark needs that is to reach it."""

    address: str

    @property
    def settings(self) -> dict[str, str]:
        options = {
            "endpoint": self.address,
            "endpoint.region": "us-east-1",
            "path.style.access": "true",
            "access.key": "somebody",
            "secret.key": "secret",
            "optimized.copy.from.local.enabled": "false",
        }
        return {f"spark.hadoop.fs.s3a.{name}": value for name, value in options.items()}

    @property
    def environment(self) -> dict[str, str]:
        """That of a process whose Spark has the client for S3."""
        files = [*jars("s3", S3, alone=True), *jars("aws", AWS, alone=False)]
        return {**os.environ, "PYSPARK_SUBMIT_ARGS": f"--jars {','.join(map(str, files))} pyspark-shell"}


@contextmanager
def s3_server() -> Iterator[Server]:
    """A server with one bucket, empty."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("moto_server")), "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        _make_bucket(address, process)
        yield Server(address)
    finally:
        process.terminate()
        process.wait()


def _make_bucket(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + LONGEST
    while True:
        assert process.poll() is None and time.monotonic() < until, "moto_server did not start"
        try:
            urllib.request.urlopen(urllib.request.Request(f"{address}/{BUCKET}", method="PUT")).close()
        except urllib.error.URLError:
            time.sleep(0.1)
        else:
            return
