"""What identifies a row of a result."""

import pytest
from planning import compiled

from panes.logical.result_key import missing_of_key, result_key

GROUPED = "SELECT {} FROM t GROUP BY tumblingwindow('ss', 10), ok, b EMIT CHANGES"


@pytest.mark.parametrize(
    ("sql", "key", "missing"),
    [
        (GROUPED.format("ok, b, window_start() AS at, sum(a) AS s"), "ok, b, at", None),
        (GROUPED.format("ok AS r, b, window_end() AS at, sum(a) AS s"), "AT, R, B", None),
        (GROUPED.format("ok, b, window_end() AS at, sum(a) AS s"), "ok, b, at, s", None),
        (GROUPED.format("ok, b, window_end() AS at, sum(a) AS s"), "ok, at", "b"),
        (GROUPED.format("ok, b, window_end() AS at, sum(a) AS s"), "ok, b", "a bound of the window"),
        (GROUPED.format("ok, window_end() AS at"), "ok, at", "a key of GROUP BY that is not selected"),
        ("SELECT k, rank() OVER (PARTITION BY b ORDER BY a) AS r FROM t EMIT CHANGES", "k", None),
        ("SELECT k, rank() OVER (PARTITION BY b ORDER BY a) AS r FROM t EMIT CHANGES", "r", "k"),
        ("SELECT a, rank() OVER (PARTITION BY b ORDER BY a) AS r FROM t EMIT CHANGES", "a",
         "the key of the stream, which is not declared or not selected"),
    ],
)  # fmt: skip
def test_what_is_missing(sql: str, key: str, missing: str | None) -> None:
    assert missing_of_key(compiled(sql).logical, [name.strip() for name in key.split(",")]) == missing


@pytest.mark.parametrize(
    ("sql", "key"),
    [
        (GROUPED.format("ok AS r, b, window_end() AS at, window_start() AS since, sum(a) AS s"), ("at", "r", "b")),
        (GROUPED.format("ok, b, sum(a) AS s"), ("ok", "b")),
        (GROUPED.format("ok, window_end() AS at"), ("at",)),
        ("SELECT a, k AS id, rank() OVER (PARTITION BY b ORDER BY a) AS r FROM t EMIT CHANGES", ("id",)),
        ("SELECT a, rank() OVER (PARTITION BY b ORDER BY a) AS r FROM t EMIT CHANGES", ()),
    ],
)
def test_the_key_of_a_result(sql: str, key: tuple[str, ...]) -> None:
    assert result_key(compiled(sql).logical) == key
