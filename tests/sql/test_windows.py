"""The six windows: what each accepts, its defaults, and everything it refuses."""

from collections.abc import Callable

import pytest
from present import present

from panes.errors import PanesError
from panes.source import Source
from panes.sql.calls import find_call, parse_call
from panes.sql.duration import TimeUnit
from panes.sql.expr import Expr
from panes.sql.tokens import tokenize
from panes.sql.window_kinds import Window
from panes.sql.windows import USAGE, Kind, is_window, parse_window

MS, SS, MI, HH, DD = TimeUnit
BY_K = "OVER (PARTITION BY k)"


def expr(sql: str) -> Expr:
    return Expr(tokenize(Source(sql)))


def window(sql: str) -> Kind:
    tokens = tokenize(Source(sql))
    return parse_window(parse_call(tokens, present(find_call(tokens, 0))))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("tumblingwindow('ss', 10)", Window.Tumbling(SS, 10)),
        ('tumblingwindow("ss", 10)', Window.Tumbling(SS, 10)),
        ("TumblingWindow ( 'mi' , 1 )", Window.Tumbling(MI, 1)),
        ("tumblingwindow('ms', 500)", Window.Tumbling(MS, 500)),
        ("tumblingwindow('dd', 1)", Window.Tumbling(DD, 1)),
        ("hoppingwindow('hh', 3, 1)", Window.Hopping(HH, 3, 1)),
        ("hoppingwindow('ss', 5, 2)", Window.Hopping(SS, 5, 2)),
        ("hoppingwindow('ss', 2, 5)", Window.Hopping(SS, 2, 5)),
        ("tumblingwindow('dd', 1, offset => INTERVAL 8 HOURS)", Window.Tumbling(DD, 1, offset=8 * HH.microseconds)),
        ("tumblingwindow('ss', 10, Offset=>-INTERVAL 3 SECONDS)", Window.Tumbling(SS, 10, offset=-3 * SS.microseconds)),
        ("tumblingwindow('ss', 10, offset => INTERVAL 0 DAYS)", Window.Tumbling(SS, 10)),
        ("tumblingwindow(INTERVAL 48 HOURS, zone => 'Europe/Berlin')", Window.Tumbling(DD, 2, zone="Europe/Berlin")),
        (
            "hoppingwindow('ss', 50, 10, offset => INTERVAL 1.5 SECONDS)",
            Window.Hopping(SS, 50, 10, offset=1500 * MS.microseconds),
        ),
        (
            "hoppingwindow('days', 7, 2, zone => \"Asia/Tokyo\", `offset` => INTERVAL '1 06:00' DAY TO MINUTE)",
            Window.Hopping(DD, 7, 2, offset=30 * HH.microseconds, zone="Asia/Tokyo"),
        ),
        ("sessionwindow('mi', 30)", Window.Session(MI, 30)),
        ("countwindow(3)", Window.Count(3, None, ())),
        ("countwindow(10, 5)", Window.Count(10, 5, ())),
        ("countwindow(5, 10)", Window.Count(5, 10, ())),
        (f"countwindow(3) {BY_K}", Window.Count(3, None, (expr("k"),))),
        ("slidingwindow('ss', 10)", Window.Sliding(SS, 10, None)),
        ("slidingwindow('ss', 10, 15)", Window.Sliding(SS, 10, 15)),
        ("slidingwindow('ss', 0, 0)", Window.Sliding(SS, 0, 0)),
        (f"slidingwindow('ss', 10) {BY_K}", Window.Sliding(SS, 10, None, (expr("k"),))),
        ("slidingwindow('ss', 10) OVER (WHEN a > 0)", Window.Sliding(SS, 10, None, (), expr("a > 0"))),
        (
            "slidingwindow('ss', 1, 2) OVER (PARTITION BY k, l WHEN a)",
            Window.Sliding(SS, 1, 2, (expr("k"), expr("l")), expr("a")),
        ),
        ("statewindow(a > 0, b = 1)", Window.State(expr("a > 0"), expr("b = 1"))),
        (
            "statewindow(a > 0, b = 1) OVER (PARTITION BY region, upper(device))",
            Window.State(expr("a > 0"), expr("b = 1"), (expr("region"), expr("upper(device)"))),
        ),
    ],
)
def test_accepted(sql: str, expected: Kind) -> None:
    assert window(sql) == expected


TIMED = [("tumblingwindow('ss', {})", 1), ("hoppingwindow('ss', {}, 1)", 1), ("hoppingwindow('ss', 1, {})", 1)]
TIMED += [("sessionwindow('ss', {})", 1), ("slidingwindow('ss', {})", 0), ("slidingwindow('ss', 1, {})", 0)]
NUMBERS = [*TIMED, ("countwindow({})", 1), ("countwindow(1, {})", 1)]


@pytest.mark.parametrize("number", ["-1", "+1", "1.5", "1e3", "10L", "'1'", "a", "5 + 5", "(5)", "NULL", "TRUE"])
@pytest.mark.parametrize(("form", "_least"), NUMBERS)
def test_numbers_are_unsigned_literals(form: str, _least: int, number: str) -> None:
    assert refused(form.format(number)) == ("window-arguments", number)


@pytest.mark.parametrize(("form", "least"), NUMBERS)
def test_zero(form: str, least: int) -> None:
    if least:
        assert refused(form.format(0)) == ("window-arguments", "0")
    else:
        window(form.format(0))


@pytest.mark.parametrize(("form", "_least"), TIMED)
def test_lengths_beyond_time_are_refused(form: str, _least: int) -> None:
    assert refused(form.format(10**30)) == ("window-arguments", str(10**30))


def refused(sql: str) -> tuple[str, str]:
    with pytest.raises(PanesError) as caught:
        window(sql)
    assert caught.value.hint
    return caught.value.code, present(caught.value.span).text


UNITS = ["tumblingwindow({}, 1)", "hoppingwindow({}, 1, 1)", "sessionwindow({}, 1)", "slidingwindow({}, 1)"]


@pytest.mark.parametrize("form", UNITS)
@pytest.mark.parametrize("unit", TimeUnit)
@pytest.mark.parametrize("quote", ["'", '"'])
def test_units(form: str, unit: TimeUnit, quote: str) -> None:
    found = window(form.format(f"{quote}{unit.value}{quote}"))
    assert not isinstance(found, Window.Count | Window.State)
    assert found.time_unit == unit


@pytest.mark.parametrize("form", UNITS)
@pytest.mark.parametrize("unit", TimeUnit)
@pytest.mark.parametrize("word", [str.lower, str.upper, str.title])
@pytest.mark.parametrize("plural", ["", "s"])
def test_units_as_words(form: str, unit: TimeUnit, word: Callable[[str], str], plural: str) -> None:
    written = word(unit.name.lower().removesuffix("s") + plural)
    assert window(form.format(f"'{written}'")) == window(form.format(f"'{unit.value}'"))


@pytest.mark.parametrize(
    ("sql", "same"),
    [
        ("tumblingwindow(INTERVAL 10 SECONDS)", "tumblingwindow('ss', 10)"),
        ("tumblingwindow(INTERVAL '1' MINUTE)", "tumblingwindow('mi', 1)"),
        ("tumblingwindow(INTERVAL '1 day 12 hours')", "tumblingwindow('hh', 36)"),
        ("tumblingwindow(INTERVAL '0 00:00:01.5' DAY TO SECOND)", "tumblingwindow('ms', 1500)"),
        ("hoppingwindow(INTERVAL 1 HOUR, INTERVAL 90 SECONDS)", "hoppingwindow('ss', 3600, 90)"),
        ("sessionwindow(INTERVAL 30 MINUTES)", "sessionwindow('mi', 30)"),
        ("slidingwindow(INTERVAL 10 SECONDS)", "slidingwindow('ss', 10)"),
        ("slidingwindow(INTERVAL 1 DAY, INTERVAL 0 SECONDS) OVER (WHEN a)", "slidingwindow('dd', 1, 0) OVER (WHEN a)"),
    ],
)
def test_lengths_as_intervals(sql: str, same: str) -> None:
    """In the largest unit that divides them, so that plans and checkpoints do not tell the spellings apart."""
    assert window(sql) == window(same)


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("tumblingwindow(INTERVAL 1 MONTH)", "INTERVAL 1 MONTH"),
        ("tumblingwindow(INTERVAL 0 SECONDS)", "INTERVAL 0 SECONDS"),
        ("tumblingwindow(INTERVAL -1 SECONDS)", "INTERVAL -1 SECONDS"),
        ("tumblingwindow(INTERVAL 10 MICROSECONDS)", "INTERVAL 10 MICROSECONDS"),
        ("tumblingwindow(INTERVAL 5000000 DAYS)", "INTERVAL 5000000 DAYS"),
        ("slidingwindow(INTERVAL -1 SECONDS)", "INTERVAL -1 SECONDS"),
        ("hoppingwindow(INTERVAL 10 SECONDS, 5)", "5"),
        ("hoppingwindow('ss', INTERVAL 10 SECONDS, 5)", "INTERVAL 10 SECONDS"),
        ("hoppingwindow(INTERVAL 10 SECONDS)", "hoppingwindow(INTERVAL 10 SECONDS)"),
        ("tumblingwindow(INTERVAL 1 DAY, INTERVAL 1 DAY)", "tumblingwindow(INTERVAL 1 DAY, INTERVAL 1 DAY)"),
    ],
)
def test_lengths_that_no_interval_can_be(sql: str, place: str) -> None:
    assert refused(sql) == ("window-arguments", place)


@pytest.mark.parametrize("form", UNITS)
@pytest.mark.parametrize(
    ("unit", "code"),
    [
        ("'s'", "unknown-time-unit"),
        ("'SS'", "unknown-time-unit"),
        ("'sec'", "unknown-time-unit"),
        ("'weeks'", "unknown-time-unit"),
        ("''", "unknown-time-unit"),
        ("ss", "window-arguments"),
        ("`ss`", "window-arguments"),
        ("10", "window-arguments"),
        ("upper('ss')", "window-arguments"),
        ("'s' 's'", "window-arguments"),
    ],
)
def test_unknown_units(form: str, unit: str, code: str) -> None:
    assert refused(form.format(unit)) == (code, unit)


@pytest.mark.parametrize(
    "sql",
    [
        "tumblingwindow()",
        "tumblingwindow('ss')",
        "tumblingwindow('ss', 1, 2)",
        "hoppingwindow('ss', 1)",
        "hoppingwindow('ss', 1, 2, 3)",
        "sessionwindow('ss')",
        "sessionwindow('ss', 1, 2)",
        "countwindow()",
        "countwindow(1, 2, 3)",
        "slidingwindow('ss')",
        "slidingwindow('ss', 1, 2, 3)",
        "statewindow(a)",
        "statewindow(a, b, c)",
        "statewindow()",
        "countwindow(DISTINCT 2)",
        "countwindow(2) IGNORE NULLS",
        "countwindow(2) FILTER (WHERE a)",
    ],
)
def test_wrong_arguments(sql: str) -> None:
    assert refused(sql) == ("window-arguments", sql)


ALIGNED = ["tumblingwindow('dd', 2, {})", "hoppingwindow('dd', 9, 2, {})"]
OTHERS = [
    "sessionwindow('ss', 1, {})",
    "countwindow(2, {})",
    "countwindow({})",
    "slidingwindow('ss', 1, 2, {})",
    "statewindow(a, b, {})",
    "statewindow({}, b)",
]


@pytest.mark.parametrize("form", ALIGNED)
@pytest.mark.parametrize(
    ("options", "place"),
    [
        ("offset => 5", "5"),
        ("offset => '5 seconds'", "'5 seconds'"),
        ("offset => a", "a"),
        ("offset => INTERVAL a SECONDS", "INTERVAL a SECONDS"),
        ("offset => INTERVAL 1 MONTH", "INTERVAL 1 MONTH"),
        ("offset => INTERVAL 1 MICROSECOND", "INTERVAL 1 MICROSECOND"),
        ("offset => INTERVAL 2 DAYS", "INTERVAL 2 DAYS"),
        ("offset => INTERVAL -2 DAYS", "INTERVAL -2 DAYS"),
        ("offset =>", "offset =>"),
        ("offset => INTERVAL 1 HOUR, offset => INTERVAL 1 HOUR", "offset => INTERVAL 1 HOUR"),
        ("zone => 'UTC', ZONE => 'UTC'", "ZONE => 'UTC'"),
        ("zone => 'UTC', 1", "1"),
        ("zone => UTC", "UTC"),
        ("zone => upper('utc')", "upper('utc')"),
        ("zone => ''", "''"),
        ("zone => 'Europe/Berln'", "'Europe/Berln'"),
        ("zone => 'Europe'", "'Europe'"),
        ("zone => '../UTC'", "'../UTC'"),
        ("zone => 'localtime'", "'localtime'"),
        ("zone => '+02:00'", "'+02:00'"),
        ("length => 1", "length => 1"),
        ("watermark => INTERVAL 1 HOUR", "watermark => INTERVAL 1 HOUR"),
    ],
)
def test_options_that_cannot_be(form: str, options: str, place: str) -> None:
    assert refused(form.format(options)) == ("window-arguments", place)


@pytest.mark.parametrize("form", OTHERS)
@pytest.mark.parametrize("option", ["offset => INTERVAL 1 SECOND", "zone => 'UTC'", "n => 2"])
def test_other_windows_take_no_options(form: str, option: str) -> None:
    assert refused(form.format(option)) == ("window-arguments", option)


@pytest.mark.parametrize(
    "form",
    [
        "tumblingwindow('hh', 24, zone => {})",
        "tumblingwindow(INTERVAL 36 HOURS, zone => {})",
        "hoppingwindow(INTERVAL 2 DAYS, INTERVAL 12 HOURS, zone => {})",
    ],
)
def test_a_zone_counts_in_days(form: str) -> None:
    assert refused(form.format("'UTC'")) == ("window-arguments", "'UTC'")


@pytest.mark.parametrize("form", ["tumblingwindow('ss', 1)", "hoppingwindow('ss', 1, 1)", "sessionwindow('ss', 1)"])
@pytest.mark.parametrize("over", [BY_K, "OVER ()", "OVER w", "OVER (ORDER BY ts)"])
def test_time_windows_take_no_over(form: str, over: str) -> None:
    assert refused(f"{form} {over}") == ("over-not-allowed", over)


@pytest.mark.parametrize("form", ["countwindow(2)", "slidingwindow('ss', 1)", "statewindow(a, b)"])
@pytest.mark.parametrize(
    ("over", "code", "place"),
    [
        ("OVER ()", "over-needs-partition-by", "OVER ()"),
        ("OVER w", "over-not-allowed", "OVER w"),
        ("OVER (w)", "over-not-allowed", "OVER (w)"),
        ("OVER (ORDER BY ts)", "over-order-by-not-allowed", "ORDER BY ts"),
        ("OVER (PARTITION BY k ORDER BY ts DESC)", "over-order-by-not-allowed", "ORDER BY ts DESC"),
        ("OVER (PARTITION BY k ROWS 1 PRECEDING)", "over-not-allowed", "ROWS 1 PRECEDING"),
        ("OVER (ROWS 1 PRECEDING)", "over-not-allowed", "ROWS 1 PRECEDING"),
    ],
)
def test_what_over_may_not_have(form: str, over: str, code: str, place: str) -> None:
    assert refused(f"{form} {over}") == (code, place)


@pytest.mark.parametrize("form", ["countwindow(2)", "statewindow(a, b)"])
@pytest.mark.parametrize("over", ["OVER (WHEN c)", "OVER (PARTITION BY k WHEN c)"])
def test_only_a_sliding_window_takes_when(form: str, over: str) -> None:
    assert refused(f"{form} {over}") == ("over-not-allowed", "c")


def test_names() -> None:
    assert all(is_window(name.upper()) for name in USAGE)
    assert not is_window("window") and not is_window("session_window")
