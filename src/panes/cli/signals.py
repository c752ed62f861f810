"""Ctrl-C and SIGTERM, as a wish that a run looks at."""

from __future__ import annotations

import signal
from types import FrameType


class Stop:
    """Ctrl-C and SIGTERM stop a run between two looks at its queries; the second one ends the process at once."""

    signal: int | None = None

    def __enter__(self) -> Stop:
        self._before = {one: signal.signal(one, self._receive) for one in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *error: object) -> None:
        for one, before in self._before.items():
            signal.signal(one, before)

    def rearm(self) -> None:
        """Take Ctrl-C back from Spark, which on its start makes it cancel all jobs and raise KeyboardInterrupt."""
        signal.signal(signal.SIGINT, signal.SIG_DFL if self.signal == signal.SIGINT else self._receive)

    def asked(self) -> bool:
        return self.signal is not None

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        signal.signal(number, signal.SIG_DFL)
