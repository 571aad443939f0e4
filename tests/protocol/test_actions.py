"""Declarations: every action of the documents, with its signer, envelope fields and rules."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire_tables import TABLES
from toolkit.errors import MalformedRequest, UnknownAction
from toolkit.protocol import actions
from toolkit.protocol.actions import ACTIONS

ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
ORDER = {
    "symbolCode": 1,
    "ordPx": "60000.5",
    "ordQty": "0.01",
    "ordType": "LIMIT",
    "ordSide": "BUY",
    "timeInForce": "GTC",
}
BOTH, VAULT, EXPIRY, NONE = (True, True), (False, True), (True, False), (False, False)

SPECIFIED = {
    "placeOrder": ("Agent", BOTH),
    "replaceOrder": ("Agent", BOTH),
    "placeBracketOrder": ("Agent", BOTH),
    "cancelOrder": ("Agent", VAULT),
    "cancelAll": ("Agent", VAULT),
    "setLeverage": ("Agent", VAULT),
    "setMarginMode": ("Agent", VAULT),
    "assignPosMargin": ("Agent", VAULT),
    "approveAgent": ("Master", EXPIRY),
    "withdraw": ("Master", EXPIRY),
    "faucetClaim": ("Master", NONE),
    "usdSend": ("Master", EXPIRY),
    "bindReferral": ("Agent", NONE),
    "registerBuilder": ("Builder master", EXPIRY),
    "approveAgentToBuilder": ("Trader master", EXPIRY),
    "revokeAgentToBuilder": ("Trader master", EXPIRY),
    "placeBuilderOrder": ("Builder agent", BOTH),
    "placeBuilderBracketOrder": ("Builder agent", BOTH),
    "vaultDeposit": ("Agent", VAULT),
    "vaultWithdraw": ("Agent", VAULT),
    "vaultCreate": ("Agent", VAULT),
    "vaultUpdateOwner": ("Agent", VAULT),
    "vaultClose": ("Agent", VAULT),
    "vaultPreWithdraw": ("Agent", VAULT),
    "vaultCreateSubVault": ("Agent", VAULT),
    "vaultRebalance": ("Agent", VAULT),
}
"""Action → signer and (carries expiryAfter, carries vaultAddress), as the documents have it."""


def refusal(payload: Any) -> MalformedRequest:
    """Return the error that parsing raises."""
    with pytest.raises(MalformedRequest) as caught:
        actions.parse(payload)
    return caught.value


def place(**changes: Any) -> dict[str, Any]:
    """Return a placeOrder with one item; a change to None leaves the field out."""
    item = {name: value for name, value in {**ORDER, **changes}.items() if value is not None}
    return {"type": "placeOrder", "orders": [item]}


def builder(**changes: Any) -> dict[str, Any]:
    """Return a placeBuilderOrder."""
    return {"type": "placeBuilderOrder", "order": {**ORDER, **changes}, "builder": ADDRESS, "builderFeeRate": "0"}


def bracket(*orders: dict[str, Any], kind: str = "placeBracketOrder") -> dict[str, Any]:
    """Return a bracket of order items."""
    return {"type": kind, "orders": [{**ORDER, **order} for order in orders]}


TP, SL = {"reduceOnly": "TP_FROM_POSITION"}, {"reduceOnly": "SL_FROM_POSITION"}


def test_every_action_of_the_documents_is_declared_with_its_signer_and_envelope() -> None:
    declared = {name: (action.signer, (action.expiry, action.vault)) for name, action in ACTIONS.items()}
    assert declared == SPECIFIED
    assert [name for name, action in ACTIONS.items() if action.vault_required] == [
        "vaultUpdateOwner",
        "vaultClose",
        "vaultPreWithdraw",
        "vaultCreateSubVault",
    ]
    assert [name for name, action in ACTIONS.items() if action.role == "master"] == [
        "approveAgent",
        "withdraw",
        "faucetClaim",
        "usdSend",
        "registerBuilder",
        "approveAgentToBuilder",
        "revokeAgentToBuilder",
    ]


@pytest.mark.parametrize("name", ["NONE", "MARKET_LIQ_SELLOFF", "LIMIT_LIQ_SELLOFF", "ADL", "LIQUIDATION"])
@pytest.mark.parametrize("make", [place, builder], ids=["placeOrder", "placeBuilderOrder"])
def test_display_only_types_are_refused(name: str, make: Any) -> None:
    error = refusal(make(ordType=name))
    assert error.field.endswith("ordType")
    assert f"{name} is display-only and must not be sent. Use one of LIMIT, MARKET" in str(error)
    assert "LIMIT" in error.nearest


@pytest.mark.parametrize("name", ["STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT", "TAKE_PROFIT_MARKET"])
def test_stop_types_are_for_builder_orders_only(name: str) -> None:
    error = refusal(place(ordType=name))
    assert error.field == "orders[0].ordType"
    assert "is for builder orders" in str(error)
    price = "0" if name.endswith("MARKET") else "5"
    assert actions.parse(builder(ordType=name, ordPx=price))["order"]["ordType"] == name


@pytest.mark.parametrize(
    ("payload", "field", "words"),
    [
        (place(ordPx="0"), "orders[0].ordPx", 'must be decimal text above 0 for a LIMIT order, got the text "0"'),
        (place(ordPx="0.00"), "orders[0].ordPx", "must be decimal text above 0 for a LIMIT order"),
        (place(ordPx=60000), "orders[0].ordPx", '"60000" would pass'),
        (place(ordType="MARKET"), "orders[0].ordPx", 'must be "0" for a MARKET order, got the text "60000.5"'),
        (place(ordType="MARKET", ordPx="0.0"), "orders[0].ordPx", 'must be "0" for a MARKET order'),
        (place(symbolCode="1"), "orders[0].symbolCode", "1 would pass"),
        (place(symbolCode=0), "orders[0].symbolCode", "1 or more"),
        (place(symbolCode=None), "orders[0].symbolCode", "is missing"),
        (place(ordSide="NONE"), "orders[0].ordSide", "display-only"),
        (place(timeInForce="DAY"), "orders[0].timeInForce", "one of GTC, IOC, FOK, POST_ONLY"),
        (place(reduceOnly="REDUCE_ONLY"), "orders[0].reduceOnly", "is named reduceOnlyOption in placeOrder"),
        (place(reduceOnlyOption=True), "orders[0].reduceOnlyOption", "got true"),
        (place(tpslTriggerType="LAST"), "orders[0].tpslTriggerType", "LAST_PRICE"),
        (place(slippagePct=0.01), "orders[0].slippagePct", '"0.01" would pass'),
        (place(clOrdId="5"), "orders[0].clOrdId", "5 would pass"),
        ({"type": "placeOrder", "orders": []}, "orders", "a list of at least 1 objects"),
        ({"type": "placeOrder"}, "orders", "is missing"),
        ({**place(), "note": "x"}, "note", "is not a field here. The fields are type, orders"),
        ({"type": "replaceOrder", **ORDER}, "ordId", "clOrdId or ordId is missing"),
        ({"type": "replaceOrder", **ORDER, "ordId": 0}, "ordId", "clOrdId or ordId is missing"),
        ({"type": "replaceOrder", **ORDER, "ordId": 5, "reduceOnlyOption": "REDUCE_ONLY"}, "reduceOnlyOption", "named"),
        (bracket({}), "orders", "a list of 2 to 3 objects, got a list of 1"),
        (bracket({}, TP, SL, SL), "orders", "got a list of 4"),
        (bracket(TP, SL), "orders[0].reduceOnly", "the first order of a bracket is the main order"),
        (bracket({}, {}), "orders[1].reduceOnly", "got nothing"),
        (bracket({}, {"reduceOnly": "REDUCE_ONLY"}), "orders[1].reduceOnly", "TP_FROM_POSITION or SL_FROM_POSITION"),
        (bracket({}, TP, TP), "orders[2].reduceOnly", "TP_FROM_POSITION occurs twice"),
        ({"type": "cancelOrder", "cancels": [{"symbolCode": 1}]}, "cancels[0].ordId", "clOrdId or ordId is missing"),
        ({"type": "cancelOrder", "cancels": [{"symbolCode": 1, "ordId": "x"}]}, "cancels[0].ordId", "number or text"),
        ({"type": "setLeverage", "symbolCode": 1, "leverage": "0.99"}, "leverage", '"1" would pass'),
        ({"type": "setLeverage", "symbolCode": 1, "leverage": "2.001"}, "leverage", '"2.00" would pass'),
        ({"type": "setLeverage", "symbolCode": 1, "leverage": 5}, "leverage", '"5" would pass'),
        ({"type": "setMarginMode", "symbolCode": 1, "marginMode": "cross"}, "marginMode", "CROSS would pass"),
        ({"type": "assignPosMargin", "symbolCode": 1, "assignedPosMargin": "0"}, "assignedPosMargin", "other than 0"),
        ({"type": "cancelAll", "symbolCode": 1, "conditionalOrder": 0}, "conditionalOrder", "true or false"),
        ({"type": "withdraw", "destination": ADDRESS, "amount": "0"}, "amount", "above 0"),
        ({"type": "registerBuilder", "name": "", "dexChain": "Testnet"}, "name", "text of 1 to"),
        ({"type": "registerBuilder", "name": "a", "dexChain": "testnet"}, "dexChain", "one of Mainnet, Testnet"),
        (bracket({}, {}, kind="placeBuilderBracketOrder"), "builder", "is missing"),
        ({**builder(), "builderFeeRate": "-0.1"}, "builderFeeRate", "0 or more"),
        ({"type": "vaultDeposit", "vault": "x", "amount": "1", "currencyCode": 1}, "vault", "an address"),
    ],
)
def test_a_broken_rule_names_field_rule_and_what_would_pass(payload: Any, field: str, words: str) -> None:
    error = refusal(payload)
    assert error.field == field
    assert words in str(error)
    assert str(error).startswith(f"{field}: ")
    assert error.rule


def test_validity_is_bounded_for_agents_only() -> None:
    approve = {"type": "approveAgent", "agentAddress": ADDRESS, "agentName": "", "dexChain": "Testnet"}
    assert actions.parse({**approve, "validitySeconds": 31_536_000})["validitySeconds"] == 31_536_000
    assert "from 0 to 31536000" in str(refusal({**approve, "validitySeconds": 31_536_001}))


@pytest.mark.parametrize(
    ("payload", "name", "shortest", "longest"),
    [
        ({"type": "vaultCreate", "description": "", "amount": "100", "currencyCode": 1}, "name", 1, 128),
        ({"type": "vaultCreate", "name": "x", "amount": "100", "currencyCode": 1}, "description", 0, 2000),
        ({"type": "registerBuilder", "dexChain": "Testnet"}, "name", 1, 128),
        ({"type": "bindReferral"}, "referralCode", 1, 128),
        ({"type": "approveAgent", "agentAddress": ADDRESS, "validitySeconds": 0, "dexChain": "Testnet"},
         "agentName", 0, 128),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)  # fmt: skip
def test_texts_have_a_shortest_and_a_longest_form(payload: Any, name: str, shortest: int, longest: int) -> None:
    for length in (shortest, longest):
        ACTIONS[payload["type"]].check({**payload, name: "x" * length})
    for length in (shortest - 1, longest + 1):
        if length >= 0:
            with pytest.raises(MalformedRequest):
                ACTIONS[payload["type"]].check({**payload, name: "x" * length})


def test_builder_orders_accept_the_alias_and_refuse_two_values() -> None:
    alone = actions.parse(builder(reduceOnlyOption="REDUCE_ONLY"))
    assert alone == builder(reduceOnly="REDUCE_ONLY")
    assert actions.parse(builder(reduceOnlyOption="REDUCE_ONLY", reduceOnly="REDUCE_ONLY")) == alone
    error = refusal(builder(reduceOnly="REDUCE_ONLY", reduceOnlyOption="TP_FROM_POSITION"))
    assert error.field == "order.reduceOnlyOption"
    assert "differ" in str(error)


def test_cancel_items_accept_numbers_and_text() -> None:
    item = {"symbolCode": "7", "ordId": 12, "clOrdId": "-3"}
    assert actions.parse({"type": "cancelOrder", "cancels": [item]})["cancels"] == [
        {"symbolCode": 7, "ordId": 12, "clOrdId": -3}
    ]


def test_payloads_are_not_changed_by_parsing() -> None:
    payload = builder(reduceOnlyOption="REDUCE_ONLY")
    actions.parse(payload)
    assert payload == builder(reduceOnlyOption="REDUCE_ONLY")


@pytest.mark.parametrize("kind", ["placeorder", "", "revokeAgent", "x" * 1000, "\ud800"])
def test_an_unknown_type_is_its_own_error(kind: str) -> None:
    error = refusal({"type": kind})
    assert isinstance(error, UnknownAction)
    assert error.code == 40201
    assert error.field == "type"
    assert len(str(error)) < 800
    if kind == "revokeAgent":
        assert "Revoke with approveAgent, the zero address" in str(error)


@pytest.mark.parametrize("payload", [None, 5, [], "x", {}, {"type": None}, {"type": 5}, {"type": []}])
def test_no_type_is_malformed(payload: Any) -> None:
    error = refusal(payload)
    assert not isinstance(error, UnknownAction)
    assert error.code == 40003


def test_the_reference_names_every_action_field_and_rule() -> None:
    page = TABLES.actions_table()
    assert page.startswith("Version 1.0.0 of the interface.")
    for action in ACTIONS.values():
        assert f"### {action.type}\n" in page
        for entry in action.fields:
            assert f"| {entry.name} |" in page
    assert "| orders[].ordPx | yes | decimal text, 0 or more | limit price (" in page
    assert "Alias: reduceOnlyOption." in page
    assert "(vaultAddress required)" in page


@pytest.mark.parametrize("action", ACTIONS.values(), ids=lambda one: one.type)
def test_only_what_the_documents_call_optional_may_be_left_out(action: Any) -> None:
    """docs/published.md, "Exchange API" and "Signatures"."""
    optional = {
        *("conditionalOrder", "referralCode", "withdrawSequence", "ordId"),
        *("clOrdId", "parentOrdId", "reduceOnly", "triggerPx", "tpslTriggerType", "slippagePct"),
    }
    assert {entry.name for entry in action.fields if not entry.required} <= optional
