"""Plans as nested HTML, for notebooks: lines and letters take the colour of the text around them, light or dark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from itertools import count

from panes.explain.table import Row, info_text, value_text

STYLE = """
.panes-plan { font-size: 13px; line-height: 1.5; }
.panes-plan summary { cursor: pointer; font-weight: 600; }
.panes-plan ul { list-style: none; margin: 0 0 0 9px; padding: 0 0 0 18px; border-left: 1px solid currentColor; }
.panes-plan details > ul { border-left: none; margin: 0; padding: 0; }
.panes-plan li { margin: 4px 0; padding: 0; }
.panes-node { display: inline-block; padding: 0 8px; border: 1px solid currentColor; border-radius: 4px; }
.panes-plan dl { display: grid; grid-template-columns: max-content auto; column-gap: 10px; margin: 2px 0 2px 9px; }
.panes-plan dt { grid-column: 1; font-weight: normal; opacity: 0.65; }
.panes-plan dd { grid-column: 2; margin: 0; font-family: monospace; overflow-wrap: anywhere; }
"""


def drawn(plans: Mapping[str, Row]) -> str:
    """Plans by their titles; the last one, which says what was decided, is open."""
    last = list(plans)[-1] if plans else ""
    parts = [_plan(title, plan, title == last) for title, plan in plans.items()]
    return f'<div class="panes-plan"><style>{STYLE}</style>{"".join(parts)}</div>'


def _plan(title: str, plan: Row, shown: bool) -> str:
    head = f"<details{' open' if shown else ''}><summary>{escape(title)}</summary>"
    return f"{head}<ul>{_node(plan, count(1))}</ul></details>"


def _node(row: Row, numbers: Iterator[int]) -> str:
    name = f'<span class="panes-node" title="{escape(info_text(row.info))}">{escape(row.node)}_{next(numbers)}</span>'
    facts = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value_text(value))}</dd>" for key, value in row.info.items())
    below = "".join(_node(one, numbers) for one in row.inputs)
    return f"<li>{name}{f'<dl>{facts}</dl>' if facts else ''}{f'<ul>{below}</ul>' if below else ''}</li>"
