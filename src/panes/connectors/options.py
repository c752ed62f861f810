"""Options of one connector: their names in any case, and none that nobody reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from panes.errors import PanesError, suggestion


@dataclass(frozen=True)
class Known:
    """The options that a connector knows by name, how those begin that others check, and other names of the same."""

    names: tuple[str, ...]
    prefixes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


def named(connector: str, options: Mapping[str, str], own: Known) -> dict[str, str]:
    """Options by the names that the connector knows them by, without its own.

    >>> named("kafka", {"connector": "kafka", "Topic": "t", "KAFKA.group.id": "x"}, Known(("topic",), ("kafka.",)))
    {'topic': 't', 'kafka.group.id': 'x'}
    """
    every = (*own.names, *own.aliases)
    known = {name.lower(): name for name in every}
    found: dict[str, str] = {}
    for given, value in options.items():
        if given == "connector":
            continue
        prefix = next((one for one in own.prefixes if given.lower().startswith(one)), None)
        name = known.get(given.lower()) if prefix is None else prefix + given[len(prefix) :]
        if name is None:
            raise PanesError("stream-options", f"{connector} has no option {given}", None, suggestion(given, every))
        found[name] = value
    return found


def one_of(options: Mapping[str, str], name: str, values: Collection[str], default: str | None) -> str:
    """The value of an option that has only a few."""
    value = options.get(name, default)
    if value is not None and value.lower() in values:
        return value.lower()
    listed = ", ".join(f"'{one}'" for one in values)
    given = f"is '{value}'" if value is not None else "is missing"
    raise PanesError("stream-options", f"the option {name} {given}", None, f"It is one of {listed}.")


def names(text: str) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def required(options: Mapping[str, str], name: str, example: str) -> str:
    if not options.get(name):
        raise PanesError("stream-options", f"the option {name} is missing", None, f"Add {name} = '{example}'.")
    return options[name]
