"""`session.exchange`: every action of the interface, with the bytes of the golden requests."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from typing import Any

import pytest

import toolkit
from tests.client.fake import AGENT_KEY, MASTER, MASTER_KEY, META, NOW, Clock, FakeVenue, session
from tests.protocol.golden import document, vectors
from toolkit import orders
from toolkit.client.orders.exchange import AsyncExchange, Exchange
from toolkit.client.reads.info import AsyncInfo, Info
from toolkit.errors import InputError, MalformedRequest, UnknownProduct

AGENT, NOBODY = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "0x" + "0" * 40


def both(fake: FakeVenue, **options: Any) -> toolkit.Session:
    return session(fake, wallet=toolkit.Wallet(agent=AGENT_KEY, master=MASTER_KEY), **options)


def last(fake: FakeVenue) -> dict[str, Any]:
    action: dict[str, Any] = json.loads(fake.bodies[-1])["action"]
    return action


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("one", "other", "synchronous_only"),
    [
        (Exchange, AsyncExchange, set()),
        (Info, AsyncInfo, set()),
        (
            toolkit.Session,
            toolkit.AsyncSession,
            {"aio", "blotter", "control", "dashboard", "history", "runs", "statement", "ticket", "what_if", "widgets"},
        ),
    ],
)
def test_the_asynchronous_twin_has_the_same_names_and_signatures(
    one: type, other: type, synchronous_only: set[str]
) -> None:
    assert public(one) - synchronous_only == public(other)
    for name in public(one) - synchronous_only:
        first, second = inspect.getattr_static(one, name), inspect.getattr_static(other, name)
        if inspect.isfunction(first):
            assert inspect.signature(first).parameters == inspect.signature(second).parameters, name


@pytest.mark.parametrize("kind", [AsyncExchange, AsyncInfo])
def test_each_method_of_an_asynchronous_part_is_awaited(kind: type) -> None:
    assert [name for name in public(kind) if not inspect.iscoroutinefunction(getattr(kind, name))] == []


@pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector["name"])
def test_golden_requests_leave_the_client_byte_for_byte(
    vector: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client id or a withdraw sequence is added where it is missing; the rest is byte for byte."""
    monkeypatch.setattr("toolkit.client.io.nonce_sources.SPREAD_MS", 0)
    monkeypatch.setitem(META, "perpProducts", [])  # the vectors' prices are random, so no rule of a product may apply
    request, fake = vector["request"], FakeVenue()
    role = "agent" if vector["signer"] in ("agent", "builderAgent") else "master"
    keys = {role: document()["keys"][vector["signer"]]}
    wallet = toolkit.Wallet(**keys, account=None if role == "master" else MASTER)
    clock = Clock(request["nonce"])
    s = session(fake, wallet=wallet, environment=vector["environment"], confirm=True, clock=clock)
    s.exchange.send(
        request["action"], expiry_after=request.get("expiryAfter"), vault_address=request.get("vaultAddress")
    )
    sent = json.loads(fake.bodies[0])
    added = list(zip(items(sent["action"]), items(request["action"]), strict=True))
    for mine, theirs in added:
        if not theirs.get("clOrdId"):
            mine.pop("clOrdId")
    if "withdrawSequence" not in request["action"]:
        sent["action"].pop("withdrawSequence", None)
    if sent["signature"] != request["signature"]:
        assert vector["name"].split("/")[-1].startswith(("place", "withdraw"))
        sent["signature"] = request["signature"]
    assert sent == request


def items(action: dict[str, Any]) -> list[dict[str, Any]]:
    return [action["order"]] if "order" in action else action.get("orders", [])


def test_orders_are_given_as_order_objects_or_as_plain_items() -> None:
    fake = FakeVenue()
    s = both(fake)
    s.exchange.place_order([orders.buy("BTCUSDC", "0.01", "60000", cl_ord_id=5)])
    first = last(fake)
    for same in (first["orders"], first["orders"][0]):
        s.exchange.place_order(same)
        assert last(fake) == first
    s.exchange.place_order(orders.sell("BTCUSDC", "0.01", "60000", reduce_only=True))
    assert [item["reduceOnlyOption"] for item in last(fake)["orders"]] == ["REDUCE_ONLY"]
    s.exchange.place_bracket_order(orders.buy("BTCUSDC", "0.01", "60000", tp="66000", sl="57000"))
    assert [item.get("reduceOnly") for item in last(fake)["orders"]] == [None, "TP_FROM_POSITION", "SL_FROM_POSITION"]
    s.exchange.place_builder_order(orders.buy("BTCUSDC", "0.01", "60000", reduce_only=True), MASTER, "0.0002")
    assert last(fake)["order"]["reduceOnly"] == "REDUCE_ONLY"
    assert last(fake)["order"]["clOrdId"]


@pytest.mark.parametrize("given", [5, 1.5, True, "order", b"order", {"symbol": "BTCUSDC"}], ids=repr)
def test_what_is_no_order_is_refused_by_name(given: Any) -> None:
    s = session(FakeVenue())
    with pytest.raises(MalformedRequest, match=r"^orders\[0\]"):
        s.exchange.place_order(given)
    with pytest.raises(InputError, match=rf"^{re.escape(repr(given))} is no order\. Make one with toolkit\.orders"):
        s.place(given)


def test_errors_of_a_call_name_it_without_a_class_of_the_toolkits_own() -> None:
    s = session(FakeVenue())
    for call in (s.buy, s.positions, s.klines, s.twap, s.dashboard, toolkit.Builder(s).place):
        with pytest.raises(TypeError, match=rf"^{call.__name__}\(\) "):
            call(no_such=1)
    with pytest.raises(TypeError, match=r"^buy\(\) "):
        asyncio.run(s.aio.buy(no_such=1))


def test_cancels_travel_as_text_and_symbols_become_codes() -> None:
    fake = FakeVenue()
    s = both(fake)
    s.exchange.cancel_order([{"symbolCode": "BTCUSDC", "ordId": 5}, {"symbolCode": 1, "clOrdId": "7"}])
    assert last(fake)["cancels"] == [{"symbolCode": "1", "ordId": "5"}, {"symbolCode": "1", "clOrdId": "7"}]
    s.exchange.cancel_order({"symbolCode": "99", "ordId": 7})
    assert last(fake)["cancels"] == [{"symbolCode": "99", "ordId": "7"}]
    for odd in ([{"symbolCode": 1, "ordId": True}], ["7"]):
        with pytest.raises(MalformedRequest):
            s.exchange.cancel_order(odd)
    s.exchange.cancel_all("BTCUSDC")
    assert last(fake) == {"type": "cancelAll", "symbolCode": 1}
    s.exchange.set_leverage("BTCUSDC", 12)
    assert last(fake) == {"type": "setLeverage", "symbolCode": 1, "leverage": "12"}


def test_wrong_arguments_raise_type_error_as_for_any_function() -> None:
    s = both(FakeVenue())
    with pytest.raises(TypeError, match=r"set_leverage\(\) missing 1 required positional argument: 'leverage'"):
        s.exchange.set_leverage("BTCUSDC")
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        s.exchange.cancel_all("BTCUSDC", nonsense=1)
    with pytest.raises(TypeError, match="vault_address"):
        s.exchange.vault_close()
    with pytest.raises(
        TypeError, match=r"cancel_all\(\) got too many positional arguments\. Name them: vault_address$"
    ):
        s.exchange.cancel_all("BTCUSDC", True, MASTER)


def test_a_broken_rule_is_reported_before_anything_is_recorded() -> None:
    fake = FakeVenue()
    s = both(fake)
    with pytest.raises(MalformedRequest) as caught:
        s.exchange.place_order([{"symbolCode": 1, "ordPx": 5}])
    assert caught.value.field == "orders[0].ordPx"
    with pytest.raises(MalformedRequest, match="at most 2 decimal places"):
        s.exchange.set_leverage("BTCUSDC", "5.001")
    with pytest.raises(MalformedRequest, match="not a supported action"):
        s.exchange.send({"type": "nonsense"})
    with pytest.raises(UnknownProduct, match="no product 'NOPE'"):
        s.exchange.cancel_all("NOPE")
    assert fake.bodies == []
    assert len(s.intents()) == 0


def test_the_asynchronous_twin_sends_the_same_bytes() -> None:
    one, two = FakeVenue(), FakeVenue()
    made = both(one).buy("BTCUSDC", "0.01", "60000", expiry_after=None, tif="IOC")

    async def run() -> toolkit.Receipt:
        async with both(two, clock=Clock(NOW + 1)).aio as s:
            return await s.buy("BTCUSDC", "0.01", "60000", expiry_after=None, tif="IOC")

    awaited = asyncio.run(run())
    first, second = (json.loads(fake.bodies[0]) for fake in (one, two))
    assert first["action"]["orders"][0].pop("clOrdId") != second["action"]["orders"][0].pop("clOrdId")
    assert first["action"] == second["action"]
    assert (made.state, made.order_id) == (awaited.state, awaited.order_id)


def test_what_an_action_can_not_take_is_said() -> None:
    s = both(FakeVenue())
    order = orders.buy("BTCUSDC", "0.01", "60000")
    bracket = orders.bracket(order, stop_loss=50_000)
    ladder = orders.scale("BTCUSDC", "BUY", "0.03", first="50000", last="51000", count=3)
    terms = {"builder": MASTER, "builder_fee_rate": "0.0001"}
    for call, words in (
        (lambda: s.exchange.place_order(bracket), "place_order takes no bracket. Its"),
        (lambda: s.exchange.place_order([order, bracket]), "place_order takes no bracket among other orders. Its"),
        (lambda: s.exchange.place_bracket_order([bracket, order]), "takes no bracket among other orders"),
        (lambda: s.exchange.place_bracket_order(ladder), "place_bracket_order takes no ladder"),
        (lambda: s.exchange.place_builder_order([order, order], **terms), "takes one order, not 2"),
        (lambda: s.exchange.place_builder_order([], **terms), "takes one order, not 0"),
    ):
        with pytest.raises(InputError, match=words):
            call()
    for wallet in (toolkit.Wallet(master=MASTER_KEY), None):
        with pytest.raises(InputError, match="this wallet has no agent key"):
            session(FakeVenue(), wallet=wallet).exchange.approve_agent()


@pytest.mark.parametrize(
    ("method", "given", "sent"),
    [
        ("approve_agent", (), {"agentAddress": AGENT, "agentName": "toolkit-70997970", "validitySeconds": 0}),
        ("approve_agent", (MASTER, "other", 60), {"agentAddress": MASTER, "agentName": "other", "validitySeconds": 60}),
        ("revoke_agent", (), {"agentAddress": NOBODY, "agentName": "toolkit-70997970", "validitySeconds": 0}),
        ("revoke_agent", ("other",), {"agentAddress": NOBODY, "agentName": "other"}),
        ("vault_create", ("mine", 100), {"name": "mine", "description": "", "amount": "100", "currencyCode": 1}),
        ("vault_rebalance", (MASTER, AGENT, "5"), {"from": MASTER, "to": AGENT, "amount": "5"}),
        ("faucet_claim", (), {}),
    ],
)
def test_own_addresses_and_defaults_are_filled_in_and_given_ones_kept(method: str, given: Any, sent: Any) -> None:
    fake = FakeVenue()
    getattr(both(fake).exchange, method)(*given)
    assert last(fake).items() >= sent.items()


def test_a_product_code_needs_no_list_of_products() -> None:
    fake = FakeVenue()
    s = both(fake, settle_timeout=0)
    s.exchange.set_margin_mode(99, "CROSS")
    assert last(fake)["symbolCode"] == 99
    assert len(fake.reads) == 1, "the venue's time, before the first nonce"
    s.exchange.set_margin_mode("BTCUSDC", "CROSS")
    assert last(fake)["symbolCode"] == 1
    assert len(fake.reads) == 2


def test_a_bracket_is_placed_alone() -> None:
    fake = FakeVenue()
    order = orders.buy("BTCUSDC", "0.01", "60000")
    bracket = orders.bracket(order, stop_loss=50_000)
    for given in ([order, bracket], [bracket, bracket]):
        with pytest.raises(InputError, match="Place it alone"):
            session(fake).place(given)
    assert session(fake).place([bracket])
    assert session(fake).place([order, order])
    assert [json.loads(body)["action"]["type"] for body in fake.bodies] == ["placeBracketOrder", "placeOrder"]
