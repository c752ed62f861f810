"""The table of counters that a notebook shows."""

from panes.spark.counters_table import Counters, shown


def test_a_row_for_each_counter() -> None:
    html = Counters({"rows_in": 1200, "late_rows": 0, "<b>": 1})._repr_html_()
    assert "<td>rows_in</td><td>1,200</td>" in html and "&lt;b&gt;" in html and "<b>" not in html
    assert '<tr class="panes-none"><td>late_rows</td>' in html
    assert html.count("<tr") == html.count("</tr>") == 4


def test_before_the_first_micro_batch() -> None:
    assert Counters() == {} and "no micro-batch yet" in Counters()._repr_html_()


def test_times_that_python_has_not() -> None:
    assert shown("watermark", -(10**18)).endswith("µs")
