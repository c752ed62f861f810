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
    """Stop a running script as Ctrl-C does, and wait until it has ended: a later run resumes where it stopped.

    [bold]Example[/bold]: panes stop checkpoint
    """
    found = runs_of(checkpoint)
    if not found:
        hint = "panes status shows what runs: scripts of this user, on this machine."
        errors.print(f"nothing is running on {checkpoint}\n{hint}")
        raise typer.Exit(1)
    told = [run for run in found if tell(run)]
    until = time.monotonic() + timeout
    while left := [one for one in runs_of(checkpoint) if one.pid in {run.pid for run in told}]:
        if time.monotonic() >= until:
            names = ", ".join(str(one.pid) for one in left)
            errors.print(f"asked to stop, but still running: process {names}")
            raise typer.Exit(1)
        time.sleep(LOOK)
    if told:
        console.print(f"stopped {', '.join(one.script for one in told)}")
    if len(told) < len(found):
        raise typer.Exit(1)


def tell(run: RunFile) -> bool:
    """Tell a run to stop; False if this user may not."""
    try:
        os.kill(run.pid, signal.SIGTERM)
    except ProcessLookupError:  # it has just ended
        return True
    except PermissionError:
        errors.print(f"process {run.pid} belongs to another user, who alone can stop it")
        return False
    return True


def runs_of(named: str) -> list[RunFile]:
    """The runs on a checkpoint, or the one with a process id."""
    by_id = [one for one in runs_on(None) if str(one.pid) == named]
    return by_id or runs_on(named)
