"""The values of open sessions where they can be many: kept apart, so that a row adds to them and rewrites none.

    sessions   a, first and last time, 7             written anew when a row comes to it
    parts      7: [1, 2]    9: [5]    7: [3]         each micro-batch adds its own: see `OpenGroups`

Sessions go by numbers. Those that become one go by the lowest, and the parts of the others are moved to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from panes.kernels.aggregates.accumulator import AS_IS, Accumulator
from panes.kernels.aggregates.grouping import Fold, Grouping
from panes.kernels.state.key_hash import Flags
from panes.kernels.windows.open_groups import WINDOW, Numbers, OpenGroups, of, windows, without

LOWEST = Fold(Accumulator("min($x) $w", "min($s)", "$s", "bigint", AS_IS), (WINDOW,), None, WINDOW)


@dataclass(frozen=True)
class Numbering:
    """The number that each part goes by, and that of the session which it is in now. Parts of late rows are in none."""

    part: Numbers
    session: Numbers

    @staticmethod
    def nothing() -> Numbering:
        return Numbering(np.zeros(0, np.int64), np.zeros(0, np.int64))

    @staticmethod
    def lowest(parts: Numbers, sessions: Numbers, is_open: Flags) -> Numbering:
        """Of parts that are in these sessions, which are numbered from 0."""
        least = np.full(sessions.max(initial=-1) + 1, np.iinfo(np.int64).max)
        np.minimum.at(least, sessions, parts)
        return Numbering(parts[is_open], least[sessions][is_open])

    @cached_property
    def moved(self) -> Numbers:
        moved: Numbers = self.part[self.part != self.session]
        return moved

    def applied(self, groups: pa.Table) -> pa.Table:
        """Groups under the numbers of the sessions that they are in; others stay as they are."""
        found = windows(groups).copy()
        order = np.argsort(self.part)
        known = np.isin(found, self.part)
        found[known] = self.session[order][np.searchsorted(self.part[order], found[known])]
        return groups.set_column(groups.column_names.index(WINDOW), WINDOW, pa.array(found))


@dataclass(frozen=True)
class SessionValues:
    """`groups` are by WINDOW; `count` is how many sessions are open after the step, and `alive` tells which."""

    groups: OpenGroups
    count: int
    alive: Callable[[], Numbers]

    def settled(self, fresh: pa.Table | None, numbering: Numbering, closed: Numbers) -> tuple[pa.Table, OpenGroups]:
        """The values of the sessions that have closed, one row each; and what is kept with the fresh parts."""
        found, groups = self.groups.take(np.union1d(numbering.moved, closed), self.count, self.alive)
        if fresh is not None:
            found = [*found, of(fresh.select([WINDOW, *self._states]), numbering.part)]
        if not found:
            return pa.table({WINDOW: pa.array([], pa.int64())}), groups
        parts = numbering.applied(pa.concat_tables(found, promote_options="permissive"))
        grouping = self.groups.grouping
        kept = groups.add(without(parts, closed), self.count, self.alive) if self.count else OpenGroups(grouping)
        return grouping.merged(of(parts, closed)), kept

    @property
    def _states(self) -> list[str]:
        return [fold.state for fold in self.groups.grouping.folds]


def by_number(grouping: Grouping) -> Grouping:
    return replace(grouping, by=(WINDOW,))


def with_values(sessions: pa.Table, values: pa.Table) -> pa.Table:
    """Sessions with the values that go by their numbers."""
    order = np.argsort(windows(values))
    places = pa.array(order[np.searchsorted(windows(values)[order], windows(sessions))])
    for name in (name for name in values.column_names if name != WINDOW):
        sessions = sessions.append_column(name, values[name].take(places))
    return sessions
