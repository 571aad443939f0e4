"""What the methods of `session.exchange` do: fields in Python's spelling become an action, which is signed and sent.

What the session knows is filled in: dexChain, nonce, expiryAfter, client ids, and the wallet's own addresses. The form
of the action is checked. `session.place` also checks the pre-trade rules of the product.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import InputError, MalformedRequest
from ...orders import Bracket, Ladder, Order
from ...products import Product, decimal_text
from ...protocol.actions import ACTIONS, Action
from ...protocol.fields import DecimalText, Field, Items, Object
from ...protocol.orders.approvals import agent_approval
from ...protocol.orders.item_rules import is_bracket
from ...protocol.orders.names import PLACED_REDUCE_ONLY, ActionField, ActionType, OrderField
from ...suggestions import Suggesting
from ..io.flow import AsyncDriver, Driver, Flow, trading_flow
from ..reads.reading import Catalogue
from .delivery import Delivery
from .order_calls import OrderCalls
from .receipts import UNSET, Receipt, Unset

if TYPE_CHECKING:
    from ...environments import Environment

ZERO_ADDRESS = "0x" + "0" * 40
AGENT_NAME = "toolkit"
"""Name that agents are approved under when the caller gives none."""

_NAMES: dict[str, dict[str, str]] = {ActionType.VAULT_REBALANCE: {"from": "from_vault", "to": "to_vault"}}
"""Action → the names of its arguments that are not those of the wire, in Python's spelling."""
_PRODUCT_FIELD = OrderField.PRODUCT.value


class ExchangeFlows(Suggesting):
    """Base of Exchange and AsyncExchange. The methods of the actions are in the module `exchange`.

    Parameters
    ----------
    driver : Driver or AsyncDriver
        Runs the flows.
    environment : Environment
        Environment of the session.
    delivery : Delivery
        Delivers the actions.
    catalogue : Catalogue
        The venue's products.
    """

    def __init__(
        self, driver: Driver | AsyncDriver, environment: Environment, delivery: Delivery, catalogue: Catalogue
    ) -> None:
        self._driver: Any = driver
        self._environment = environment
        self._delivery = delivery
        self._catalogue = catalogue
        self._calls = OrderCalls(driver, delivery, catalogue)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} on {self._environment.name}: {len(ACTIONS)} actions>"

    @trading_flow
    def send(
        self, payload: Mapping[str, Any], *, expiry_after: int | Unset | None = UNSET, vault_address: str | None = None
    ) -> Flow[Receipt]:
        """Sign and send an action given in wire names, as it is published. Raises as the methods of the actions do.

        Parameters
        ----------
        payload : mapping
            The action, a mapping with its `type`.
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute where the action carries it). None: never.
        vault_address : str, optional
            Vault to act for (default: the account).

        Returns
        -------
        Receipt

        Examples
        --------
        >>> session.exchange.send({"type": "setLeverage", "symbolCode": 1, "leverage": "5"}).status
        'ACCEPTED'
        """
        return (yield from self._calls.live(self._delivery.submit(payload, expiry_after, vault_address)))

    @trading_flow
    def revoke_agent(self, agent_name: str = AGENT_NAME, *, expiry_after: int | Unset | None = UNSET) -> Flow[Receipt]:
        """Revoke the agent approved under a name: approveAgent with the zero address and validitySeconds 0.

        Signed by: Master. Raises as `approve_agent` does. Source: docs/published.md, "Signatures".

        Parameters
        ----------
        agent_name : str, optional
            Name of the agent (default: "toolkit").
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.

        Returns
        -------
        Receipt

        Examples
        --------
        >>> session.exchange.revoke_agent("toolkit").status
        'ACCEPTED'
        """
        values = agent_approval(self._environment.chain, ZERO_ADDRESS, agent_name, 0)
        return (yield from self._call(ACTIONS[ActionType.APPROVE_AGENT], values, {"expiry_after": expiry_after}))

    def _act(
        self,
        method: str,
        /,
        *,
        expiry_after: int | Unset | None = UNSET,
        vault_address: str | None = None,
        **given: object,
    ) -> Flow[Receipt]:
        """Send the action of a method, with its arguments by name."""
        action, fields = _BY_METHOD[method]
        values = {fields[name]: value for name, value in given.items()}
        options = {"expiry_after": expiry_after, "vault_address": vault_address}
        try:
            return (yield from self._call(action, values, options))
        except MalformedRequest as error:
            raise _spoken(error, fields) from None

    def _call(self, action: Action, values: Mapping[str, Any], options: Mapping[str, Any]) -> Flow[Receipt]:
        payload: dict[str, Any] = {"type": action.type}
        for entry in action.fields:
            if entry.name == ActionField.CHAIN:
                payload[entry.name] = self._environment.chain.dex_chain
            elif values.get(entry.name) is not None:
                payload[entry.name] = yield from self._wire(entry, values[entry.name], action)
        if action.type == ActionType.APPROVE_AGENT and ActionField.AGENT not in payload:
            payload[ActionField.AGENT.value] = self._own_agent()
        return (yield from self._calls.live(self._delivery.submit(payload, **options)))

    def _own_agent(self) -> str:
        wallet = self._delivery.wallet
        if wallet is None or wallet.agent is None:
            what = "agent_address is missing, and this wallet has no agent key to approve"
            raise InputError(what, field="agent_address", rule="required")
        return wallet.agent

    def _wire(self, entry: Field, value: Any, action: Action) -> Flow[Any]:
        """Return a value in wire form: symbols become codes, amounts text, orders their items."""
        rule = entry.rule
        if entry.name == _PRODUCT_FIELD and isinstance(value, str | Product):
            return (yield from self._catalogue.find(value)).code
        if entry.name == ActionField.MARGIN_MODE and isinstance(value, str):
            return value.upper()
        if isinstance(rule, DecimalText):
            return decimal_text(value, entry.name)
        if isinstance(rule, Items) and entry.name == "cancels":
            return (yield from self._cancels(value))
        if isinstance(rule, Items | Object):
            return (yield from self._items(value, action, isinstance(rule, Object)))
        return value

    def _items(self, value: object, action: Action, single: bool) -> Flow[Any]:
        reduce_field = PLACED_REDUCE_ONLY if action.type == ActionType.PLACE else OrderField.REDUCE_ONLY.value
        given: list[Any] = [value]
        if isinstance(value, Iterable) and not isinstance(value, Mapping | str | bytes):
            given = list(value)
        if any(isinstance(each, Bracket) for each in given):
            if is_bracket not in action.shape.checks or len(given) > 1:
                what = f"{action.method} takes no bracket{' among other orders' if len(given) > 1 else ''}. Its "
                what += "take-profit and stop-loss would be lost. session.place takes one, alone"
                raise InputError(what, field="orders", rule="bracket", value=value)
            given = list(given[0].legs)
        ladder = next((each for each in given if isinstance(each, Ladder)), None)
        if ladder is not None and action.type != ActionType.PLACE:
            raise InputError(f"{action.method} takes no ladder", field="orders", rule="Order", value=ladder)
        if single and len(given) != 1:
            raise InputError(f"{action.method} takes one order, not {len(given)}", field="order", rule="one")
        made: list[Any] = []
        for each in given:
            if not isinstance(each, Order | Ladder):
                made.append(each)
                continue
            product = yield from self._catalogue.find(each.symbol)
            orders = each.orders(product) if isinstance(each, Ladder) else [each]
            made += [order.to_item(product, reduce_field=reduce_field) for order in orders]
        return made[0] if single else made

    def _cancels(self, value: Mapping[str, Any] | Iterable[Any]) -> Flow[list[Any]]:
        """Return cancels with ids and codes as text, as they are published."""
        given = [value] if isinstance(value, Mapping) else list(value)
        made = []
        for item in given:
            if isinstance(item, Mapping):
                item = dict(item)
                if isinstance(item.get(_PRODUCT_FIELD), str) and not item[_PRODUCT_FIELD].isdigit():
                    item[_PRODUCT_FIELD] = (yield from self._catalogue.find(item[_PRODUCT_FIELD])).code
                for name in (OrderField.PRODUCT, OrderField.CLIENT_ID, OrderField.ORDER_ID):
                    if isinstance(item.get(name), int) and not isinstance(item[name], bool):
                        item[name] = str(item[name])
            made.append(item)
        return made


def python_name(field: str, action: str) -> str:
    """Return the name of an argument of an action's method, a wire name in Python's spelling.

    Parameters
    ----------
    field : str
        Wire name of the field.
    action : str
        Type of the action.

    Examples
    --------
    >>> python_name("ordPx", "placeOrder")
    'ord_px'
    """
    if field == _PRODUCT_FIELD:
        return "symbol"
    return _NAMES.get(action, {}).get(field) or re.sub(r"([A-Z])", lambda found: "_" + found.group(1).lower(), field)


def _spoken(error: MalformedRequest, by_name: Mapping[str, str]) -> MalformedRequest:
    """Return the error for a field of an action by the name in the call: action.marginMode → margin_mode."""
    found = re.match(r"action\.(\w+)(.*)", error.field)
    name = next((name for name, wire in by_name.items() if found and wire == found[1]), "")
    return error.renamed(name + found[2]) if found and name else error


_BY_METHOD = {
    action.method: (action, {python_name(entry.name, action.type): entry.name for entry in action.fields})
    for action in ACTIONS.values()
}
"""Method → its action, and the wire names of its arguments."""
