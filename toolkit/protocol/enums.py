"""Numbers and names of the enums in Info queries and records (venue-facts, "Protobuf" and "Records")."""

from __future__ import annotations

from ..errors import MalformedRequest


class Names:
    """One enum: its numbers and names, read and written either way."""

    __slots__ = ("label", "name_of", "names", "number_of")

    def __init__(self, label: str, numbers: dict[int, str], names: tuple[str, ...] = ()) -> None:
        self.label = label
        self.name_of = numbers
        self.number_of = {name: number for number, name in numbers.items()}
        self.names = (*numbers.values(), *names)

    def text(self, value: object) -> str | None:
        """Return the name of a number, of its text, or of a name; None for "no value"; other text as it is."""
        if value is None or value == "":
            return None
        text = str(value)
        if text.isdigit():
            return self.name_of.get(int(text), text)
        return text

    def parse(self, value: object, field: str) -> str:
        """Return the name for a name or number that a user wrote; MalformedRequest lists what would pass."""
        text = self.text(value)
        upper = text.upper() if text is not None else ""
        if upper in self.names:
            return upper
        known = ", ".join(f"{name} ({self.number_of[name]})" if name in self.number_of else name for name in self.names)
        raise MalformedRequest(
            f"{field} {value!r} is not a {self.label}; use one of {known}",
            field=field,
            rule="enum",
            value=value,
            nearest=self.names,
        )


ENUMS: dict[str, Names] = {
    "order_side": Names("side", {1: "BUY", 2: "SELL", 3: "BUY_CLOSE_HEDGE", 4: "SELL_CLOSE_HEDGE"}),
    "order_type": Names(
        "order type",
        {
            1: "LIMIT",
            2: "MARKET",
            3: "MARKET_LIQ_SELLOFF",
            4: "LIMIT_LIQ_SELLOFF",
            5: "STOP_LIMIT",
            6: "STOP_MARKET",
            7: "TAKE_PROFIT_LIMIT",
            8: "TAKE_PROFIT_MARKET",
            50: "ADL",
            51: "LIQUIDATION",
        },
    ),
    "tif": Names("time in force", {1: "GTC", 2: "IOC", 3: "FOK", 4: "POST_ONLY"}),
    "reduce_only": Names(
        "reduce-only option", {0: "NONE", 1: "REDUCE_ONLY", 2: "TP_FROM_POSITION", 3: "SL_FROM_POSITION"}
    ),
    "trigger": Names("trigger type", {0: "NONE", 1: "LAST_PRICE", 2: "MARK_PRICE", 3: "INDEX_PRICE"}),
    "margin_mode": Names("margin mode", {1: "CROSS", 2: "ISOLATED"}),
    "position_mode": Names("position mode", {1: "ONE_WAY", 2: "HEDGE"}),
    "position_side": Names("position side", {1: "LONG", 2: "SHORT"}),
    "agent_status": Names("agent status", {1: "ACTIVE", 2: "REVOKED"}),
    "account_status": Names("account status", {1: "NORMAL", 2: "LIQUIDATING"}),
    "order_status": Names(
        "order status",
        {},
        ("NEW", "PARTIALLY_FILLED", "FILLED", "CANCELED", "ORDER_STATUS_UNTRIGGERED", "REJECTED"),
    ),
    "exec_status": Names(
        "execution status",
        {},
        ("NEW", "PARTIALLY_FILLED", "FILLED", "CANCELED", "ORDER_STATUS_UNTRIGGERED", "REJECTED"),
    ),
}
"""By the name that declarations use."""
