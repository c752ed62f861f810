"""Is there a PySpark that Panes can run on? It is an extra: clusters bring their own."""

from __future__ import annotations

import re

from panes.errors import PanesError

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
