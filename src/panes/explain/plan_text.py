"""The text of EXPLAIN, which notebooks show as a drawn tree."""

from __future__ import annotations

from panes.explain.html import drawn
from panes.explain.table import WIDTH, Row, table


class PlanText(str):
    """A text as any other; it also knows the plans that it is about.

    >>> text = PlanText.of({"logical plan": Row("DataSource", {"stream": "s"})})
    >>> print(text)
    logical plan
    id           | info
    -------------+----------
    DataSource_1 | stream=s
    >>> "<details" in text._repr_html_()
    True
    """

    __slots__ = ("plans",)
    plans: dict[str, Row]

    @classmethod
    def of(cls, plans: dict[str, Row]) -> PlanText:
        """The text of some plans, by their titles."""
        made = cls(_text(plans, WIDTH))
        made.plans = plans
        return made

    def fitted(self, width: int) -> str:
        """The text in lines of this width."""
        return _text(self.plans, width)

    def __repr__(self) -> str:
        """Itself, so that a plan that ends a cell or is typed at a prompt can be read."""
        return str(self)

    def _repr_html_(self) -> str:
        return drawn(self.plans)

    def __reduce__(self) -> tuple[object, ...]:
        return PlanText.of, (self.plans,)


def _text(plans: dict[str, Row], width: int) -> str:
    return "\n\n".join(f"{title}\n{table(plan, width)}" for title, plan in plans.items())
