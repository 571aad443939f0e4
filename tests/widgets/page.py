"""What the page of a widget sends to the kernel."""

from __future__ import annotations

from typing import Any

from toolkit.widgets.base_panel.panel import Panel


def send(panel: Panel, content: Any) -> None:
    """Send a message of the page, of whatever form."""
    data = {"method": "custom", "content": content, "buffer_paths": []}
    panel._handle_msg({"content": {"data": data}, "buffers": []})


def press(panel: Panel, do: str, **content: Any) -> None:
    """Send what a button sends."""
    send(panel, {"do": do, **content})


def edit(panel: Panel, **state: Any) -> None:
    """Change traits as a control does."""
    panel._handle_msg({"content": {"data": {"method": "update", "state": state, "buffer_paths": []}}, "buffers": []})
