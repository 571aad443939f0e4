"""Market data: bars, events of books and trades from files, recordings, and their replay as a venue's market."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...extras import on_first_use

_HOMES = {
    "Events": "events",
    "Kind": "event_array",
    "check": "quality",
    "convert": "event_files",
    "load": "loading",
}
"""Public name → module that holds it. Loaded on first use, because they need pandas."""

__all__ = sorted(_HOMES)

if TYPE_CHECKING:
    from .event_array import Kind as Kind
    from .event_files import convert as convert
    from .events import Events as Events
    from .loading import load as load
    from .quality import check as check

__getattr__ = on_first_use(__name__, _HOMES)
