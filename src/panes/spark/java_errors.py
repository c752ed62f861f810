"""What an exception of Java says, as it may be printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from panes.options import without_secrets


def said(error: Any, options: Mapping[str, str]) -> str:
    """The message of the deepest cause in one line, with the name of its class where that is a single word or nothing.

    `options` are those that the driver or client was given: what is secret in them is masked.
    """
    while error.getCause() is not None:
        error = error.getCause()
    name, message = str(error.getClass().getSimpleName()), " ".join((error.getMessage() or "").split())
    if " " not in message:
        message = f"{name}: {message}" if message else name
    return without_secrets(message, options)
