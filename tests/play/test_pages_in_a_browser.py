"""The page in a real Chromium: write a query, fix an error, step, hover, cut anew, kill, save.

A small dose runs on the double of Spark's runtime; the whole walk on Spark is slow.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from panes.play.comparing import Comparison
from panes.play.document import Document
from panes.play.examples import CLICKS, rows_of
from panes.play.request import RunRequest, Way
from panes.play.running import Outcome, run
from panes.trace import from_json
from play.on_double import run_on_double
from play.serving import play, serving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONG = 40_000  # milliseconds: machines are busy
ROWS = """
at       page n
12:00:01 home 1
12:00:08 home 3
---
12:00:17 home 2
---
12:00:04 shop 9
"""
QUERY = "SELECT page, sum(n) AS clicks\nFROM clicks\nGROUP BY tumblingwindow('ss', 10), page;\n"
DOCUMENT = Document(CLICKS.replace("5 SECONDS", "0 SECONDS") + QUERY, (rows_of("clicks", ROWS),))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 860}, accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(LONG)
    expect.set_options(timeout=LONG)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if "//127.0.0.1:" not in request.url else None)
    yield page
    context.close()
    assert [one for one in said if not one.startswith(("blob:", "data:"))] == []  # nothing failed, nothing left


def on_double(asked: RunRequest, spark: Any, tell: Any) -> Outcome:
    """A comparison that shows a difference where the test asks for shards."""
    found = run_on_double(asked, spark, tell)
    if not asked.compare:
        return found
    only = ({"page": "<i>home</i>", "clicks": 1},) if asked.way is Way.SHARDS else ()
    return replace(found, comparison=Comparison(asked.way.value, 2, only, (), 1))


PASTE = """(place, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  place.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""


def write(page: Page, text: str) -> None:
    """Paste a text over all that stands there."""
    editor = page.locator(".cm-content")
    editor.click()
    page.keyboard.press("Control+a")
    editor.evaluate(PASTE, text)


def marks(page: Page, selector: str) -> Any:
    return page.locator(f"#drawing {selector}")


def test_a_query_is_written_and_an_error_fixed_and_stepped_through(page: Page) -> None:
    with serving(play(on_double, DOCUMENT)) as url:
        page.goto(url)
        expect(page.locator("#results tbody tr")).to_have_count(2)
        assert "token" not in page.url
        expect(page.locator("tr.row .fate.late")).to_have_text(["late"])

        write(page, DOCUMENT.sql.replace("sum(n)", "sum(m)"))
        expect(page.locator("#problem")).to_contain_text("unknown-column")
        expect(page.locator(".cm-lintRange-error")).to_have_text("m")
        write(page, DOCUMENT.sql.replace("sum(n)", "max(n)"))
        expect(page.locator("#problem")).to_be_hidden()
        expect(page.locator("#results tbody tr").last).to_contain_text("3")

        page.locator("h1").click()
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#step-name")).to_have_text("Micro-batch 3 of 3")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#results tbody tr")).to_have_count(0)
        expect(marks(page, "[data-from='1']:not(.away)")).to_have_count(0)
        page.locator("#forward").click()
        expect(page.locator("#results tbody tr")).to_have_count(1)

        page.locator("#results tbody tr").first.hover()
        expect(page.locator("tr.row.lit")).to_have_count(2)
        assert marks(page, "[data-row].lit").count() >= 2
        page.locator("tr.row").first.hover()
        expect(page.locator("#results tr.lit")).to_have_count(1)


def test_rows_are_edited_moved_and_compared(page: Page, tmp_path: Path) -> None:
    with serving(play(on_double, DOCUMENT)) as url:
        page.goto(url)
        expect(page.locator("#results tbody tr")).to_have_count(2)
        cell = page.get_by_label("n of row 1", exact=True)
        cell.fill("<b>x</b>")
        expect(page.locator("input.wrong")).to_have_count(1)
        cell.fill("40")
        expect(page.locator("#results tbody")).to_contain_text("43")
        cell.focus()
        page.keyboard.press("Alt+ArrowDown")
        page.keyboard.press("Alt+ArrowDown")  # the focus goes with the row
        expect(page.locator("tbody[data-batch='1'] tr.row")).to_have_count(2)
        page.locator("tbody[data-batch='0'] .grip").first.drag_to(page.locator("tbody[data-batch='3']"))
        expect(page.locator("tbody[data-batch='3'] tr.row")).to_have_count(1)
        page.get_by_role("button", name="Delete row 1").click(force=True)
        expect(page.locator("tr.row")).to_have_count(3)

        page.get_by_role("button", name="Cut anew").click()
        expect(page.locator("#verdict")).to_contain_text("The same as the batch")
        page.get_by_role("button", name="More shards").click()
        expect(page.locator("#verdict table")).to_contain_text("<i>home</i>")
        assert page.locator("#verdict i").count() == 0

        with page.expect_download() as saved:
            page.locator("#save").click()
        saved.value.save_as(tmp_path / "play.panes.json")
        assert from_json((tmp_path / "play.panes.json").read_text()).sql == DOCUMENT.sql
        with page.expect_download() as drawn:
            page.locator("#svg").click()
        drawn.value.save_as(tmp_path / "play.svg")
        assert "nonce" not in (tmp_path / "play.svg").read_text()
        page.get_by_label("n of row 1", exact=True).fill("7")
        expect(page.locator("#results tbody")).to_contain_text("7")
        page.locator("#file").set_input_files(tmp_path / "play.panes.json")
        expect(page.get_by_label("n of row 1", exact=True)).not_to_have_value("7")
        expect(page).to_have_title("play.panes.json · panes play")


@pytest.mark.slow
@pytest.mark.spark
def test_the_whole_walk_on_spark(page: Page, spark: SparkSession, tmp_path: Path) -> None:
    def on_spark(asked: RunRequest, _: Any, tell: Any) -> Outcome:
        return run(asked, spark, tell)

    with serving(play(on_spark, DOCUMENT)) as url:
        page.goto(url)
        expect(page.locator("#results tbody tr")).to_have_count(2)
        for name in ("Cut anew", "Shuffle", "Kill and restart", "More shards"):
            page.get_by_role("button", name=name).click()
            expect(page.locator("#verdict")).to_be_hidden()
            expect(page.locator("#verdict")).to_contain_text("The same as the batch")
        with page.expect_download() as saved:
            page.locator("#save").click()
        saved.value.save_as(tmp_path / "play.panes.json")
        assert json.loads((tmp_path / "play.panes.json").read_text())["results"]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_example_is_drawn_light_and_dark(browser: Browser, scheme: Any) -> None:
    page = browser.new_page(color_scheme=scheme)
    page.set_default_timeout(LONG)
    with serving(play(on_double, DOCUMENT)) as url:
        page.goto(url)
        for number in range(page.locator("#examples option").count() - 1):
            page.locator("#examples").select_option(str(number))
            expect(page.locator("#picture-pane.stale")).to_have_count(1)
            expect(page.locator("#picture-pane.stale")).to_have_count(0, timeout=LONG)
            expect(page.locator("#problem")).to_be_hidden()
            assert page.locator("#drawing svg.panes").count() == 1
    page.close()


def test_a_page_without_its_token_shows_nothing(browser: Browser) -> None:
    page = browser.new_page()
    with serving(play(on_double, DOCUMENT)) as url:
        answer = page.goto(url.partition("?")[0])
        assert answer is not None and answer.status == 403
        with pytest.raises(Error):
            page.evaluate("fetch('/api/begin').then((answer) => answer.ok || Promise.reject(answer.status))")
    page.close()
