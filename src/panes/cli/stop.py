"""`panes stop`: end a run from another terminal."""

from __future__ import annotations

import os
import signal
import time
from typing import Annotated

import typer

from panes.cli.run_file import RunFile, runs_on
from panes.cli.script_file import console, errors

LOOK = 0.1  # seconds


def stop(
    checkpoint: Annotated[str, typer.Argument(help="The --checkpoint of the run, or its process id.")],
    timeout: Annotated[float, typer.Option(min=0, help="How many seconds to wait until it has ended.")] = 60.0,
) -> None:
    """Stop a running script as Ctrl-C does, and wait until it has ended: a later run goes on where it was.

    [bold]Example[/bold]: panes stop checkpoint
    """
    found = runs_of(checkpoint)
    if not found:
        hint = "panes status shows what runs: scripts of this user, on this machine."
        errors.print(f"nothing runs on {checkpoint}\n{hint}", markup=False)
        raise typer.Exit(1)
    for run in found:
        os.kill(run.pid, signal.SIGTERM)
    until = time.monotonic() + timeout
    while left := [one for one in runs_of(checkpoint) if one.pid in {run.pid for run in found}]:
        if time.monotonic() >= until:
            names = ", ".join(str(one.pid) for one in left)
            errors.print(f"told to stop, but running still: process {names}", markup=False)
            raise typer.Exit(1)
        time.sleep(LOOK)
    console.print(f"stopped {', '.join(one.script for one in found)}", markup=False)


def runs_of(named: str) -> list[RunFile]:
    """The runs on a checkpoint, or the one with a process id."""
    by_id = [one for one in runs_on(None) if str(one.pid) == named]
    return by_id or runs_on(named)
