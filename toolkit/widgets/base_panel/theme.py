"""Colours of up and down. The defaults, blue and orange, can be distinguished by colour-blind people."""

from __future__ import annotations

import re

from ...errors import InputError
from .panel import Panel

_COLOR = re.compile(r"#[0-9a-fA-F]{3,8}|[a-zA-Z]{3,30}|(rgb|hsl)a?\([0-9.,%/ ]{5,40}\)")


def theme(up: str | None = None, down: str | None = None) -> dict[str, str]:
    """Set the colours of up (buy, profit) and down (sell, loss) for all widgets, including those already displayed.

    CSS colours, such as "#d62728" or "crimson"; None is the default (blue and orange). A sign or an arrow always
    accompanies the colour. Returns the colours set. Raises InputError for text that is not a colour.

    >>> theme(up="crimson", down="seagreen")  # as in East Asia
    {'up': 'crimson', 'down': 'seagreen'}
    >>> theme()
    {}
    """
    chosen = {name: color for name, color in (("up", up), ("down", down)) if color is not None}
    for name, color in chosen.items():
        if not _COLOR.fullmatch(color):
            raise InputError(
                f"{name} {color!r} is not a CSS colour, such as '#1f77b4' or 'crimson'",
                field=name,
                rule="CSS colour",
                value=color,
            )
    Panel.theme_colors = chosen
    for panel in list(Panel.open_panels):
        panel.colors = dict(chosen)
    return dict(chosen)
