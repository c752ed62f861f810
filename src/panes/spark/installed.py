"""Is there a PySpark that Panes can run on, and a Java for it? It is an extra: clusters bring their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from panes.errors import PanesError

NEEDED_JAVA = 17
INSTALL_JAVA = f"Install a Java runtime of version {NEEDED_JAVA} or later, or set JAVA_HOME to one."
OLDEST = (4, 1)  # before it, transformWithState was for pandas only


def check_spark() -> None:
    """Refuse to go on without PySpark, or with one that is too old."""
    version = pyspark_version()
    if version is None:
        hint = "Install it with pip install 'panes[spark]', or use the Python of a cluster that brings it."
        raise PanesError("missing-spark", "PySpark is not installed, and this needs it", None, hint)
    check_version(version)


def pyspark_version() -> str | None:
    """That of the PySpark that is imported, which need not be a package that was installed; None without one."""
    try:
        from pyspark import __version__
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pyspark", "py4j"):
            raise
        return None
    return str(__version__)


def check_version(version: str) -> None:
    """Refuse a Spark that is too old: PySpark's version, or that of a server."""
    if numbers(version) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        text = f"this is Spark {version}, and Panes needs Spark {oldest} or newer"
        hint = "Install one with pip install 'panes[spark]'; a cluster or a server has to bring it."
        raise PanesError("missing-spark", text, None, hint)


def numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version, whatever stands behind them.

    >>> numbers("4.1.1"), numbers("4.2.0.dev3"), numbers("4.3-preview")
    ((4, 1), (4, 2), (4, 3))
    """
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


@dataclass(frozen=True)
class Java:
    """The one that Spark would start, or what is wrong with it."""

    path: str | None
    version: int | None = None
    problem: str | None = None


def found_java() -> Java:
    """Looks where Spark looks: JAVA_HOME/bin/java if JAVA_HOME is set, else java on PATH."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if found is None or not Path(found).exists():
        return Java(None, problem=f"there is no {found or 'java on PATH'}")
    try:
        done = subprocess.run([found, "-version"], capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        return Java(found, problem=f"{found} does not start: {error.strerror}")
    version = java_version(done.stderr + done.stdout)
    if version is None:
        return Java(found, problem=f"{found} does not say its version")
    return Java(found, version, f"{found} is version {version}" if version < NEEDED_JAVA else None)


def java_version(text: str) -> int | None:
    """The first number that counts.

    >>> java_version('openjdk version "17.0.15" 2025-04-15'), java_version('java version "1.8.0_392"'), java_version("")
    (17, 8, None)
    """
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found is not None else None


def check_java() -> None:
    """Say so where Spark cannot have started for want of a Java."""
    problem = found_java().problem
    if problem is not None:
        raise PanesError("missing-spark", f"Spark needs Java {NEEDED_JAVA}, and {problem}", None, INSTALL_JAVA)
