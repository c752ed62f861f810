"""A picture is well-formed, says when each part is there, and has no text on another."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from panes.picture import Theme, svg
from panes.picture.view import CHARACTER
from panes.trace import Fate, Growth, Level, Point, Result, Row, StreamTrace, Trace, WindowTrace, from_json

SECOND = 1_000_000
TRACES = sorted((Path(__file__).parent / "traces").glob("*.panes.json"))
SVG = "{http://www.w3.org/2000/svg}"


def small(rows: int = 4, keys: int = 2) -> Trace:
    """Tumbling windows of ten seconds, a row every three seconds; the watermark closes a window a step later."""
    made = tuple(
        Row(number + 1, number // 2, number % 2, 3 * number * SECOND, (f"k{number % keys}", number, f"00:{number}"))
        for number in range(rows)
    )
    steps = (rows + 1) // 2 + 1
    marks = tuple(max(row.time or 0 for row in made if row.step <= step) for step in range(steps))
    stream = StreamTrace("t", ("k", "v", "ts"), made, "ts", 0, watermarks=marks)
    windows: list[WindowTrace] = []
    for key in range(keys):
        for start in range(0, 3 * rows, 10):
            inside = [
                row for row in made if row.id % keys == (key + 1) % keys and start <= 3 * (row.id - 1) < start + 10
            ]
            bounds = start * SECOND, (start + 10) * SECOND
            growths = tuple(
                Growth(step, *bounds, tuple(row.id for row in inside if row.step <= step))
                for step in sorted({row.step for row in inside})
            )
            if growths:
                closed = next((step for step in range(steps) if marks[step] >= bounds[1]), steps - 1)
                windows.append(WindowTrace(len(windows) + 1, (f"k{key}",), growths, closed=closed))
    points = tuple(Point(row.id, (str(row.values[0]),), row.time, row.step, (row.id,)) for row in made)
    level = Level("tumbling", "tumblingwindow('ss', 10)", ("k",), points, windows=tuple(windows))
    results = tuple(
        Result(window.id, window.closed or 0, (window.lane[0], 7 * window.id), None, window.last.points, 0, window.id)
        for window in windows
    )
    return Trace("SELECT 1", (stream,), steps, True, (level,), ("k", "n"), results)


def there(picture: str) -> list[ET.Element]:
    """All elements that are shown."""
    root = ET.fromstring(picture)
    return [one for one in root.iter() if "away" not in one.get("class", "").split()]


def texts(picture: str) -> list[tuple[float, float, float, str]]:
    """Left, right and base line of the texts that are shown."""
    root = ET.fromstring(picture)
    hidden = {id(part) for one in root.iter() if "away" in one.get("class", "").split() for part in one.iter()}
    moved = {
        id(part): tuple(map(float, str(one.get("transform"))[10:-1].split()))
        for one in root.iter(f"{SVG}g")
        if one.get("transform")
        for part in one.iter()
    }
    found = []
    for one in root.iter(f"{SVG}text"):
        if id(one) in hidden or not one.text:
            continue
        dx, dy = moved.get(id(one), (0.0, 0.0))
        classes = one.get("class", "").split()
        wide = CHARACTER * len(one.text) * (0.7 if "number" in classes else 1)
        x = float(one.get("x", 0)) + dx
        left = x - wide if "end" in classes else x - wide / 2 if {"middle", "number"} & set(classes) else x
        found.append((left, left + wide, float(one.get("y", 0)) + dy, one.text))
    return found


@pytest.mark.parametrize("trace", [small(), small(40, 3), *(from_json(one.read_text("utf-8")) for one in TRACES)])
def test_no_text_stands_on_another(trace: Trace) -> None:
    for step in range(trace.steps):
        for one, other in combinations(texts(svg(trace, step)), 2):
            apart = one[1] <= other[0] + 1 or other[1] <= one[0] + 1 or abs(one[2] - other[2]) >= 9
            assert apart, f"step {step}: {one} and {other}"


@pytest.mark.parametrize("theme", Theme)
def test_it_is_well_formed_and_the_same_every_time(theme: Theme) -> None:
    picture = svg(small(), theme=theme)
    root = ET.fromstring(picture)
    assert root.get("role") == "img"
    assert root[0].tag == f"{SVG}title" and root[1].tag == f"{SVG}desc"
    assert picture == svg(small(), theme=theme)
    assert ("prefers-color-scheme" in picture) is (theme is Theme.AUTO)


def test_each_row_and_result_is_there_from_its_step_on() -> None:
    trace = small()
    for step in range(trace.steps):
        shown = there(svg(trace, step))
        rows = {int(one.get("data-row", 0)) for one in shown if one.tag == f"{SVG}circle" and one.get("data-row")}
        assert rows == {row.id for row in trace.rows if row.step <= step}
        lines = {int(one.get("data-result", 0)) for one in shown if one.get("class") == "line"}
        assert lines == {one.id for one in trace.results if one.step <= step}


def test_a_window_is_open_until_it_comes_out() -> None:
    trace = small()
    (window, *_) = trace.levels[0].windows
    assert window.closed is not None
    before, after = (
        [one.get("class") for one in there(svg(trace, step)) if one.get("data-window") == "0:1"]
        for step in (window.closed - 1, window.closed)
    )
    assert (before, after) == (["window open"], ["window"])


def test_steps_are_said_so_that_a_page_need_not_draw() -> None:
    """All elements are in every step; only the class differs."""
    trace = small()
    said = [
        [
            (one.tag, one.get("data-from"), one.get("data-to"), one.get("x"))
            for one in ET.fromstring(svg(trace, step)).iter()
        ]
        for step in range(trace.steps)
    ]
    bodies = [[one for one in step if one[1] is not None] for step in said]
    assert all(body == bodies[0] for body in bodies)


def test_every_fate_has_a_shape_of_its_own() -> None:
    trace = small()
    shapes = set()
    for fate in Fate:
        rows = tuple(replace(row, fate=fate) if row.id == 1 else row for row in trace.streams[0].rows)
        picture = svg(replace(trace, streams=(replace(trace.streams[0], rows=rows),), levels=()))
        mark = next(one for one in there(picture) if one.get("data-row") == "1" and one.tag != f"{SVG}text")
        geometry = mark.get("d", mark.get("r", ""))[-8:]
        shapes.add((fate in (Fate.COUNTED, Fate.UNKNOWN), mark.tag, geometry, mark.get("class")))
    assert len(shapes) >= 5


def test_what_users_write_is_escaped() -> None:
    trace = small()
    stream = trace.streams[0]
    evil = replace(stream.rows[0], values=("<script>alert(1)</script>", '"&\x00', None))
    picture = svg(replace(trace, streams=(replace(stream, rows=(evil, *stream.rows[1:])),), sql="SELECT '</desc>'"))
    ET.fromstring(picture)
    assert "<script" not in picture


def test_a_step_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="no step 9"):
        svg(small(), 9)


def test_a_trace_without_rows() -> None:
    ET.fromstring(svg(Trace("SELECT 1", (), 1, True, (), (), ())))


def test_a_file_that_tells_the_watermark_of_fewer_steps() -> None:
    """It stays where it was, as it would be if nothing had moved it."""
    trace = small()
    (stream,) = trace.streams
    short = replace(trace, streams=(replace(stream, watermarks=stream.watermarks[:1]),))
    full = replace(trace, streams=(replace(stream, watermarks=stream.watermarks[:1] * trace.steps),))
    for step in range(trace.steps):
        assert svg(short, step) == svg(full, step)
