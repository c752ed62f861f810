"""Results beside each other."""

from __future__ import annotations

from panes.play.comparing import compared
from panes.play.running import kills

A, B = {"k": "a", "n": 1}, {"k": "b", "n": 2.0}


def test_the_order_of_rows_does_not_show_and_their_number_does() -> None:
    assert compared("", [A, B], [B, A]).same
    found = compared("", [A, A], [A, B])
    assert (found.same, found.only_stream, found.only_batch) == (False, (A,), (B,))


def test_a_changelog_is_what_it_adds_up_to() -> None:
    changes = [
        {"_change_type": change, "n": n}
        for change, n in (("insert", 1), ("update_preimage", 1), ("update_postimage", 2))
    ]
    assert compared("", changes, [{"n": 2}]).same


def test_a_deletion_of_what_is_not_there_is_shown() -> None:
    found = compared("", [{"_change_type": "delete", "n": 1}], [])
    assert found.only_stream == ({"_change_type": "delete", "n": 1},)


def test_kills_are_in_micro_batches_that_there_are() -> None:
    for seed in range(50):
        found = kills(4, seed)
        assert found == sorted(set(found)) and 1 <= len(found) <= 3 and set(found) <= set(range(4))
