"""What the ticket knows of the account counts for longs and shorts, one-way and hedged, on the right side."""

from __future__ import annotations

from decimal import Decimal

import pytest

from toolkit.client.reads.derived_columns import net_size, pnl_of


@pytest.mark.parametrize(("long", "short"), [("0.3", "0"), ("0", "-0.2"), ("0", "0.2"), ("0.3", "-0.2")])
def test_a_position_of_both_legs_earns_what_its_net_size_does(long: str, short: str) -> None:
    entry, mark, sizes = Decimal(50_000), Decimal(60_000), (Decimal(long), Decimal(short))
    row = {"long_size": sizes[0], "short_size": sizes[1]}
    row |= {"long_entry_value": sizes[0] * entry, "short_entry_value": sizes[1] * entry}
    assert net_size(row) == sizes[0] - abs(sizes[1])
    assert pnl_of(row, mark) == net_size(row) * (mark - entry)
