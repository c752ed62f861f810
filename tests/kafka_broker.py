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
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from jars import BROKER, MissingError, jars

JAVA = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
PARTITIONS = 2  # of a topic
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
USER, PASSWORD = "panes", "correct-horse-battery"
PATIENCE = 60  # seconds for a start or a stop
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{guarded},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={login} user_{user}="{password}";
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


class Addresses(NamedTuple):
    """Of one broker: where it lets everybody in, and where it wants a user and a password."""

    open: str
    guarded: str


@contextmanager
def broker(folder: Path) -> Iterator[Addresses]:
    """A broker that keeps its files in `folder`."""
    java = shutil.which("java")
    if java is None:
        raise MissingError("java is not installed")
    classes = os.pathsep.join(map(str, jars("broker", BROKER, alone=False)))
    port, guarded, controller = _free_ports(3)
    properties = folder / "server.properties"
    ports = {"port": port, "guarded": guarded, "controller": controller}
    login = {"login": LOGIN, "user": USER, "password": PASSWORD}
    text = PROPERTIES.format(**ports, **login, folder=folder, partitions=PARTITIONS)
    properties.write_text(text, encoding="utf-8")
    run = [java, *JAVA, "-cp", classes]
    made = [*run, "kafka.tools.StorageTool", "format", "--cluster-id", _cluster_id(), "--config", str(properties)]
    done = subprocess.run(made, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    with (folder / "broker.log").open("wb") as log:
        process = subprocess.Popen([*run, "kafka.Kafka", str(properties)], stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait_for(port, process, folder / "broker.log")
        _wait_for(guarded, process, folder / "broker.log")
        yield Addresses(f"127.0.0.1:{port}", f"127.0.0.1:{guarded}")
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _cluster_id() -> str:
    """16 random bytes, as Kafka writes them. One that begins with a minus would be taken for an option."""
    while (made := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return made


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"the broker did not start:\n{log.read_text(errors='replace')[-2000:]}")
