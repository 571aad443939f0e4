"""What the methods of `session.exchange` do: fields in Python's spelling become an action, which is signed and sent.

What the session knows is filled in: dexChain, nonce, expiryAfter, client ids, and the wallet's own addresses. The form
of the action is checked. `session.place` also checks the pre-trade rules of the product.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import ExchangeError, InputError, MalformedRequest, warn
from ...orders import Bracket, Ladder, Order
from ...products import Product, decimal_text
from ...protocol.actions import ACTIONS, Action
from ...protocol.enums import AgentStatus
from ...protocol.fields import DecimalText, Field, Items, Object
from ...protocol.orders.approvals import agent_approval
from ...protocol.orders.item_rules import is_bracket
from ...protocol.orders.names import PLACED_REDUCE_ONLY, ActionField, ActionType, OrderField
from ...protocol.reads.door import seen
from ...protocol.reads.info.accounts import AccountAgent
from ...suggestions import Suggesting
from ..io.flow import AsyncDriver, Driver, Flow, trading_flow, urgently
from ..reads.catalogue import Catalogue, Row
from ..reads.reading import approvals_of, fetch_rows
from .delivery import Delivery
from .order_calls import OrderCalls
from .receipts import UNSET, Receipt, Unset

if TYPE_CHECKING:
    from ...environments import Environment

ZERO_ADDRESS = "0x" + "0" * 40
_AGENT_NAME = ACTIONS[ActionType.APPROVE_AGENT].fields[1].name

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
        if payload.get("type") == ActionType.APPROVE_AGENT and (said := (yield from self._replaced(payload))):
            what = f"{said} Nothing was signed. Choose another name, or session.exchange.approve_agent(…, replace=True)"
            raise InputError(what, field=_AGENT_NAME, rule="free", value=payload[_AGENT_NAME])
        return (yield from self._calls.live(self._delivery.submit(payload, expiry_after, vault_address)))

    @trading_flow
    def revoke_agent(self, agent_name: str | None = None, *, expiry_after: int | Unset | None = UNSET) -> Flow[Receipt]:
        """Revoke the agent approved under a name: approveAgent with the zero address and validitySeconds 0.

        Signed by: Master. Raises as `approve_agent` does. Source: docs/published.md, "Signatures".

        Parameters
        ----------
        agent_name : str, optional
            Name of the agent (default: that of this wallet's agent).
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.

        Returns
        -------
        Receipt

        Examples
        --------
        >>> session.exchange.revoke_agent().status
        'ACCEPTED'
        """
        if agent_name is None:
            agent = self._own_agent()
            own = [row.name for row in approvals_of(agent, (yield from self._agents(agent, "AGENT"))) if row.name]
            agent_name = own[0] if own else default_agent_name(agent)
        values = agent_approval(self._environment.chain, ZERO_ADDRESS, agent_name, 0)
        return (yield from self._call(ACTIONS[ActionType.APPROVE_AGENT], values, {"expiry_after": expiry_after}))

    def _act(
        self,
        method: str,
        /,
        *,
        expiry_after: int | Unset | None = UNSET,
        vault_address: str | None = None,
        replace: bool = True,
        **given: object,
    ) -> Flow[Receipt]:
        """Send the action of a method, with its arguments by name. `replace`: whether another agent's name is meant."""
        action, fields = _BY_METHOD[method]
        values = {fields[name]: value for name, value in given.items()}
        options = {"expiry_after": expiry_after, "vault_address": vault_address}
        try:
            call = self._call(action, values, options, replace)
            is_exit = action.type in (ActionType.CANCEL, ActionType.CANCEL_ALL)
            return (yield from (urgently(call) if is_exit else call))
        except MalformedRequest as error:
            raise _spoken(error, fields) from None

    def _call(
        self, action: Action, values: Mapping[str, Any], options: Mapping[str, Any], replace: bool = True
    ) -> Flow[Receipt]:
        if action.type == ActionType.APPROVE_AGENT:
            agent = values.get(ActionField.AGENT) or self._own_agent()
            name = values.get(_AGENT_NAME)
            values = {**values, ActionField.AGENT.value: agent}
            # The address of nobody ends the approval of that name: by default the one of this wallet's agent.
            named = self._own_agent() if agent == ZERO_ADDRESS and name is None else str(agent)
            values[_AGENT_NAME] = default_agent_name(named) if name is None else name
        payload: dict[str, Any] = {"type": action.type}
        for entry in action.fields:
            if entry.name == ActionField.CHAIN:
                payload[entry.name] = self._environment.chain.dex_chain
            elif values.get(entry.name) is not None:
                payload[entry.name] = yield from self._wire(entry, values[entry.name], action)
        if not replace and (said := (yield from self._replaced(payload))):
            what = f"{said} Nothing was signed. Leave agent_name out, choose another one, or say replace=True"
            raise InputError(what, field="agent_name", rule="free", value=payload[_AGENT_NAME])
        return (yield from self._calls.live(self._delivery.submit(payload, **options)))

    def _replaced(self, payload: Mapping[str, Any]) -> Flow[str]:
        """Say which other agent an approval ends, because it has the same name. "" for none."""
        name, agent = payload.get(_AGENT_NAME), str(payload.get(ActionField.AGENT))
        # The usual name is made of the address, so it is no other agent's.
        if agent == ZERO_ADDRESS or name == default_agent_name(agent):
            return ""
        account = yield from self._delivery.account()
        for given in (yield from self._agents(account, "MASTER")):
            row = seen(AccountAgent, given, in_part=True)
            if row is None or row.name != name or not row.agent or row.agent.lower() == agent.lower():
                continue
            if approvals_of(row.agent, [given]):
                said = f'"{name}" is the name of another active agent, {row.agent}. This approval of {agent} ends it, '
                return f"{said}and programs that use it can then neither trade nor cancel."
        return ""

    def _agents(self, address: str, role: str) -> Flow[list[Row]]:
        query = {"account": address, "role": role, "status": AgentStatus.ACTIVE.name, "page_size": "500"}
        try:
            return (yield from fetch_rows("agents", self._delivery.retry, **query))
        except ExchangeError as error:
            warn(f"the names of active agents could not be read: {error}")
            return []

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
            return (yield from self._catalogue.code(value, leaving=action.type == ActionType.CANCEL_ALL))
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
            orders = each.orders((yield from self._catalogue.find(each.symbol))) if isinstance(each, Ladder) else [each]
            for order in orders:
                code = yield from self._catalogue.code(order.symbol, order.item(0).reduces)
                made.append(order.item(code).to_wire(reduce_field))
        return made[0] if single else made

    def _cancels(self, value: Mapping[str, Any] | Iterable[Any]) -> Flow[list[Any]]:
        """Return cancels with ids and codes as text, as they are published."""
        given = [value] if isinstance(value, Mapping) else list(value)
        made = []
        for item in given:
            if isinstance(item, Mapping):
                item = dict(item)
                if isinstance(item.get(_PRODUCT_FIELD), str) and not item[_PRODUCT_FIELD].isdigit():
                    item[_PRODUCT_FIELD] = yield from self._catalogue.code(item[_PRODUCT_FIELD], leaving=True)
                for name in (OrderField.PRODUCT, OrderField.CLIENT_ID, OrderField.ORDER_ID):
                    if isinstance(item.get(name), int) and not isinstance(item[name], bool):
                        item[name] = str(item[name])
            made.append(item)
        return made


def default_agent_name(agent: str) -> str:
    """Return the name that an agent is approved under when the caller gives none.

    Two agents never have the same one. A name that several used would end the approval of the first.

    Parameters
    ----------
    agent : str
        Address of the agent.

    Examples
    --------
    >>> default_agent_name("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
    'toolkit-70997970'
    """
    return f"toolkit-{agent[2:10].lower()}"


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
