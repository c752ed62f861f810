"""Ctrl-C in `panes run` with a Spark of its own: the run is stopped, and nothing has failed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
CREATE STREAM r (timestamp TIMESTAMP, value BIGINT, WATERMARK FOR timestamp AS timestamp - INTERVAL 1 SECOND)
WITH (connector = 'rate', rowsPerSecond = '50');
CREATE SINK counts WITH (connector = 'noop');
INSERT INTO counts SELECT count(*) AS n FROM r GROUP BY tumblingwindow('ss', 1);
"""


@pytest.mark.slow
@pytest.mark.spark
def test_ctrl_c_while_micro_batches_run(tmp_path: Path) -> None:
    (tmp_path / "script.sql").write_text(SCRIPT)
    command = [sys.executable, "-c", "from panes.cli.main import app; app()", "run", "script.sql", "--json"]
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "batch":
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 128 + signal.SIGINT, err
    events = [json.loads(line) for line in out.splitlines()]
    assert events[-1] == {"event": "ended", "reason": "stopped"}
    assert "failed" not in [one["event"] for one in events]
    assert err == ""
