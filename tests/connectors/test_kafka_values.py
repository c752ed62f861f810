"""Where a reader of a topic begins, without Spark."""

import pytest

from panes.connectors.kafka_values import begins_at_the_end

TIME = {"startingTimestamp": "5"}
LATEST = {"startingOffsetsByTimestampStrategy": "Latest"}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"startingOffsets": " Latest "},
        {"startingOffsets": '{"t": {"0": 17, "1": -1}}'},
        TIME | LATEST,
        {"startingOffsetsByTimestamp": '{"t": {"0": 5}}'} | LATEST,
    ],
)
def test_behind_what_is_there(options: dict[str, str]) -> None:
    assert begins_at_the_end(options)


@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsets": "EARLIEST"},
        {"startingOffsets": '{"t": {"0": 17, "1": -2}}'},
        TIME,
        TIME | {"startingOffsetsByTimestampStrategy": "error"},
    ],
)
def test_at_a_place_of_its_own(options: dict[str, str]) -> None:
    """A time without a record behind it stops the query, unless that is said to be the end."""
    assert not begins_at_the_end(options)
