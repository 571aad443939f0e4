"""The books on one sheet: they close, and say who paid for whom."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from tests.venue.balance_sheet import Audit, Burden, audit
from tests.venue.invariants import Watch
from tests.venue.play import BTC, MICRO, Play
from tests.venue.storms import Storm, storm_core
from toolkit.venue.risk import ledger
from toolkit.venue.risk.audit import BOOK, COUNTERPARTY
from toolkit.venue.risk.ledger import INSURANCE, LP_VAULT


def ruined(**config: int) -> Play:
    play = Play(**config)
    play.oracle(60_000)
    play.fund(3_036, "ann")
    play.fund(40_000, "bob")
    play.trade("ann", "bob", "1", 60_000)
    play.oracle(50_000)
    return play


def test_the_lp_vault_is_named_for_what_it_paid() -> None:
    books = audit(ruined().core)
    assert books.closed
    [burden] = books.burdens
    assert (burden.by, burden.payer, burden.amount, burden.product) == ("LP vault", LP_VAULT, 7_000 * MICRO, BTC)
    assert books.paid_by == {"LP vault": 7_000 * MICRO}
    assert f"7000 USDC of the loss of {Play.address('ann')} was paid by LP vault" in str(books)
    assert f"{'difference':<28}{'0.000000':>28}" in str(books)
    assert f"{'paid by LP vault':<28}{'7,000.000000':>28}" in str(books)


def test_deleveraged_counterparts_are_named_with_what_it_cost_them() -> None:
    play = ruined(lp_capital=0)
    [burden] = audit(play.core).burdens
    assert (burden.by, burden.payer, burden.amount) == ("ADL", play.address("bob"), 7_000 * MICRO)
    assert (burden.time, burden.bankrupt, burden.product) == (play.now, play.address("ann"), BTC)
    assert f"of the loss of {play.address('ann')} was paid by {play.address('bob')}" in str(audit(play.core))


@pytest.mark.parametrize(
    ("worse_ticks", "where", "cost"),
    [(1, COUNTERPARTY, 2_000_000), (0, COUNTERPARTY, None), (-1, COUNTERPARTY, None), (1, BOOK, None)],
)
def test_only_a_counterpart_that_closes_worse_than_at_mark_bears_something(
    worse_ticks: int, where: str, cost: int | None
) -> None:
    play = ruined(lp_capital=0)
    steps = play.core.state.history.liquidations.records
    [at] = [at for at, step in enumerate(steps) if step.where == COUNTERPARTY]
    price = steps[at].mark + worse_ticks * steps[at].side
    unit = play.core.products[steps[at].product].unit
    steps[at] = msgspec.structs.replace(steps[at], price=price, quantity=2_000_000 // unit, where=where)
    assert [burden.amount for burden in audit(play.core).burdens] == ([] if cost is None else [cost])


def test_nothing_is_said_where_nobody_went_under() -> None:
    play = Play()
    play.fund(10, "ann")
    text = str(audit(play.core))
    play.withdraw("ann", "3.5")
    assert f"{'withdrawals':<28}{'-3.500000':>28}" in str(audit(play.core))
    assert text.endswith("no account lost more than it had")
    assert f"{'users':<28}{'10.000000':>28}" in text


def test_a_storm_that_ruins_many_ends_with_closed_books_and_names_all_payers() -> None:
    payers: set[str] = set()
    for seed in range(4):
        core = storm_core(seed, lp_capital=20_000 * MICRO * (seed % 2))
        storm, watch = Storm(core, seed), Watch(core)
        for command in itertools.chain(storm.commands(400), storm.crash()):
            watch.apply(command)
        books = audit(core)
        assert books.closed, str(books)
        payers |= set(books.paid_by)
        given = [entry for entry in ledger.entries(core, LP_VAULT) if entry.kind == ledger.BANKRUPTCY]
        lost = -sum(entry.amount for entry in given)
        assert books.paid_by.get("LP vault", 0) == lost
        assert books.paid_by.get("insurance", 0) == -core.state.accounts[INSURANCE].balance
    assert payers >= {"LP vault", "ADL"}


def test_money_is_shown_by_who_holds_it_and_a_hole_is_not_closed() -> None:
    play = ruined()
    play.fund(100, "cat")
    play.isolated("cat")
    play.fund(50, "mia")
    play.account("mia").kind = "market"
    play.trade("cat", "bob", "0.01", 50_000)
    holdings = dict(audit(play.core).holdings)
    assert holdings["isolated margins"] == play.position("cat").assigned == 25 * MICRO
    assert holdings["simulated participants"] == 50 * MICRO
    assert holdings["users"] == sum(play.balance(name) for name in ("ann", "bob", "cat"))
    assert holdings["LP vault"] == play.balance(LP_VAULT)
    assert holdings["vaults"] == 0
    play.account("ann").balance += 3
    assert (audit(play.core).difference, audit(play.core).closed) == (3, False)
    play.account("ann").balance -= 8
    assert (audit(play.core).difference, audit(play.core).closed) == (-5, False)


def test_what_each_kind_of_payer_bore_is_added_up() -> None:
    bore = (("ADL", 5), ("insurance", 7), ("ADL", 11))
    books = Audit(0, 0, (), tuple(Burden(1, "0xa", BTC, "0xb", by, amount) for by, amount in bore))
    assert books.paid_by == {"ADL": 16, "insurance": 7}
