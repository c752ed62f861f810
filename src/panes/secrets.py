"""Secrets in options: `${ENV:NAME}` and `${FILE:path}` stand for what only the process that runs a script knows.

password = '${ENV:PGPASSWORD}'    declared, described, explained as it is written
password = 'hunter2'              what `resolved` hands to a connector
FATAL: no role for "***"          what `masked` leaves of a message
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import quote

from panes.errors import PanesError

REFERENCE = re.compile(r"\$\{(?P<kind>\w+):(?P<name>[^}]*)\}")
MASK = "***"
SHORT = 4  # letters: a shorter secret is masked only where it stands alone, or no message could be read
LINE = 16  # letters: a line of a secret that is longer is one, too

_handed_out: set[str] = set()  # in this process: whatever it prints may quote one of them


def check_references(options: Mapping[str, str]) -> None:
    """Refuse a reference that can never be resolved; whether it can be here and now is found when a query starts."""
    for option, value in options.items():
        for found in REFERENCE.finditer(value):
            if found["kind"] not in ("ENV", "FILE") or not found["name"]:
                hint = "Write ${ENV:NAME} for a variable of the environment, or ${FILE:path} for what a file holds."
                raise PanesError(
                    "stream-options", f"{found[0]} in the option {option} is not a secret reference", None, hint
                )


def is_reference(value: str) -> bool:
    """Whether a value is nothing but references, so that it gives nothing away."""
    return REFERENCE.fullmatch(value) is not None


def has_reference(value: str) -> bool:
    return REFERENCE.search(value) is not None


def resolved(options: Mapping[str, str]) -> dict[str, str]:
    """Options with the values that their references stand for; `masked` knows these from now on."""
    return {option: REFERENCE.sub(partial(_value, option), value) for option, value in options.items()}


def _value(option: str, found: re.Match[str]) -> str:
    value = _variable(found["name"], option) if found["kind"] == "ENV" else _content(found["name"], option)
    lines = [line for line in value.splitlines() if len(line) >= LINE]  # a message may quote one of a key
    _handed_out.update(one for one in (value, quote(value, safe=""), *lines) if one)
    return value


def _variable(name: str, option: str) -> str:
    value = os.environ.get(name)
    if value is None:
        text = f"the option {option} refers to the environment variable {name}, which is not set"
        raise PanesError("missing-secret", text, None, f"Set {name} before you start.")
    return value


def _content(path: str, option: str) -> str:
    """What a file holds, without the end of its last line, which editors add."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        message = f"the file {path}, which the option {option} names, cannot be read: {why}"
        raise PanesError(
            "missing-secret", message, None, "A relative path starts at the folder the process was started in."
        ) from None
    return text.removesuffix("\n").removesuffix("\r")


def masked(text: str) -> str:
    """A text without the secrets that were resolved in this process."""
    return without(text, _handed_out)


def without(text: str, secrets: Collection[str]) -> str:
    """A text with a mask for each of these secrets.

    >>> without("no role for hunter2 in 2a", ["hunter2", "a"])
    'no role for *** in 2a'
    """
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORT:
            text = text.replace(secret, MASK)
        else:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", MASK, text)
    return text
