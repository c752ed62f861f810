"""Answers that are known already: to the same question they come at once, as when a change is undone."""

from __future__ import annotations

import json
from collections import OrderedDict

from panes.play.request import RunRequest
from panes.play.session import Line

MOST = 32


class Known:
    """The last answers, by what was asked."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, Line] = OrderedDict()

    def get(self, asked: RunRequest) -> Line | None:
        return self._lines.get(_key(asked))

    def put(self, asked: RunRequest, line: Line) -> None:
        self._lines[_key(asked)] = line
        if len(self._lines) > MOST:
            self._lines.popitem(last=False)


def _key(asked: RunRequest) -> str:
    return json.dumps([asked.document.plain(), asked.way.value, asked.compare, asked.seed], sort_keys=True)
