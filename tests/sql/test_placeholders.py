"""Placeholders are handed out once each and never clash with a user's column."""

from hypothesis import given
from hypothesis import strategies as st

from panes.sql.placeholders import ColPlaceholderAllocator


def test_in_order() -> None:
    names = ColPlaceholderAllocator()
    assert [names.allocate() for _ in range(3)] == ["col_1", "col_2", "col_3"]


@given(st.sets(st.integers(1, 20)), st.integers(1, 20))
def test_never_reserved_never_twice(taken: set[int], count: int) -> None:
    reserved = {f"COL_{number}" for number in taken}
    names = ColPlaceholderAllocator(reserved)
    given_out = [names.allocate() for _ in range(count)]
    assert len(set(given_out)) == count
    assert not {name.upper() for name in given_out} & reserved
