"""Values of the options of Spark's Kafka reader, looked at where they are declared.

Spark looks at them when a query starts, in words of its own, and passes over those that another option makes idle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from panes.errors import PanesError
from panes.secrets import has_reference

OFFSETS, TIMESTAMP, TIMESTAMPS = "startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp"
STRATEGY = "startingOffsetsByTimestampStrategy"
LATEST, EARLIEST = -1, -2  # as offsets of a partition
STARTS = (TIMESTAMP, TIMESTAMPS, OFFSETS)  # Spark takes the first of them that it is given


@dataclass(frozen=True)
class Values:
    fit: Callable[[str], bool]
    hint: str


def _at_least(least: int) -> Values:
    return Values(lambda text: text.isdecimal() and int(text) >= least, f"It is a whole number, at least {least}.")


def _word(*words: str) -> Values:
    listed = " or ".join(f"'{one}'" for one in words)
    return Values(lambda text: text.lower() in words, f"It is {listed}.")


def _partitions(text: str, least: int) -> bool:
    """Whether a text is JSON with a number for each partition of a topic."""
    found = _json(text)
    return bool(found) and all(
        isinstance(one, dict) and bool(one) and all(name.isdecimal() and _is_number(one[name], least) for name in one)
        for one in found.values()
    )


def _is_number(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _json(text: str) -> dict[str, Any]:
    """A JSON object; nothing if the text is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def partitions_in(text: str) -> dict[str, list[int]]:
    """The partitions of each topic of an `assign`; nothing if that is none.

    >>> partitions_in('{"orders": [0, 1]}'), partitions_in("orders")
    ({'orders': [0, 1]}, {})
    """
    found = _json(text)
    listed = (isinstance(one, list) and one and all(_is_number(number, 0) for number in one) for one in found.values())
    return found if all(listed) else {}


VALUES = {
    OFFSETS: Values(
        lambda text: text.lower() in ("latest", "earliest") or _partitions(text, EARLIEST),
        """It is 'latest', 'earliest', or an offset for each partition: '{"topic": {"0": 5, "1": -2}}'.""",
    ),
    TIMESTAMP: Values(_at_least(0).fit, "It is milliseconds since 1970."),
    TIMESTAMPS: Values(
        lambda text: _partitions(text, 0), """It is a time for each partition: '{"topic": {"0": 5}}'."""
    ),
    STRATEGY: _word("error", "latest"),
    "assign": Values(lambda text: bool(partitions_in(text)), """It is partitions of topics: '{"topic": [0, 1]}'."""),
    "failOnDataLoss": _word("true", "false"),
    "maxTriggerDelay": Values(
        lambda text: re.fullmatch(r"\d+(us|ms|s|m|min|h|d)?", text.lower()) is not None, "Write '15m' or '30s'."
    ),
    **dict.fromkeys(
        ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "minPartitions", "maxRecordsPerPartition"), _at_least(1)
    ),
    **dict.fromkeys(
        ("fetchOffset.numRetries", "fetchOffset.retryIntervalMs", "kafkaConsumer.pollTimeoutMs"), _at_least(0)
    ),
}
# What an option is about: without one of these nobody reads it.
ABOUT = {STRATEGY: (TIMESTAMP, TIMESTAMPS), "maxTriggerDelay": ("minOffsetsPerTrigger",)}


def check_values(spark: Mapping[str, str], name_of: Callable[[str], str]) -> None:
    """Refuse what Spark would refuse or not read; `name_of` tells what Panes calls an option of Spark's."""
    for name, value in spark.items():
        values = VALUES.get(name)
        if values is not None and not has_reference(value) and not values.fit(value.strip()):
            raise PanesError("stream-options", f"the option {name_of(name)} is '{value}'", None, values.hint)
        if name in ABOUT and not any(one in spark for one in ABOUT[name]):
            listed = " or ".join(map(name_of, ABOUT[name]))
            text = f"the option {name_of(name)} says nothing without {listed}"
            raise PanesError("stream-options", text, None, f"Add {listed}, or leave it out.")
    starts = [name_of(name) for name in STARTS if name in spark]
    if len(starts) > 1:
        text = f"the options {' and '.join(starts)} both say where to begin"
        raise PanesError("stream-options", text, None, "Leave one of them out.")


def begins_at_the_end(spark: Mapping[str, str]) -> bool:
    """Whether a new reader with these options begins in some partition with what comes after it."""
    if TIMESTAMP in spark or TIMESTAMPS in spark:
        return spark.get(STRATEGY, "error").strip().lower() == "latest"
    given = spark.get(OFFSETS, "latest").strip()
    return given.lower() == "latest" or any(LATEST in one.values() for one in _json(given).values())
