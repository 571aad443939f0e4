"""Numbers of the reasons for which orders are refused (txCode of a refused order; the words are in txMsg)."""

from __future__ import annotations

UNKNOWN_PRODUCT = 1001
PRE_TRADE_RULE = 1002
"""A rule of `checks`."""
CLIENT_ID_IN_USE = 1003
WRONG_SIDE = 1004
"""A *_CLOSE_HEDGE side in one-way mode, or a reducing order that names no closing side in hedge mode."""
NO_POSITION = 1005
"""A reducing order without anything to reduce."""
COVERED = 1006
"""Reduce-only orders cover the position already."""
UNKNOWN_ORDER = 1007
NOT_REPLACEABLE = 1008
BAD_BRACKET = 1009
PAUSED = 1012
MIN_VALUE = 1013
