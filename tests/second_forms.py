"""The second forms: every rule that is implemented twice, because its plain form is too slow where it runs most.

A rule has one implementation. A second form is allowed only as a row of `SECOND_FORMS`: what it gains (measured) and
the differential test that holds both forms together over thousands of cases. In the code, a comment marks it, on the
line above its definition or inside it:

    # Second form: <rule>

`test_second_forms` holds this table against the code: an unlisted mark and an unmarked row both fail.
"""

from __future__ import annotations

from typing import NamedTuple


class SecondForm(NamedTuple):
    """One rule that is implemented twice. An object is written "package.module:name" or "package.module:Class.name"."""

    rule: str
    """What both forms compute, in the words of the mark."""
    first: str
    """The plain form, which decides."""
    second: str
    """The quick form, which carries the mark."""
    gain: float
    """How many times as fast the work named in `measured` is with the second form."""
    measured: str
    """What was measured, and how."""
    test: str
    """The differential test: "tests/path/test_file.py::test_name"."""


SECOND_FORMS = (
    SecondForm(
        "a market order trades at the house's quote",
        "toolkit.research.backtesting.broker:SimulatedBroker._place",
        "toolkit.research.backtesting.broker:SimulatedBroker._fill_market_order",
        1.25,
        "a backtest of SMA 5/30 over 45,031 bars with 2,133 orders, against the core's own placing and matching",
        "tests/research/backtesting/test_quiet.py::test_market_orders_filled_directly_are_those_that_the_core_would_fill",
    ),
    SecondForm(
        "a bar in which nothing can happen is not walked",
        "toolkit.research.backtesting.bar_matching:BarMatcher.move_price",
        "toolkit.research.backtesting.bar_matching:BarMatcher.update_wake_prices",
        22.0,
        "a backtest of SMA 50/200 over 45,031 bars, against every_point=True",
        "tests/research/backtesting/test_quiet.py::test_the_quick_walk_ends_in_the_same_state_on_many_roads",
    ),
)
