"""No call of a session exceeds its limits: over all paths, both sides and modes, concurrently, and in doubt."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from tests.client.limits.world import BTC, ETH, MARGINS, MODES, MOST, NOTIONAL, RATE, World
from tests.support.cases import of_all
from tests.support.network import Network, cut, lose, nothing
from toolkit import Limits, orders
from toolkit.client.io.flow import subflow
from toolkit.errors import InputError, LimitReached, NotSent, OutcomeUnknown, ToolkitError, UnknownProduct
from toolkit.research import live
from toolkit.research.strategy import Strategy
from toolkit.session import Session
from toolkit.venue import development
from toolkit.venue.local import LocalVenue


def run_flow(world: World, flow: Any) -> str:
    try:
        world.s._driver.run(flow)
    except ToolkitError as error:
        return type(error).__name__
    return "accepted"


def play(seed: int, mode: str, margin: str, calls: int) -> Counter[str]:
    """Make random calls one after another; after each, all limits hold in the venue's own state."""
    limits = {"max_notional": NOTIONAL, "max_orders_per_minute": RATE, "symbols": (BTC, ETH)}
    with closing(World(seed, mode, margin, **limits)) as world:
        sent: list[int] = []
        for _ in range(calls):
            before, prices = world.sizes(), {name: world.price(name) for name in MOST}
            ordered = world.venue.host.core.state.last_order
            path, flow = world.call()
            outcome = run_flow(world, flow)
            world.tally[outcome if outcome != "accepted" else f"{path} accepted"] += 1
            after, now = world.sizes(), world.venue.host.now_ms()
            for name, most in MOST.items():
                assert after[name] <= most, (path, name, after)
            bound = max(Decimal(NOTIONAL), world.notional(before, prices))
            assert world.notional(after, prices) <= bound, (path, after, prices)
            sent = [time for time in sent if time > now - 60_000]
            sent += [now] * (0 if path == "bracket" else world.venue.host.core.state.last_order - ordered)
            assert len(sent) <= RATE
            world.venue.advance(f"{world.rng.randrange(4)}s")
            if world.rng.random() < 0.05:
                world.refill()
        return world.tally


@pytest.mark.parametrize(
    ("mode", "margin"), of_all(MODES, MARGINS, quick=[("ONE_WAY", "CROSS"), ("HEDGE", "ISOLATED")])
)
def test_random_calls_over_all_paths_never_exceed_a_limit(mode: str, margin: str) -> None:
    tally = play(1, mode, margin, 60)
    assert tally["LimitReached"] > 8
    assert sum(count for name, count in tally.items() if name.endswith("accepted")) > 15


def storm(seed: int, mode: str, margin: str, steps: int, *, faulty: bool) -> Counter[str]:
    """Interleave up to five callers at their requests; whatever is lost, late or cancelled, no position is exceeded."""
    with closing(World(seed, mode, margin)) as world:
        flows: list[tuple[str, Any, Any]] = []
        for number in range(steps):
            if len(flows) < 5 and world.rng.random() < 0.2:
                path, made = world.call()
                flows.append((path, made, None))
            elif flows:
                world.step(flows, faulty)
            if faulty and number % 97 == 0:
                world.deliver()
            if number % 301 == 300:
                flows.append(("resolve", world.s._delivery.resolve(), None))
                world.refill()
            for name, most in MOST.items():
                assert world.reach(name) <= most, (number, name)
        while world.late:
            world.deliver()
        for name, most in MOST.items():
            assert world.reach(name) <= most, ("late", name)
        return world.tally


# An order of another caller may fill between two looks at what is held, which a close says.
BETWEEN = pytest.mark.filterwarnings("ignore:close_position:toolkit.errors.DataWarning")


@BETWEEN
@pytest.mark.parametrize("faulty", [False, True], ids=["concurrent", "faults"])
@pytest.mark.parametrize("mode", MODES)
def test_interleaved_cancelled_and_lost_calls_never_exceed_a_position(mode: str, faulty: bool) -> None:
    tally = storm(19, mode, "CROSS", 2_500, faulty=faulty)
    assert tally["LimitReached"]
    assert tally["cancelled"]
    assert tally["dropped"]
    assert bool(tally["late"]) is faulty


@BETWEEN
@pytest.mark.slow
@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("mode", MODES)
def test_thousands_of_calls_over_many_seeds_never_exceed_a_limit(mode: str, margin: str) -> None:
    total: Counter[str] = Counter()
    for seed in range(100, 102):
        total += play(seed, mode, margin, 250)
        for faulty in (False, True):
            total += storm(seed, mode, margin, 5_000, faulty=faulty)
    assert total["LimitReached"] > 150


def test_of_simultaneous_orders_of_many_threads_only_as_many_pass_as_fit(venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue, limits=Limits(max_position=0.05, max_orders_per_minute=None)) as s:

        def buy(_: int) -> str:
            try:
                s.buy(BTC, "0.01", price="60000")
            except LimitReached:
                return "refused"
            return "accepted"

        with ThreadPoolExecutor(8) as pool:
            outcomes = Counter(pool.map(buy, range(40)))
        # The first that was reserved counts no other, so at least one passes; those that fit pass in the end.
        assert 1 <= outcomes["accepted"] <= 5
        while buy(0) == "accepted":
            outcomes["accepted"] += 1
        assert outcomes["accepted"] == len(s.orders(open=True)) == 5


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_a_refusal_says_limit_value_and_what_would_pass_and_signs_nothing(
    venue: LocalVenue, side: str, mode: str
) -> None:
    with toolkit.connect(venue=venue, limits=Limits(max_position=0.05)) as s:
        venue.control.set_position_mode(str(s.account), mode)
        s.place(orders.order(BTC, side, "0.02"))
        s.place(orders.order(BTC, side, "0.01", price="60000" if side == "BUY" else "65000"))
        before = len(s.intents())
        with pytest.raises(LimitReached) as caught:
            s.place(orders.order(BTC, side, "0.2"))
        text = f"{side} BTCUSDC would increase the position to 0.230. The limit is 0.05. At most 0.020 passes"
        assert (str(caught.value), caught.value.limit, len(s.intents())) == (text, "max_position", before)
        s.place(orders.order(BTC, side, "0.02"))
        with pytest.raises(LimitReached, match=r"The limit is 0\.05. Only orders that reduce pass"):
            s.place(orders.order(BTC, side, "0.001"))
        s.close_position(BTC)


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (Limits(symbols=(ETH,)), "BTCUSDC is not among the allowed symbols: ETHUSDC"),
        (Limits(max_order_notional=700), "BUY BTCUSDC is worth .* USDC. The limit is 700.00. At most 0.011 passes"),
        (Limits(max_notional=700), "would increase positions to .* USDC. The limit is 700.00. At most 0.011 passes"),
        (Limits(max_position={BTC: 0.011}), "to 0.020. The limit is 0.011. At most 0.011 passes"),
        (Limits(max_orders_per_minute=1), "1 orders in the last minute. The limit is 1. The next passes in 60 s"),
    ],
    ids=["symbols", "order", "notional", "position", "rate"],
)
def test_every_path_is_checked_alike(venue: LocalVenue, limits: Limits, text: str) -> None:
    with toolkit.connect(venue=venue, limits=limits) as s:
        if limits.max_orders_per_minute == 1:
            s.sell(BTC, "0.001", price="65000")
        item = orders.buy(BTC, "0.02").to_item(s.product(BTC))
        paths = {
            "buy": lambda: s.buy(BTC, "0.02"),
            "exchange": lambda: s.exchange.place_order([item]),
            "wire": lambda: s.exchange.send({"type": "placeOrder", "orders": [item]}),
            "bracket": lambda: s.buy(BTC, "0.02", tp="70000"),
            "prepare": lambda: s.intents.prepare(orders.buy(BTC, "0.02")),
            "twap": lambda: s.twap(BTC, "BUY", "0.04", "10m", slices=2),
        }
        for name, path in paths.items():
            with pytest.raises(LimitReached, match=text):
                path()
            assert s.positions().empty, name
        ticket = s.ticket(BTC, side="BUY", order_type="MARKET", quantity="0.02")
        with pytest.raises(LimitReached, match=text):
            ticket.submit()
        if limits.max_orders_per_minute != 1:
            s.buy(ETH if limits.symbols else BTC, "0.01", price="2400" if limits.symbols else "60000")


@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_an_order_of_unknown_outcome_counts_until_it_is_resolved(venue: LocalVenue, side: str) -> None:
    network = Network(venue)
    with toolkit.connect(venue=venue, limits=Limits(max_position=0.05), transport=network) as s:
        network.after = lose
        with pytest.raises(OutcomeUnknown):
            s.place(orders.order(BTC, side, "0.04", price="60000" if side == "BUY" else "65000"))
        network.after = nothing
        again = orders.order(BTC, side, "0.02")
        s.cancel_all()
        with pytest.raises(LimitReached, match=r"Requests of unknown outcome count too \(1\)\. session\.resolve\(\)"):
            s.place(again)
        s.resolve()
        assert s.place(again)


def test_the_loss_of_a_day_refuses_what_opens_and_survives_a_restart(venue: LocalVenue, tmp_path: Path) -> None:
    given: dict[str, Any] = {"venue": venue, "intents": tmp_path / "ledger", "limits": Limits(max_daily_loss=5)}
    with toolkit.connect(**given) as s:
        s.buy(BTC, "0.05")
        s.close_position(BTC)  # 200 apart, and fees
        with pytest.raises(LimitReached, match=r"equity fell by .* since the day began. The limit is 5\.00") as caught:
            s.buy(BTC, "0.01")
        assert caught.value.limit == "max_daily_loss"
    with toolkit.connect(**given) as s, pytest.raises(LimitReached, match="since the day began"):
        s.buy(BTC, "0.01")
    venue.advance("91m")
    with toolkit.connect(**given) as s:
        assert s.buy(BTC, "0.01")


def test_what_cant_be_checked_is_not_sent(venue: LocalVenue) -> None:
    network = Network(venue)
    with toolkit.connect(venue=venue, limits=Limits(max_position=1), transport=network) as s:
        s.buy(BTC, "0.01")

        def unread(request: httpx.Request) -> None:
            if request.url.path.endswith("/order/states"):
                cut(request)

        network.before = unread
        with pytest.raises(NotSent, match="placeOrder: not sent, its limits can't be checked"):
            s.buy(BTC, "0.01", price="60000")
        network.before = nothing
        assert s.orders(open=True).empty


def test_a_run_ends_where_the_session_refuses(venue: LocalVenue) -> None:
    class Greedy(Strategy):
        def on_start(self, ctx: Any) -> None:
            for _ in range(3):
                ctx.buy(BTC, "0.02")

    with toolkit.connect(venue=venue, limits=Limits(max_position=0.05)) as s:
        run = live(Greedy(), s, [BTC], duration="10m", limits=Limits())
        assert (run.events["kind"] == "LIMIT").any()
        assert float(s.positions()["size"].sum()) == pytest.approx(0.04)


def test_a_limit_of_an_unknown_product_is_no_limit_that_is_ignored(venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue, limits=Limits(max_position={"BTCUSD": 0.05})) as s:
        with pytest.raises(UnknownProduct, match="BTCUSD"):
            s.buy(BTC, "0.01")
        assert s.positions().empty


def test_limits_of_another_type_are_refused() -> None:
    with pytest.raises(InputError, match=r"limits is .*\. Give toolkit\.Limits"):
        toolkit.connect(limits={"max_notional": 5})  # type: ignore[arg-type]


def test_the_switch_is_in_the_repr_of_limits_and_names_every_limit(venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue, limits=Limits(max_position=0.05)) as s:
        assert repr(s.limits) == "<SessionLimits trading, max_orders_per_minute 60, max_stale 30.0, max_position 0.05>"
        s.limits.stop("lunch")
        assert repr(s.limits).startswith("<SessionLimits stopped: lunch, ")
        assert isinstance(s, Session)
        assert s.limits.stopped == "lunch"


def test_an_order_of_a_builder_counts_what_its_trader_holds(venue: LocalVenue) -> None:
    wallet = toolkit.Wallet(agent=development.account(30).key, master=development.account(1).key)
    given: dict[str, Any] = {"venue": venue, "wallet": wallet, "approve": False, "limits": Limits(max_position=0.05)}
    with toolkit.connect(venue=venue) as trader, toolkit.connect(**given) as made:
        builder = toolkit.Builder(made)
        builder.register("Acme")
        trader.permissions.allow_builder(str(made.account), str(wallet.agent), "0.0005")
        trader.buy(BTC, "0.03")
        with pytest.raises(LimitReached, match=r"to 0\.060. The limit is 0\.05. At most 0\.020 passes"):
            builder.place(orders.buy(BTC, "0.03"), fee_rate="0.0001")
        assert builder.place(orders.buy(BTC, "0.02"), fee_rate="0.0001")


def test_the_positions_of_a_vault_are_its_own(venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue, limits=Limits(max_position=0.05)) as s:
        vault = s.exchange.vault_create("Ours", "2000").data["vault"]
        s.buy(BTC, "0.05")
        with pytest.raises(LimitReached, match=r"to 0\.060. The limit is 0\.05. At most 0\.050 passes"):
            s.buy(BTC, "0.06", vault_address=vault)
        assert s.buy(BTC, "0.04", vault_address=vault)
        with pytest.raises(LimitReached, match=r"At most 0\.010 passes"):
            s.buy(BTC, "0.02", vault_address=vault)
        found = s.stop_all(flatten=True, vault_address=vault)
        assert found["quantity"].tolist() == [0.04]
        assert s.positions()["size"].tolist() == [0.05]


class Caller:
    """A flow that is taken to its next request step by step."""

    def __init__(self, world: World, flow: Any) -> None:
        self.world, self.flow, self.request = world, flow, None
        self.ended = ""

    def go(self, steps: int) -> None:
        """Take so many requests, or as many as there are."""
        for _ in range(0 if self.ended else steps):
            try:
                answer = None if self.request is None else self.world.perform(self.request, faulty=False)
                self.request = self.flow.send(answer)
            except StopIteration:
                self.ended = "accepted"
            except LimitReached:
                self.ended = "refused"
            if self.ended:
                return


@pytest.mark.parametrize("mode", of_all(MODES, quick=MODES[:1]))
def test_two_orders_that_do_not_fit_together_never_both_pass_wherever_one_overtakes_the_other(mode: str) -> None:
    ends = Counter[tuple[str, ...]]()
    with closing(World(1, mode, "CROSS")) as world:
        for first in range(1, 14, 4):
            for second in range(1, 40, 6):
                callers = [Caller(world, subflow(world.s.buy, BTC, "0.03", "60000")) for _ in range(2)]
                for caller, steps in zip(callers * 2, (first, second, 400, 400), strict=True):
                    caller.go(steps)
                ends[tuple(sorted(caller.ended for caller in callers))] += 1
                assert world.reach(BTC) <= MOST[BTC], (first, second)
                world.s.cancel_all(BTC)
    assert ends == {("accepted", "refused"): 28}


@pytest.mark.parametrize("limit", of_all(["max_daily_loss", "max_loss"], quick=["max_daily_loss"]))
def test_losses_are_those_of_the_account_that_an_order_is_for(venue: LocalVenue, limit: str) -> None:
    wallet = toolkit.Wallet(agent=development.account(30).key, master=development.account(1).key)
    given: dict[str, Any] = {"venue": venue, "wallet": wallet, "approve": False, "limits": Limits(**{limit: 5})}
    own: dict[str, Any] = {"venue": venue, "limits": Limits(**{limit: 5})}
    with toolkit.connect(**own) as s, toolkit.connect(**given) as made:
        vault = s.exchange.vault_create("Ours", "2000").data["vault"]
        builder = toolkit.Builder(made)
        builder.register("Acme")
        s.permissions.allow_builder(str(made.account), str(wallet.agent), "0.0005")

        def in_vault(side: str) -> Any:
            return s.place(orders.market(BTC, side, "0.03"), vault_address=vault)

        def as_builder(side: str) -> Any:
            return builder.place(orders.market(BTC, side, "0.03"), fee_rate="0.0001")

        for trade, owner in ((in_vault, vault), (as_builder, str(s.account))):
            equity = s.wallet_balances(account=owner)["equity"].iloc[0]
            with pytest.raises(LimitReached) as caught:
                all(trade(side) for _ in range(20) for side in ("BUY", "SELL"))
            assert caught.value.limit == limit
            lost = equity - s.wallet_balances(account=owner)["equity"].iloc[0]
            assert 5 < lost < 5 + 8, "no more than one round trip beyond it"
        assert s.buy(BTC, "0.01"), "the leader's own day begins with its own first order"


def test_the_kill_switch_ends_the_orders_of_vaults_and_says_what_a_builder_leaves(venue: LocalVenue) -> None:
    wallet = toolkit.Wallet(agent=development.account(30).key, master=development.account(1).key)
    with toolkit.connect(venue=venue) as s, toolkit.connect(venue=venue, wallet=wallet, approve=False) as made:
        vault = s.exchange.vault_create("Ours", "2000").data["vault"]
        s.buy(BTC, "0.01", "50000", vault_address=vault)
        found = s.limits.stop("the day is over")
        assert found[["kind", "outcome"]].to_numpy().tolist() == [["order", "CANCELED"]]
        assert s.orders(open=True, account=vault).empty
        s.limits.resume()
        builder = toolkit.Builder(made)
        builder.register("Acme")
        s.permissions.allow_builder(str(made.account), str(wallet.agent), "0.0005")
        builder.place(orders.buy(BTC, "0.01", "50000"), fee_rate="0.0001")
        s.buy(BTC, "0.01", "50000")  # not the builder's
        for found in (made.limits.stop("the day is over"), made.stop_all()):
            assert found["outcome"].tolist() == ["LEFT"]
            assert found["message"].iloc[0] == f"placed as a builder for {s.account}, who alone can cancel it"
        assert len(s.orders(open=True)) == 2
