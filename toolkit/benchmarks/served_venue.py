"""The served venue with its journal at `full`: thirty simultaneous clients compared with one, and a class of thirty."""

from __future__ import annotations



