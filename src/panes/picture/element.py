"""Elements of SVG as text: escaped, with numbers that are written in one way."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

Attribute = str | int | float | None


def element(tag: str, *children: str, **attributes: Attribute) -> str:
    """An element; `_` in a name of an attribute is `-`, one at its end is left out, and None is no attribute.

    >>> element("text", text("a < b"), x=1.25, class_="data", data_row=3)
    '<text x="1.2" class="data" data-row="3">a &lt; b</text>'
    """
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items() if value is not None}
    said = "".join(f" {name}={quoteattr(number(value))}" for name, value in named.items())
    return f"<{tag}{said}>{''.join(children)}</{tag}>" if children else f"<{tag}{said}/>"


def text(value: str) -> str:
    """A text between tags; what XML cannot hold is shown as what it is."""
    return escape("".join(one if one.isprintable() or one in "\n\t" else "\ufffd" for one in value))


def title(value: str) -> str:
    return element("title", text(value))


def number(value: str | float) -> str:
    """A number with at most one digit after its point.

    >>> number(3.0), number(2.34), number(-0.01)
    ('3', '2.3', '0')
    """
    if isinstance(value, str):
        return "".join(one if one.isprintable() or one in " \n\t" else "\ufffd" for one in value)
    rounded = f"{value:.1f}".rstrip("0").rstrip(".")
    return "0" if rounded == "-0" else rounded
