"""What the page of a widget sends to the kernel."""

from __future__ import annotations

from typing import Any

from toolkit.widgets.base_panel.panel import Panel


def press(panel: Panel, do: str, **content: Any) -> None:
    """Send what a button sends."""
    data = {"method": "custom", "content": {"do": do, **content}, "buffer_paths": []}
    panel._handle_msg({"content": {"data": data}, "buffers": []})


def edit(panel: Panel, **state: Any) -> None:
    """Change traits as a control does."""
    panel._handle_msg({"content": {"data": {"method": "update", "state": state, "buffer_paths": []}}, "buffers": []})
