"""The table of kernel functions."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panes.functions.stateful import BUILT_INS
from panes.kernels.stateful.table import KERNEL_FUNCTIONS

from .definitions import DEFINITIONS, X, at_once, call, outputs, typed


def test_every_built_in_function_has_a_kernel_function_and_a_definition() -> None:
    names = {row.name for row in BUILT_INS}
    assert set(KERNEL_FUNCTIONS) == names
    assert names <= set(DEFINITIONS)


def test_an_unknown_function_is_refused() -> None:
    with pytest.raises(ValueError, match="no stateful function lead"):
        outputs(at_once([call("lead", X)]), [typed([1], pa.int64())])
