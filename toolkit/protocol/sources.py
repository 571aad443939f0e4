"""Where a fact of the wire is from. Each declaration carries its mark, and docs/published.md is made from them."""

from __future__ import annotations

from enum import StrEnum


class Source(StrEnum):
    """The mark of a declaration: who says that the wire has it."""

    SPECIFICATION = "S"
    """The interface specification."""
    PUBLISHED = "P"
    """The exchange's documentation and OpenAPI files (April 2026)."""
    KIT = "K"
    """The exchange's Python SDK (June 2026) and its starter for agents."""
    LOCAL = "L"
    """A decision of the local venue, because the exchange publishes nothing."""


S, P, K, L = Source
