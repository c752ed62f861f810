"""The EMIT table: every feature with every EMIT, over every kind of input."""

from __future__ import annotations

import pytest
from planning import compiled, operators, refused

INPUTS = ("t", "arrivals", "files", "changes")  # event time, arrival, batch, changelog
EMITS = ("", "ON WINDOW CLOSE", "CHANGES", "IMMEDIATELY")

FEATURES = {
    "tumbling": "SELECT count(*) FROM {} GROUP BY tumblingwindow('ss', 10)",
    "tumbling, rows": "SELECT * FROM {} GROUP BY tumblingwindow('ss', 10)",
    "hopping": "SELECT count(*) FROM {} GROUP BY hoppingwindow('ss', 10, 5)",
    "session": "SELECT count(*) FROM {} GROUP BY sessionwindow('ss', 10)",
    "count": "SELECT count(*) FROM {} GROUP BY countwindow(2)",
    "state": "SELECT count(*) FROM {} GROUP BY statewindow(ok, ok)",
    "sliding": "SELECT count(*) FROM {} GROUP BY slidingwindow('ss', 10)",
    "stateful": "SELECT lag(a) FROM {}",
    "over": "SELECT sum(a) OVER (PARTITION BY k ORDER BY ts ROWS 1 PRECEDING) FROM {}",
    "nothing": "SELECT a FROM {} WHERE ok",
}

NO, CHANGELOG, TIME = "unsupported-clause", "changelog-not-supported", "watermark-required"
CLOSE, CHANGES, RELEASE, NOW = "on-window-close", "changes", "on-release", "immediately"

TIME_WINDOW = {
    "": (CLOSE, CLOSE, CLOSE, CHANGELOG),
    "ON WINDOW CLOSE": (CLOSE, CLOSE, CLOSE, CHANGELOG),
    "CHANGES": (CHANGES, CHANGES, CHANGES, CHANGELOG),
    "IMMEDIATELY": (NO, NO, NO, CHANGELOG),
}
IN_ORDER = {
    "": (RELEASE, RELEASE, RELEASE, CHANGELOG),
    "ON WINDOW CLOSE": (NO, NO, NO, CHANGELOG),
    "CHANGES": (NO, NO, NO, CHANGELOG),
    "IMMEDIATELY": (NOW, NO, NOW, CHANGELOG),
}
OVER = {
    "": (CLOSE, TIME, CLOSE, CHANGES),
    "ON WINDOW CLOSE": (CLOSE, NO, CLOSE, NO),
    "CHANGES": (CHANGES, CHANGES, CHANGES, CHANGES),
    "IMMEDIATELY": (NO, NO, NO, NO),
}
NOTHING = {"": ("", "", "", ""), **dict.fromkeys(EMITS[1:], (NO, NO, NO, NO))}
TABLE = {
    **dict.fromkeys(("tumbling", "tumbling, rows", "hopping", "session"), TIME_WINDOW),
    **dict.fromkeys(("count", "state", "sliding", "stateful"), IN_ORDER),
    "over": OVER,
    "nothing": NOTHING,
}
ROWS = [
    (feature, emit, stream, expected)
    for feature, row in TABLE.items()
    for emit in EMITS
    for stream, expected in zip(INPUTS, row[emit], strict=True)
]


@pytest.mark.parametrize(("feature", "emit", "stream", "expected"), ROWS)
def test_the_table(feature: str, emit: str, stream: str, expected: str) -> None:
    sql = FEATURES[feature].format(stream) + (f" EMIT {emit}" if emit else "")
    if expected in (NO, CHANGELOG, TIME):
        assert refused(sql) == expected
        return
    assert [one.placement.emit.value for one in operators(sql)] == ([expected] if expected else [])
    assert compiled(sql).physical.changelog == (expected == CHANGES or stream == "changes")


# ── Several features in one statement ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        # EMIT speaks of the last feature; those below keep their default.
        ("SELECT rank() OVER (PARTITION BY k ORDER BY lag(a)) FROM t EMIT CHANGES", [CHANGES, RELEASE]),
        ("SELECT sum(lag(a)) FROM t GROUP BY tumblingwindow('ss', 1) EMIT CHANGES", [CHANGES, RELEASE]),
        (
            "SELECT rank() OVER (ORDER BY sum(a)) FROM t GROUP BY tumblingwindow('ss', 1), k EMIT CHANGES",
            [CHANGES, CLOSE],
        ),
        ("SELECT r FROM (SELECT rank() OVER (ORDER BY a) AS r FROM t) WHERE r < 3 EMIT CHANGES", [CHANGES]),
        (
            "SELECT rank() OVER (ORDER BY c) FROM (SELECT sum(a) OVER (ORDER BY v) AS c FROM t) EMIT CHANGES",
            [CHANGES, CHANGES],
        ),
        (
            "SELECT rank() OVER (PARTITION BY k ORDER BY a), rank() OVER (ORDER BY v) FROM arrivals EMIT CHANGES",
            [CHANGES, CHANGES],
        ),
        (
            "SELECT count(*) FROM (SELECT ts, rank() OVER (ORDER BY ts) AS r FROM t) "
            "GROUP BY tumblingwindow('ss', 1) EMIT CHANGES",
            [CHANGES, CLOSE],
        ),
        ("SELECT count(lag(a)) FROM t GROUP BY countwindow(2) EMIT IMMEDIATELY", [NOW, NOW]),
        ("SELECT lag(l) FROM (SELECT ts, lag(a) AS l FROM t) EMIT IMMEDIATELY", [NOW, NOW]),
        ("SELECT sum(lag(a)) FROM t GROUP BY tumblingwindow('ss', 1) EMIT ON WINDOW CLOSE", [CLOSE, RELEASE]),
    ],
)
def test_several_features(sql: str, expected: list[str]) -> None:
    assert [one.placement.emit.value for one in operators(sql)] == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT lag(r) FROM (SELECT ts, rank() OVER (ORDER BY ts) AS r FROM t) EMIT CHANGES",
        "SELECT lag(r) FROM (SELECT ts, rank() OVER (ORDER BY ts) AS r FROM t) EMIT IMMEDIATELY",
        "SELECT lag(c) FROM (SELECT count(*) AS c FROM t GROUP BY tumblingwindow('ss', 1)) EMIT IMMEDIATELY",
        "SELECT sum(lag(a)) FROM t GROUP BY tumblingwindow('ss', 1) EMIT IMMEDIATELY",
    ],
)
def test_several_features_refused(sql: str) -> None:
    assert refused(sql) == NO
