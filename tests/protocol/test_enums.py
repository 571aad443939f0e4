"""The numbers of wire enums stand in one file, and they are those of the proto."""

from __future__ import annotations

import pytest

from toolkit.errors import MalformedRequest
from toolkit.protocol import enums
from toolkit.protocol import exchange_pb2 as generated
from toolkit.protocol.enums import ENUMS, Names

GENERATED = {
    "OrdType": enums.OrderType,
    "OrdSide": enums.OrderSide,
    "OrdTIF": enums.TimeInForce,
    "ReduceOnlyOption": enums.ReduceOnly,
    "ConditionalOrdTriggerType": enums.TriggerType,
    "PositionMarginMode": enums.MarginMode,
}


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_enum_numbers_are_those_of_the_proto(name: str) -> None:
    described = generated.DESCRIPTOR.enum_types_by_name[name].values
    prefix = described[0].name.removesuffix("NONE")
    numbers = {member.name: member.value for member in GENERATED[name]}
    assert {value.name.removeprefix(prefix): value.number for value in described} == {"NONE": 0} | numbers


def test_names_are_read_by_their_published_numbers() -> None:
    """Both directions, written out: docs/published.md, "Signatures" and "Info API"."""
    published = {
        "order_type": "1 LIMIT 2 MARKET 3 MARKET_LIQ_SELLOFF 4 LIMIT_LIQ_SELLOFF 5 STOP_LIMIT 6 STOP_MARKET "
        "7 TAKE_PROFIT_LIMIT 8 TAKE_PROFIT_MARKET 50 ADL 51 LIQUIDATION",
        "order_side": "1 BUY 2 SELL 3 BUY_CLOSE_HEDGE 4 SELL_CLOSE_HEDGE",
        "tif": "1 GTC 2 IOC 3 FOK 4 POST_ONLY",
        "reduce_only": "1 REDUCE_ONLY 2 TP_FROM_POSITION 3 SL_FROM_POSITION",
        "trigger": "1 LAST_PRICE 2 MARK_PRICE 3 INDEX_PRICE",
        "margin_mode": "1 CROSS 2 ISOLATED",
        "position_mode": "1 ONE_WAY 2 HEDGE",
        "agent_status": "1 ACTIVE 2 REVOKED",
    }
    for name, text in published.items():
        words = text.split()
        for number, member in zip(words[::2], words[1::2], strict=True):
            assert enums.ENUMS[name].text(int(number)) == enums.ENUMS[name].text(number) == member
            assert enums.ENUMS[name].number_of[member] == int(number)


@pytest.mark.parametrize("names", ENUMS.values(), ids=ENUMS)
def test_an_unknown_name_is_refused_in_plain_english_with_those_that_pass(names: Names) -> None:
    with pytest.raises(MalformedRequest) as refused:
        names.parse("no such", "field")
    article = "an" if names.label[0] in "aeiou" else "a"
    assert str(refused.value).startswith(f"field 'no such' is not {article} {names.label}. Use one of ")
    assert refused.value.nearest == names.names
