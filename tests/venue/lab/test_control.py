"""Interventions: what a teacher may do to a venue, in process and over HTTP when it is served with that."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import toolkit
from tests.venue.wallets import MASTER, OTHER, Signer
from toolkit.errors import (
    ActionDisabled,
    AddressBanned,
    InputError,
    LocationNotSupported,
    OutcomeUnknown,
    ToolkitError,
    VenueError,
)
from toolkit.session import Session
from toolkit.venue.engine.core import Core
from toolkit.venue.engine.registry import CONTROLS
from toolkit.venue.lab.control import Controls
from toolkit.venue.local import LocalVenue


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual") as made:
        yield made


@pytest.fixture
def session(venue: LocalVenue) -> Iterator[Session]:
    with toolkit.connect(venue=venue) as made:
        yield made


def oracle(venue: LocalVenue, product: int = 1) -> str:
    return venue.host.core.products[product].price_text(venue.host.core.state.markets[product].oracle)


def limit_order(side: str, quantity: str, price: str) -> dict[str, Any]:
    order = {"symbolCode": 1, "ordPx": price, "ordQty": quantity, "ordType": "LIMIT", "ordSide": side}
    return {"type": "placeOrder", "orders": [{**order, "timeInForce": "GTC"}]}


NO_COMMANDS = {"add_fault", "clear_faults", "clear_trouble", "set_trouble", "state_hash", "trouble_counts"}
"""Controls that change nothing in the core."""


def test_every_control_of_the_core_is_a_documented_method_with_its_signature(venue: LocalVenue) -> None:
    methods = {name for name in dir(Controls) if not name.startswith("_")} - NO_COMMANDS
    ours = {name for name, rule in venue.host.core.controls.items() if rule.__module__.startswith("toolkit.")}
    assert methods == ours  # other tests of the same process register controls of their own
    for name in methods:
        method = getattr(Controls, name)
        assert inspect.getdoc(method), name
        assert set(inspect.signature(venue.host.core.controls[name]).parameters) - {"core"} == set(
            inspect.signature(method).parameters
        ) - {"self"}


def test_a_scripted_oracle_goes_through_its_points_at_their_time(venue: LocalVenue) -> None:
    assert venue.control.script_oracle("BTCUSDC", {"1m": "61000", "2m": 60500, "150s": Decimal("60000.5")}) == {
        "points": 3
    }
    venue.advance("59s")
    assert oracle(venue) not in ("61000.0", "60500.0")
    seen = []
    for _ in range(4):
        venue.advance("1s")
        seen.append(oracle(venue))
        venue.advance("29s")
    assert seen == ["61000.0", "61000.0", "60500.0", "60000.5"]
    venue.advance("5m")
    assert oracle(venue) == "60000.5"
    venue.control.script_oracle(1, [("10s", "59000")], release=True)
    venue.advance("10s")
    assert oracle(venue) == "59000.0"
    venue.advance("1m")
    assert oracle(venue) not in ("59000.0", "60000.5")


def test_a_script_is_called_off_and_goes_back_with_a_revert(venue: LocalVenue) -> None:
    venue.control.script_oracle("ETHUSDC", {"1m": "3000"})
    number = venue.snapshot()
    venue.control.script_oracle("ETHUSDC", {})
    venue.advance("2m")
    assert oracle(venue, 2) != "3000.00"
    venue.revert(number)
    venue.advance("2m")
    assert oracle(venue, 2) == "3000.00"


def test_wrong_scripts_are_explained(venue: LocalVenue) -> None:
    with pytest.raises(VenueError, match="points must lie ahead"):
        venue.control.script_oracle(1, [(0, "60000")])
    with pytest.raises(VenueError, match="each after the one before"):
        venue.control.script_oracle(1, [("2m", "60000"), ("1m", "61000")])
    with pytest.raises(VenueError, match="not a multiple of tickSize"):
        venue.control.script_oracle(1, [("2m", "60000.05")])
    with pytest.raises(VenueError, match="above 0"):
        venue.control.script_oracle(1, [("2m", "0")])
    with pytest.raises(InputError, match="There are BTCUSDC, ETHUSDC"):
        venue.control.script_oracle("DOGEUSDC", {})


def test_a_jump_without_a_simulated_market_stays() -> None:
    venue = LocalVenue(clock="manual", market=False)
    before = venue.host.core.state.markets[1].oracle
    venue.control.script_oracle("BTCUSDC", {"1s": "1000"})
    assert Decimal(venue.control.jump("BTCUSDC", "-12.5")["oracle"]) * 10 == before * Decimal("0.875")
    venue.advance("1m")
    assert venue.host.core.state.markets[1].oracle == before * 7 // 8
    assert venue.host.core.state.markets[1].pinned
    for percent in ("-100", "1000.1"):
        with pytest.raises(VenueError, match=f"percent {percent} must be above -100 and at most 1000"):
            venue.control.jump("BTCUSDC", percent)
    venue.control.jump("BTCUSDC", "-90")
    assert venue.host.core.state.markets[1].oracle == before * 7 // 80
    venue.control.jump("BTCUSDC", "1000")
    assert venue.host.core.state.markets[1].oracle == before * 7 // 80 * 11
    venue.control.jump("BTCUSDC", "300")
    with pytest.raises(VenueError, match="the highest price of an order"):
        venue.control.jump("BTCUSDC", "900")


def test_added_liquidity_is_there_to_trade_with_and_can_be_taken_away() -> None:
    with LocalVenue(clock="manual", market=False) as venue, toolkit.connect(venue=venue) as session:
        assert venue.control.remove_liquidity("BTCUSDC") == {"cancelled": 0}
        placed = venue.control.add_liquidity("BTCUSDC", "SELL", "62600", "0.5", levels=3, gap="10")
        assert len(placed["ordIds"]) == 3
        receipt = session.buy("BTCUSDC", "0.6", "62610")
        assert receipt.code == 0
        [position] = venue.host.core.state.accounts[session.account.lower()].positions.values()
        assert position.long.size == 600
        session.sell("BTCUSDC", "0.1", "62500")
        assert venue.control.add_liquidity(1, "BUY", "62500", "0.1")["filled"] == "0.100"
        assert venue.control.remove_liquidity(1) == {"cancelled": 2}
        assert venue.control.remove_liquidity(1) == {"cancelled": 0}
        for wrong, words in (
            ({"side": "UP"}, "BUY or SELL"),
            ({"levels": 0}, "levels must be 1 to 200"),
            ({"price": "62600.05"}, "not a multiple"),
        ):
            with pytest.raises(VenueError, match=words):
                venue.control.add_liquidity(
                    **{"product": 1, "side": "BUY", "price": "60000", "quantity": "1", **wrong}  # type: ignore[arg-type]
                )


def test_anybody_can_be_impersonated_by_the_rules_of_the_action(venue: LocalVenue) -> None:
    address = OTHER.address
    done = venue.control.act(address, limit_order("BUY", "0.01", "60000"))
    assert (done["code"], done["txCode"]) == (0, 0)
    [order] = venue.host.core.state.accounts[address.lower()].orders.values()
    assert str(order.id) == done["results"][0]["ordId"]
    refused = venue.control.act(address, limit_order("BUY", "900", "60000"))
    assert refused["code"] == 40230
    assert venue.control.act(address, {"type": "cancelAll", "symbolCode": 1})["code"] == 0
    with pytest.raises(VenueError, match="ordPx"):
        venue.control.act(address, limit_order("BUY", "0.01", "cheap"))
    with pytest.raises(VenueError, match="has no account here"):
        venue.control.act("0x" + "77" * 20, limit_order("BUY", "0.01", "60000"))


def test_a_paused_market_takes_no_orders_until_it_is_resumed(venue: LocalVenue, session: Session) -> None:
    session.buy("BTCUSDC", "0.01", "60000")
    venue.control.pause("BTCUSDC")
    with pytest.raises(ToolkitError, match="paused"):
        session.buy("BTCUSDC", "0.01", "60000")
    session.cancel_all("BTCUSDC")
    venue.advance("1m")
    venue.control.resume("BTCUSDC")
    session.buy("BTCUSDC", "0.01", "60000")


def test_emergency_codes_reach_the_client_as_their_errors(venue: LocalVenue, session: Session) -> None:
    control = venue.control
    control.disable("placeOrder")
    with pytest.raises(ActionDisabled, match="placeOrder is switched off"):
        session.buy("BTCUSDC", "0.01", "60000")
    session.cancel_all("BTCUSDC")
    control.enable("placeOrder")
    session.buy("BTCUSDC", "0.01", "60000")

    control.ban(session.account)
    with pytest.raises(AddressBanned):
        session.cancel_all("BTCUSDC")
    assert len(session.orders()) == 1
    control.unban(session.account)

    control.close_location()
    with pytest.raises(LocationNotSupported):
        session.orders()
    with pytest.raises(OutcomeUnknown, match="location is not supported"):  # it is sent, whatever a query says
        session.cancel_all("BTCUSDC")
    with pytest.raises(LocationNotSupported):
        session.orders()
    control.open_location()
    control.close_location("somewhere else")
    session.cancel_all("BTCUSDC")
    with pytest.raises(VenueError, match="there is no action 'dance'"):
        control.disable("dance")


def test_limits_are_counted_for_each_account_and_by_the_venues_time(venue: LocalVenue) -> None:
    one, two = Signer(MASTER), Signer(OTHER)
    withdraw = {"type": "withdraw", "destination": MASTER.address, "amount": "3"}
    venue.control.limit("withdraw", 2, "10s")
    number = venue.snapshot()
    assert [one.do(venue, withdraw)["code"] for _ in range(3)] == [0, 0, 40220]
    answer = one.do(venue, withdraw)
    limited = "more than 2 withdraw requests in 10000 ms. The next is accepted in 10000 ms"
    assert answer["message"] == f"{limited}. The recovered signer is {MASTER.address}"
    assert two.do(venue, withdraw)["code"] == 0
    venue.advance("10s")
    assert one.do(venue, withdraw)["code"] == 0
    venue.revert(number)
    assert one.do(venue, withdraw)["code"] == 0
    venue.control.limit("", 0)
    venue.control.unlimit("withdraw")
    assert one.do(venue, withdraw)["code"] == 40220
    venue.control.calm()
    assert one.do(venue, withdraw)["code"] == 0


def test_queries_are_limited_for_each_caller(venue: LocalVenue) -> None:
    venue.control.limit("info", 1)
    codes = [
        json.loads(venue.host.gateway.handle("GET", "/info/public/product-meta", "", b"", peer).body)["code"]
        for peer in ("a", "a", "b")
    ]
    assert codes == [0, 40220, 0]
    with pytest.raises(VenueError, match="count must be 0 or more"):
        venue.control.limit("info", -1)
    with pytest.raises(VenueError, match="there is no action"):
        venue.control.limit("dance", 1)


ODD: list[Any] = [
    None, "", "abc", "NaN", "-5", "0", 0, -1, 1.5, float("nan"), True, [], [1], {}, {"a": 1}, object(), b"x", 2**70,
    10**5000, Decimal("sNaN"), Decimal("Infinity"), "1e999999999", "\ud800", "0x" + "aB" * 20, "0x12", "1m", (1, 2),
]  # fmt: skip


@pytest.mark.parametrize("name", sorted(name for name in {*dir(Controls)} - NO_COMMANDS if name[0] != "_"))
def test_whatever_is_given_a_control_does_it_or_says_what_is_wrong(tmp_path: Path, name: str) -> None:
    """Each argument takes every odd value; a replay of the journal and a dump then lead to the same state."""
    good: dict[str, Any] = {
        "product": 1, "price": "60000", "points": {"1m": "61000"}, "side": "BUY", "quantity": "0.1", "mode": "HEDGE",
        "address": OTHER.address, "amount": "5", "count": 3, "action": "withdraw", "peer": "a", "span": "1s",
        "levels": 2, "gap": "10", "hold": True, "release": False, "until": 1_767_225_700_000,
        "products": ["BTCUSDC"], "queue": "log", "changes": [[0, 1, 600_000, 5]], "whole": False,
        "balance": 5_000_000, "positions": [[1, 1, 10, 600_000_000, 1000, 0, 0]],
        "regime": "calm", "after": "1m", "lasting": "5m", "percent": "3",
        "leverages": [[2, 1000]], "hedge": False,
        "orders": [{"ordId": 7, "symbolCode": 1, "ordPx": "50000", "ordQty": "0.01", "ordType": "LIMIT",
                    "ordSide": "BUY", "timeInForce": "GTC"}],
    }  # fmt: skip
    if name == "act":
        good["action"] = {"type": "cancelAll", "symbolCode": 1}
    settings: dict[str, Any] = {"clock": "manual", "accounts": 2, "market": False, "sync": "os"}
    venue = LocalVenue(journal=tmp_path / "j", **settings)
    method = getattr(venue.control, name)
    wanted = list(inspect.signature(method).parameters)
    for parameter in wanted:
        for odd in ODD:
            args = {**{known: good[known] for known in wanted}, parameter: odd}
            before, said = venue.host.core.state.transactions, f"{name}: "
            try:
                method(**args)
            except InputError:
                said = said if venue.host.core.state.transactions == before else "a command was made"
            except VenueError as error:
                said = str(error)
            assert said.startswith(f"{name}: ")
    venue.advance("5s")
    digest = venue.control.state_hash()
    assert Core.load(venue.host.core.dump()).state_hash() == digest
    assert venue.host.journal is not None
    venue.host.journal.close()
    with LocalVenue(journal=tmp_path / "j", **settings) as again:
        again.advance(until=venue.host.core.state.time)
        assert again.control.state_hash() == digest


@pytest.mark.parametrize(
    ("amount", "error", "words"),
    [
        ("-5000", VenueError, "fund: amount -5000 must be above 0"),
        ("0", VenueError, "amount 0 must be above 0"),
        ("abc", InputError, "amount 'abc' is not an exact amount. Give text such as"),
        ("NaN", InputError, "amount 'NaN' is not an exact amount. Give a finite number"),
        (1.1, InputError, "amount is the float 1.1, and a float is not exact. Give the text '1.1'"),
        ("0.0000001", VenueError, "finer than 0.000001 USDC"),
        ("1.0000000000000000000000000000000001", VenueError, "finer than 0.000001 USDC"),
        ("1e13", VenueError, "more than the .* USDC that can still come in"),
    ],
)
def test_only_an_exact_amount_above_zero_is_funded(
    venue: LocalVenue, amount: Any, error: type[ToolkitError], words: str
) -> None:
    accounts = set(venue.host.core.state.accounts)
    with pytest.raises(error, match=words):
        venue.control.fund("0x" + "77" * 20, amount)
    assert set(venue.host.core.state.accounts) == accounts, "no account was opened on the way"


def test_exact_amounts_of_every_kind_are_taken(venue: LocalVenue) -> None:
    address = "0x" + "77" * 20
    for amount in ("1.5", 2, Decimal("1E+2"), "7"):
        venue.control.fund(address, amount)
    assert venue.host.core.state.accounts[address].balance == 110_500_000


def test_only_addresses_are_addresses_and_mixed_letters_must_be_eip_55(venue: LocalVenue) -> None:
    control, mixed = venue.control, OTHER.address
    broken = mixed[:2] + mixed[2:].swapcase()
    for call in (
        lambda who: control.fund(who, "5"),
        lambda who: control.act(who, {"type": "cancelAll", "symbolCode": 1}),
        lambda who: control.set_position_mode(who, "ONE_WAY"),
        control.ban,
        control.unban,
    ):
        with pytest.raises(InputError, match=r"address 'hello' is not an address\. An address is 0x and 40 hex digits"):
            call("hello")
        with pytest.raises(InputError, match="break the EIP-55 checksum") as caught:
            call(broken)
        assert (caught.value.field, caught.value.rule, caught.value.nearest) == ("address", "EIP-55", (broken.lower(),))
        for good in (mixed, mixed.lower(), "0x" + mixed[2:].upper()):
            call(good)


def test_floats_are_refused_wherever_an_amount_is_taken(venue: LocalVenue) -> None:
    control, calls = venue.control, []
    calls.append(lambda: control.set_oracle(1, 60_000.5))  # type: ignore[arg-type]
    calls.append(lambda: control.script_oracle(1, {"1m": 60_000.5}))  # type: ignore[arg-type]
    calls.append(lambda: control.add_liquidity(1, "BUY", 60_000.5, "1"))  # type: ignore[arg-type]
    calls.append(lambda: control.add_liquidity(1, "BUY", "60000", 1.0))  # type: ignore[arg-type]
    calls.append(lambda: control.add_liquidity(1, "BUY", "60000", "1", levels=2, gap=0.5))  # type: ignore[arg-type]
    before = venue.control.state_hash()
    for call in calls:
        with pytest.raises(InputError, match="a float is not exact") as caught:
            call()
        assert caught.value.field in ("price", "quantity", "gap")
    assert venue.control.state_hash() == before


def test_prices_beyond_any_order_are_refused(venue: LocalVenue) -> None:
    for call in (
        lambda: venue.control.set_oracle(1, "1000000"),
        lambda: venue.control.script_oracle(1, {"1m": "1000000"}),
        lambda: venue.control.add_liquidity(1, "SELL", "1000000", "1"),
    ):
        with pytest.raises(VenueError, match=r"1000000\.0 is above 999999\.0, the highest price of an order"):
            call()
    with pytest.raises(VenueError, match="worth more than 1000000000 USDC"):
        venue.control.add_liquidity(1, "SELL", "70000", "100000000")


def test_commands_of_another_program_are_checked_by_the_core_alike(venue: LocalVenue) -> None:
    for name, args, words in (
        ("fund", {"address": "hello", "amount": "5"}, "address 'hello' is not an address"),
        ("fund", {"address": "0x" + "77" * 20, "amount": 1.5}, "amount: Expected `str`, got `float`. It takes address"),
        ("fund", {"address": "0x" + "77" * 20}, "missing the argument `amount`"),
        ("ban", {"address": "x"}, "is not an address"),
        ("pause", {"product": 1, "at": 5}, "there is no argument `at`. It takes product: int"),
        ("script_oracle", {"product": 1, "points": [[1]]}, "a point is"),
        ("jump", {"product": 1, "percent": "-100"}, "percent -100 must be above -100 and at most 1000"),
        ("jump", {"product": 1, "percent": "far"}, "percent 'far' is not an exact amount"),
    ):
        with pytest.raises(VenueError, match=words):
            venue.host.apply_control(name, **args)


def test_a_control_that_breaks_half_way_breaks_the_same_way_in_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(core: Core, address: str) -> None:
        core.state.laboratory.banned.append(address)
        core.controls["fund"](core, address, "5")
        raise RuntimeError("in the middle")

    monkeypatch.setitem(CONTROLS, "half", half)
    settings: dict[str, Any] = {"clock": "manual", "accounts": 2, "market": False, "sync": "os"}
    venue = LocalVenue(journal=tmp_path / "j", **settings)
    with pytest.raises(RuntimeError, match="in the middle"):
        venue.host.apply_control("half", address=OTHER.address)
    assert not venue.host.core.risk_index.touched, "what it had touched was followed up"
    venue.control.fund(OTHER.address, "7")
    digest = venue.control.state_hash()
    assert venue.host.journal is not None
    venue.host.journal.close()
    with LocalVenue(journal=tmp_path / "j", **settings) as again:
        assert again.control.state_hash() == digest
        assert again.host.core.state.accounts[OTHER.address.lower()].balance == 10_012_000_000
