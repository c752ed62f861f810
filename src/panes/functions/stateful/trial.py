"""Whether the state of a decorated function can be kept: tried with a fresh one before any query runs."""

from __future__ import annotations

from panes.errors import PanesError
from panes.functions.stateful.contract import StatefulFunction


def try_state(function: StatefulFunction) -> None:
    """Refuse a function whose fresh state is not the same after it was saved and loaded.

    A state that is saved in another way each time (a set in its order of the day, a clock, an address) would make a
    restart visible in the results.
    """
    try:
        first, second = function.create_instance(), function.create_instance()
        saved = first.save()
        if not isinstance(saved, bytes):
            raise _unfit(function, f"save gave {saved!r:.100}, not bytes")
        if second.save() != saved:
            raise _unfit(function, "two fresh states are saved as different bytes")
        second.load(saved)
        if second.save() != saved:
            raise _unfit(function, "what load takes up is not what save gave")
    except PanesError:
        raise
    except Exception as error:
        raise _unfit(function, repr(error)) from error


def _unfit(function: StatefulFunction, why: str) -> PanesError:
    hint = "A state is saved as the same bytes each time, and load takes up just what save gave."
    return PanesError("function-failed", f"the state of {function.name} cannot be kept: {why}", None, hint)
