"""Expected rows against actual ones."""

from __future__ import annotations

from panes.testing.differences import rows_differ


def test_rows_of_a_micro_batch_are_in_any_order() -> None:
    assert rows_differ("k\na\nb\n---\nc", "k\nb\na\n---\nc") is None


def test_a_row_in_another_micro_batch_is_missing_there_and_too_many_here() -> None:
    assert rows_differ("k | n\na | 1\n---\nb | 2", "k | n\n---\na | 1\nb | 2") == (
        "micro-batch 1:\n"
        "  k | n\n"
        "- a | 1\n"
        "micro-batch 2:\n"
        "  k | n\n"
        "  b | 2\n"
        "+ a | 1\n"
        "1 row is missing (-), 1 is too many (+)"
    )


def test_equal_rows_are_counted() -> None:
    difference = rows_differ("k\na\na", "k\na")
    assert difference is not None and difference.endswith("1 row is missing (-)")


def test_other_columns() -> None:
    difference = rows_differ("k | n\na | 1", "k | m\na | 1")
    assert difference is not None and "the columns are k | m" in difference


def test_no_rows_where_some_are_expected() -> None:
    assert rows_differ("k\na", "(no rows)") == "  k\n- a\n1 row is missing (-)"
    assert rows_differ("", "k\na") == "  k\n+ a\n1 row is too many (+)"
    assert rows_differ("", "(no rows)") is None


def test_another_number_of_micro_batches() -> None:
    difference = rows_differ("k\na\n---\n---", "k\na\n---")
    assert difference is not None and "there are 2 micro-batches, and expected are 3" in difference


def test_floating_point_numbers_are_equal_to_nine_digits_and_texts_are_not() -> None:
    assert rows_differ("s\n0.3", "s\n0.30000000000000004", {"s"}) is None
    assert rows_differ("s\n1", "s\n1.0", {"s"}) is None
    assert rows_differ("s\n1.1", "s\n1.10") is not None
    assert rows_differ("s\n0.3", "s\n0.301", {"s"}) is not None
    assert rows_differ("s\nNULL", "s\n0.0", {"s"}) is not None
