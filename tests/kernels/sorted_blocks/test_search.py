"""Binary search for many values at once, against Python's own for one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from panes.kernels.sorted_blocks.search import less, not_more

KEYS = st.lists(st.binary(max_size=2))


@given(keys=KEYS, ends=KEYS)
def test_as_python_counts(keys: list[bytes], ends: list[bytes]) -> None:
    keys.sort()
    sorted_keys, wanted = pa.array(keys, pa.binary()), pa.array(ends, pa.binary())
    assert less(sorted_keys, wanted).tolist() == [bisect_left(keys, end) for end in ends]
    assert not_more(sorted_keys, wanted).tolist() == [bisect_right(keys, end) for end in ends]
