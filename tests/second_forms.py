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
        "tests/research/backtesting/test_quiet.py::test_the_quick_walk_ends_in_the_same_state",
    ),
    SecondForm(
        "a margin that surely lasts is not computed at each price",
        "toolkit.venue.risk.account_margin:cross_margin",
        "toolkit.research.backtesting.bar_matching:BarMatcher.keeps_margin",
        25.0,
        "a backtest of 60 symbols over 500 bars with 1,438 fills, against margins that are always computed",
        "tests/research/backtesting/test_quiet.py::test_a_portfolio_ends_in_the_same_state_as_with_every_point_also_through_liquidation",
    ),
    SecondForm(
        "what targets earn",
        "toolkit.research.backtesting.arrays:vectorised",
        "toolkit.research.backtesting.arrays:_measured_together",
        10,
        "three measures of 2,500 SMA crosses over 1,000 bars, against a run for each",
        "tests/research/backtesting/test_vectorised.py::test_measures_of_many_columns_are_those_of_each_run",
    ),
    SecondForm(
        "measures of an equity curve",
        "toolkit.research.analysis.metrics:measure",
        "toolkit.research.analysis.metrics:measure_columns",
        10,
        "as above: it is the other half of that work",
        "tests/research/backtesting/test_vectorised.py::test_measures_of_many_columns_are_those_of_each_run",
    ),
    SecondForm(
        "the maintenance margin of a notional",
        "toolkit.margin:maintenance_margin",
        "toolkit.venue.model.risk_index:RiskTable.maintenance",
        43,
        "one call for a BTCUSDC position of 62,450 USDC, in integers against Decimal",
        "tests/venue/risk/test_account_margin.py::test_maintenance_margin_is_the_formula_rounded_up",
    ),
    SecondForm(
        "the initial margin of an account's cross products",
        "toolkit.exposure:Standing.initial",
        "toolkit.venue.risk.account_margin:cross_margin",
        1.3,
        "the figures of an account with one position and one order, against a Standing for each product",
        "tests/venue/risk/test_money_storms.py::test_the_books_close_after_every_command_of_a_storm",
    ),
    SecondForm(
        "an order that even the most it could need leaves room for",
        "toolkit.venue.risk.order_margin:check_increase",
        "toolkit.venue.risk.order_margin:_fits_easily",
        1.12,
        "6,000 limit orders of 20 accounts, of which most trade, against the exact need of each",
        "tests/venue/risk/test_order_margin.py::test_what_fits_easily_fits_exactly",
    ),
    SecondForm(
        "a value of the wire",
        "toolkit.protocol.reads.wire_values:read",
        "toolkit.protocol.reads.wire_values:column",
        3.3,
        "proof of 500 fills: their needed fields by the column, against one value after the other",
        "tests/protocol/reads/test_ties.py::test_a_column_is_read_as_its_values_are",
    ),
    SecondForm(
        "time that concerns no user",
        "toolkit.venue.engine.core:Core.advance",
        "toolkit.venue.simulation.unwatched:pass_time",
        1.6,
        "four simulated hours of four products without users, against the processes instant by instant",
        "tests/venue/simulation/test_unwatched.py::test_nothing_tells_whether_time_was_passed_at_once",
    ),
)
