"""The live table and the shell on a terminal, as a person sees them."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

STREAM = """
CREATE STREAM r (timestamp TIMESTAMP, value BIGINT, WATERMARK FOR timestamp AS timestamp - INTERVAL 1 SECOND)
WITH (connector = 'rate', rowsPerSecond = '50');
"""
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[=>]|\r")
CTRL_C = b"\x03"


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, master: int, process: subprocess.Popen[bytes]) -> None:
        self._master, self.process = master, process
        self._seen, self._read = b"", 0

    def text(self) -> str:
        """What came after all that was waited for."""
        return CONTROL.sub("", self._seen.decode("utf-8", errors="replace"))[self._read :]

    def until(self, pattern: str, seconds: float = 180) -> str:
        """Read until a pattern is there, and forget what was seen up to its end."""
        until = time.monotonic() + seconds
        while (found := re.search(pattern, self.text(), re.DOTALL)) is None:
            assert time.monotonic() < until, f"no {pattern} in\n{self.text()}"
            if select.select([self._master], [], [], 1.0)[0]:
                try:
                    self._seen += os.read(self._master, 65_536)
                except OSError:  # the other side has gone
                    assert re.search(pattern, self.text(), re.DOTALL), self.text()
        self._read += found.end()
        return found[0]

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def ended(self) -> int:
        while self.process.poll() is None:
            if select.select([self._master], [], [], 0.2)[0]:
                try:
                    self._seen += os.read(self._master, 65_536)
                except OSError:
                    break
        return self.process.wait()


def _own_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def terminal(folder: Path, *arguments: str) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
    env = {
        **os.environ,
        "TERM": "xterm-256color",
        "PROMPT_TOOLKIT_NO_CPR": "1",
        "XDG_STATE_HOME": str(folder / "state"),
    }
    for name in ("COLUMNS", "NO_COLOR"):
        env.pop(name, None)
    process = subprocess.Popen(
        [sys.executable, "-c", "from panes.cli.main import app; app()", *arguments],
        cwd=folder,
        env=env,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=_own_terminal,
    )
    os.close(slave)
    try:
        yield Terminal(master, process)
    finally:
        process.kill()
        process.wait()
        os.close(master)


@pytest.mark.slow
@pytest.mark.spark
def test_a_run_is_a_live_table_until_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "script.sql").write_text(
        f"{STREAM} CREATE SINK counts WITH (connector = 'noop');"
        "INSERT INTO counts SELECT count(*) AS n FROM r GROUP BY tumblingwindow('ss', 1);"
    )
    with terminal(tmp_path, "run", "script.sql", "--checkpoint", "checkpoint") as screen:
        screen.until(r"query +in/s +out/s +batch +watermark +behind +open +late +state +backlog")
        screen.until(r"counts +[\d,.]+ +[\d,.]+ +[\d.]+ s +20\d\d-\d\d-\d\d \d\d:\d\d:\d\d +[\d.]+ s")
        screen.until(r"Spark UI http://127\.0\.0\.1:\d+")
        screen.type(CTRL_C)
        assert screen.ended() == 130, screen.text()
        assert "Traceback" not in screen.text()


def declared(screen: Terminal) -> None:
    screen.until("panes>")
    screen.type(STREAM.replace("\n", " ").strip().encode() + b"\r")
    screen.until("stream r created")
    screen.until("panes>")


def test_the_shell_completes_forgets_and_remembers(tmp_path: Path) -> None:
    with terminal(tmp_path, "shell") as screen:
        declared(screen)
        screen.type(b"EXPLAIN SELECT valu")
        screen.until("value")  # in the menu
        screen.type(b"\t")
        screen.until("e")
        screen.type(b" FROM r;\r")
        screen.until("DataSource")
        screen.until("panes>")
        screen.type(b"SELECT 'oh" + CTRL_C)
        screen.until("panes>")
        screen.type(b"\\d r\r")
        screen.until("rowsPerSecond")
        screen.type(b"\\q\r")
        assert screen.ended() == 0, screen.text()
    history = tmp_path / "state" / "panes" / "history"
    assert "+EXPLAIN SELECT value FROM r;" in history.read_text()
    assert history.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
@pytest.mark.spark
def test_the_shell_shows_a_stream_until_ctrl_c_and_goes_on(tmp_path: Path) -> None:
    with terminal(tmp_path, "shell") as screen:
        declared(screen)
        screen.type(b"SELECT value FROM r;\r")
        screen.until(r"select-1 batch \d+.*value.*└")
        screen.type(CTRL_C)
        screen.until("panes>")
        screen.type(b"\\d r\r")
        screen.until("rowsPerSecond")
        screen.type(b"\\q\r")
        assert screen.ended() == 0, screen.text()
