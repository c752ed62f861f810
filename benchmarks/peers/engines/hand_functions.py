"""What people write for a key: the rows that the watermark has passed in, results and what is carried on out.

Times and values are sorted; `carry` is None for a new key. None of this knows Spark.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Times = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]
Result = tuple[dict[str, Any], Any]
SPAN = 10_000_000


def lag(times: Times, values: Values, carry: Any) -> Result:
    before = np.concatenate([[np.nan if carry is None else carry], values[:-1]]) if len(values) else values
    return {"ts": times, "v": values, "r": before}, float(values[-1]) if len(values) else carry


def row_number(times: Times, values: Values, carry: Any) -> Result:
    count = carry or 0
    return {"ts": times, "v": values, "r": np.arange(count + 1, count + len(times) + 1)}, count + len(times)


def _recent(times: Times, values: Values, carry: Any) -> tuple[Values, Times, Any]:
    """Sum and count over the last ten seconds at each row; those rows are carried on."""
    all_times, all_values = (
        (times, values)
        if carry is None
        else (
            np.concatenate([carry[0], times]),
            np.concatenate([carry[1], values]),
        )
    )
    ends, starts = np.searchsorted(all_times, times, "right"), np.searchsorted(all_times, times - SPAN)
    # A sum of its own for each row: a difference of running sums would lose digits.
    sums = np.array([all_values[start:end].sum() for start, end in zip(starts, ends, strict=True)])
    reached = all_times >= (all_times[-1] - SPAN if len(all_times) else 0)
    return sums, ends - starts, (all_times[reached], all_values[reached])


def range_sum(times: Times, values: Values, carry: Any) -> Result:
    sums, _, carry = _recent(times, values, carry)
    return {"ts": times, "v": values, "r": sums}, carry


def sliding(times: Times, values: Values, carry: Any) -> Result:
    sums, counts, carry = _recent(times, values, carry)
    return {"ts": times, "s": sums, "n": counts}, carry


def state_window(times: Times, values: Values, carry: Any) -> Result:
    """From a value above 0.9 to the next below 0.1; the open window is carried on."""
    opens, total, count = carry or (0, 0.0, 0)
    out = []
    for time, value in zip(times.tolist(), values.tolist(), strict=True):
        if count:
            total, count = total + value, count + 1
            if value < 0.1:
                out.append((opens, time, total, count))
                count = 0
        elif value > 0.9:
            opens, total, count = time, value, 1
    found = np.array(out, dtype=[("opens", "i8"), ("closes", "i8"), ("s", "f8"), ("n", "i8")])
    return {name: found[name] for name in ("opens", "closes", "s", "n")}, (opens, total, count)


def keep_latest(times: Times, values: Values, carry: Any) -> Result:
    """The last row, if there is one, and how often it was replaced."""
    number = (carry or 0) + 1
    return {"ts": times[-1:], "v": values[-1:], "_order": np.full(len(times[-1:]), number)}, number


def over_changelog(changes: pd.DataFrame, carry: Any) -> tuple[pd.DataFrame, Any]:
    """All rows of the key are carried on; the sums of all are computed anew, and those that differ come out."""
    before = pd.DataFrame({"id": [], "v": [], "r": []}) if carry is None else carry
    rows = before.set_index("id")["v"]
    last = changes.drop_duplicates("id", keep="last").set_index("id")
    gone = last.index[last["kind"].isin(["delete", "update_preimage"])]
    rows = pd.concat([rows.drop(rows.index.intersection(last.index)), last["v"].drop(gone)]).sort_index()
    after = pd.DataFrame({"id": rows.index.astype("int64"), "v": rows.to_numpy(), "r": _last_eleven(rows.to_numpy())})
    both = before.merge(after, how="outer", on=["id", "v", "r"], indicator=True)
    out = both[both["_merge"] != "both"]
    kinds = out["_merge"].map({"left_only": "delete", "right_only": "insert"}).astype(str)
    return out[["id", "v", "r"]].assign(_change_type=kinds), after


def _last_eleven(values: Values) -> Values:
    """The sum over a row and ten rows before it, each on its own."""
    padded = np.concatenate([np.zeros(10), values])
    sums: Values = np.lib.stride_tricks.sliding_window_view(padded, 11).sum(axis=1)
    return sums


EVENT_FUNCTIONS = {
    "lag": (lag, "ts timestamp, v double, r double"),
    "row_number": (row_number, "ts timestamp, v double, r long"),
    "range_10s": (range_sum, "ts timestamp, v double, r double"),
    "sliding": (sliding, "ts timestamp, s double, n long"),
    "statewindow": (state_window, "opens timestamp, closes timestamp, s double, n long"),
}
