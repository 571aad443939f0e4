"""Names that a venue sends are shown with escapes for what would not be seen: in frames, rows, products and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.client.rows import whole
from toolkit.client.io.flow import Reply
from toolkit.client.io.transport import read_envelope
from toolkit.client.reads import frames
from toolkit.client.stream.channel_state import row
from toolkit.errors import DataWarning
from toolkit.products import ProductTable
from toolkit.protocol.reads.channels.account import FeedOrder
from toolkit.protocol.reads.door import typed_rows
from toolkit.protocol.reads.info.orders import OrderState
from toolkit.protocol.reads.info.vaults import VAULTS, Vault

UNSEEN = {"\n": r"\n", "\r": r"\r", "\x1b[31m": r"\x1b[31m", "\x00": r"\x00", "\u202e": r"\u202e", "\u2066": r"\u2066"}


@pytest.mark.parametrize("mark", UNSEEN)
def test_what_would_not_be_seen_is_shown_as_an_escape_wherever_a_name_enters(mark: str) -> None:
    name, shown = f"A{mark}B", f"A{UNSEEN[mark]}B"
    given = {"vaultName": name, "new": name, name: "x"}
    body = json.dumps({"code": 0, "message": "", "data": [whole(Vault.declared, **given)]}).encode()
    table = frames.frame(VAULTS, body)
    [column] = [one for one in table.columns if table[one].astype(str).eq(shown).any() and one != "new"]
    assert (table[column].item(), table["new"].item(), shown in table.columns) == (shown, shown, True)
    order: dict[str, Any] = whole(OrderState.declared, symbol=name, side=name)
    assert typed_rows(OrderState, [order], "/x")[0].symbol == shown
    assert row(FeedOrder.declared, whole(FeedOrder.declared, symbol=name, ordType=name))["type"] == shown
    product = {"symbol": name, "code": 1, "tickSize": "0.1", "stepSize": "0.1", "minOrderValue": "1"}
    [listed] = ProductTable.from_meta({"perpProducts": [product]}, tell=lambda *_: None).values()
    assert listed.symbol == shown
    refused = read_envelope(Reply(200, json.dumps({"code": 40003, "message": name, "data": None}).encode()), "x")
    assert refused.message == shown


@pytest.mark.parametrize(
    ("wire", "words"), [("minOrderValue", "It must not be negative"), ("maxSlippagePct", "above 0")]
)
def test_a_rule_of_a_product_that_is_negative_is_not_taken(wire: str, words: str) -> None:
    product = {"symbol": "A", "code": 1, "tickSize": "0.1", "stepSize": "0.1", "minOrderValue": "1", wire: "-1"}
    with pytest.warns(DataWarning, match=words):
        table = ProductTable.from_meta({"perpProducts": [product]})
    assert [one.max_slippage_pct for one in table.values()] == ([None] if wire == "maxSlippagePct" else [])
