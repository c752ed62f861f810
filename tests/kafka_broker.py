"""A Kafka broker for tests: one process in KRaft mode, from Kafka's published jars."""

from __future__ import annotations

import base64
import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jars import BROKER, MissingError, jars

JAVA = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
PARTITIONS = 2  # of a topic
PATIENCE = 60  # seconds for a start or a stop
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
log.dirs={folder}/logs
num.partitions={partitions}
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
"""


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """A broker that keeps its files in `folder`, and its address."""
    java = shutil.which("java")
    if java is None:
        raise MissingError("java is not installed")
    classes = os.pathsep.join(map(str, jars("broker", BROKER, alone=False)))
    port, controller = _free_ports()
    properties = folder / "server.properties"
    text = PROPERTIES.format(port=port, controller=controller, folder=folder, partitions=PARTITIONS)
    properties.write_text(text, encoding="utf-8")
    run = [java, *JAVA, "-cp", classes]
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    made = [*run, "kafka.tools.StorageTool", "format", "--cluster-id", cluster, "--config", str(properties)]
    subprocess.run(made, check=True, capture_output=True, timeout=PATIENCE)
    with (folder / "broker.log").open("wb") as log:
        process = subprocess.Popen([*run, "kafka.Kafka", str(properties)], stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait_for(port, process, folder / "broker.log")
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"the broker did not start:\n{log.read_text(errors='replace')[-2000:]}")
