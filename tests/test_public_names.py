"""The public names: adding one is a decision, losing one breaks people's programs."""

from __future__ import annotations

import pytest

import toolkit

NAMES = {
    "AsyncBuilder",
    "AsyncSession",
    "Builder",
    "Environment",
    "LOCAL",
    "Limits",
    "MAINNET",
    "Market",
    "Order",
    "Product",
    "Receipt",
    "Session",
    "TESTNET",
    "ToolkitError",
    "Wallet",
    "__version__",
    "ask",
    "checks",
    "class_room",
    "connect",
    "errors",
    "gym",
    "join",
    "learn",
    "margin",
    "orders",
    "plots",
    "products",
    "report",
    "research",
    "run_results",
    "runs",
    "widgets",
}


def test_public_names_are_these() -> None:
    assert set(toolkit.__all__) == NAMES
    assert dir(toolkit) == sorted(toolkit.__all__)


def test_lazy_names_resolve_and_unknown_ones_say_so() -> None:
    for name in toolkit.__all__:
        assert getattr(toolkit, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        toolkit.__getattr__("nonsense")
