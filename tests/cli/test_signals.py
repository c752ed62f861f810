"""Ctrl-C and SIGTERM: a wish first, the end of the process next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from panes.cli.signals import Stop


def sparks_handler(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def test_the_first_is_a_wish_and_the_second_is_as_before_us() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stop() as stop:
        assert not stop.asked()
        os.kill(os.getpid(), signal.SIGINT)
        assert (stop.asked(), stop.signal) == (True, signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is before


def test_spark_takes_ctrl_c_and_we_take_it_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stop() as stop:
        signal.signal(signal.SIGINT, sparks_handler)  # as SparkContext does
        stop.rearm()
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.signal == signal.SIGINT
    assert signal.getsignal(signal.SIGINT) is before


def test_one_that_came_before_spark_is_not_forgotten() -> None:
    with Stop() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        signal.signal(signal.SIGINT, sparks_handler)
        stop.rearm()
        assert stop.asked()
        assert signal.getsignal(signal.SIGINT) == signal.SIG_DFL


TWICE = """
import os, signal
from panes.cli.signals import Stop

with Stop() as stop:
    signal.signal(signal.SIGINT, lambda number, frame: print("Spark's", flush=True))
    stop.rearm()
    os.kill(os.getpid(), {number})
    print("asked", stop.signal, flush=True)
    os.kill(os.getpid(), {number})
    print("still here", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_one_ends_the_process(number: signal.Signals) -> None:
    code = TWICE.format(number=int(number))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (-number, f"asked {int(number)}\n")
