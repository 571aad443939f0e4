"""The flows of `session.exchange`: one for each action of the interface, made from the declarations.

A flow takes the fields of its action, in Python's spelling, and fills in what the session knows: dexChain, nonce,
expiryAfter, client ids, and the wallet's own addresses. It checks the form of the action. `session.place` also checks
the pre-trade rules of the product.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence  # noqa: F401 - for annotations made below
from decimal import Decimal  # noqa: F401
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Literal  # noqa: F401

from ...errors import InputError, MalformedRequest
from ...orders import Bracket, Ladder, Order
from ...products import Product, decimal_text
from ...protocol.actions import ACTIONS, Action
from ...protocol.fields import Bool, DecimalText, EnumName, Field, Int, Items, Object, Rule
from ...protocol.order_items import is_bracket
from ...suggestions import Suggesting, bound
from ...worked_examples import examples_of
from ..io.docstrings import described, parameter, section
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

_DEFAULTS: dict[str, dict[str, Any]] = {
    "approveAgent": {"agentAddress": None, "agentName": AGENT_NAME, "validitySeconds": 0},
    "approveAgentToBuilder": {"validitySeconds": 0},
    "vaultCreate": {"description": "", "currencyCode": 1},
    "vaultDeposit": {"currencyCode": 1},
    "vaultWithdraw": {"currencyCode": 1},
    "vaultPreWithdraw": {"currencyCode": 1},
    "vaultRebalance": {"currencyCode": 1},
}
_NAMES = {"vaultRebalance": {"from": "from_vault", "to": "to_vault"}}
"""Action → the names of its arguments that are not those of the wire, in Python's spelling."""
_PRODUCT_FIELD = "symbolCode"


class ExchangeFlows(Suggesting):
    """The flows of Exchange and AsyncExchange. Those of the actions are added below this class.

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
        return (yield from self._calls.submit(payload, expiry_after, vault_address))

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
        values = {"agentAddress": ZERO_ADDRESS, "agentName": agent_name, "validitySeconds": 0}
        return (yield from self._call(ACTIONS["approveAgent"], values, {"expiry_after": expiry_after}))

    def _call(self, action: Action, values: Mapping[str, Any], options: Mapping[str, Any]) -> Flow[Receipt]:
        payload: dict[str, Any] = {"type": action.type}
        for entry in action.fields:
            if entry.name == "dexChain":
                payload["dexChain"] = self._environment.chain.dex_chain
            elif values.get(entry.name) is not None:
                payload[entry.name] = yield from self._wire(entry, values[entry.name], action)
        if action.type == "approveAgent" and "agentAddress" not in payload:
            payload["agentAddress"] = self._own_agent()
        return (yield from self._calls.submit(payload, **options))

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
        if entry.name == "marginMode" and isinstance(value, str):
            return value.upper()
        if isinstance(rule, DecimalText):
            return decimal_text(value, entry.name)
        if isinstance(rule, Items) and entry.name == "cancels":
            return (yield from self._cancels(value))
        if isinstance(rule, Items | Object):
            return (yield from self._items(value, action, isinstance(rule, Object)))
        return value

    def _items(self, value: Any, action: Action, single: bool) -> Flow[Any]:
        reduce_field = "reduceOnlyOption" if action.type == "placeOrder" else "reduceOnly"
        several = isinstance(value, Iterable) and not isinstance(value, Mapping | str | bytes)
        given: list[Any] = list(value) if several else [value]
        if any(isinstance(each, Bracket) for each in given):
            if is_bracket not in action.shape.checks or len(given) > 1:
                what = f"{action.method} takes no bracket{' among other orders' if len(given) > 1 else ''}. Its "
                what += "take-profit and stop-loss would be lost. session.place takes one, alone"
                raise InputError(what, field="orders", rule="bracket", value=value)
            given = list(given[0].legs)
        ladder = next((each for each in given if isinstance(each, Ladder)), None)
        if ladder is not None and action.type != "placeOrder":
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

    def _cancels(self, value: Any) -> Flow[list[Any]]:
        """Return cancels with ids and codes as text, as they are published."""
        given = [value] if isinstance(value, Mapping) else list(value)
        made = []
        for item in given:
            if isinstance(item, Mapping):
                item = dict(item)
                if isinstance(item.get("symbolCode"), str) and not item["symbolCode"].isdigit():
                    item["symbolCode"] = (yield from self._catalogue.find(item["symbolCode"])).code
                for name in ("symbolCode", "clOrdId", "ordId"):
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


def _method(action: Action) -> Callable[..., Flow[Receipt]]:
    """Return the generator function of one action, with its signature and docstring."""
    defaults = _DEFAULTS.get(action.type, {})
    entries = [entry for entry in action.fields if entry.name != "dexChain"]
    by_name = {python_name(entry.name, action.type): entry.name for entry in entries}
    signature = _signature(action, entries, defaults)

    def call(self: ExchangeFlows, *args: Any, **keywords: Any) -> Flow[Receipt]:
        # `call` accepts any arguments, so it must refuse wrong ones itself, under the name that the user wrote.
        given = bound(signature, action.method, self, *args, **keywords)
        values = {**defaults, **{by_name[name]: given[name] for name in by_name if name in given}}
        options: dict[str, Any] = {name: given[name] for name in ("expiry_after", "vault_address") if name in given}
        try:
            return (yield from self._call(action, values, options))
        except MalformedRequest as error:
            raise _spoken(error, by_name) from None

    call.__name__ = action.method
    call.__qualname__ = f"Exchange.{action.method}"
    call.__doc__ = _docstring(action, entries)
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {name: p.annotation for name, p in signature.parameters.items() if name != "self"}
    return call


def _spoken(error: MalformedRequest, by_name: Mapping[str, str]) -> MalformedRequest:
    """Return the error for a field of an action by the name in the call: action.marginMode → margin_mode."""
    found = re.match(r"action\.(\w+)(.*)", error.field)
    name = next((name for name, wire in by_name.items() if found and wire == found[1]), "")
    return error.renamed(name + found[2]) if found and name else error


def _signature(action: Action, entries: list[Field], defaults: Mapping[str, Any]) -> Signature:
    required = [entry for entry in entries if entry.required and entry.name not in defaults]
    optional = [entry for entry in entries if entry not in required]
    parameters = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)]
    for entry in required:
        parameters.append(_parameter(entry, Parameter.empty, action))
    for entry in optional:
        parameters.append(_parameter(entry, defaults.get(entry.name), action))
    if action.expiry:
        kind = "int | Unset | None"
        parameters.append(Parameter("expiry_after", Parameter.KEYWORD_ONLY, default=UNSET, annotation=kind))
    if action.vault:
        needed = Parameter.empty if action.vault_required else None
        kind = "str" if action.vault_required else "str | None"
        parameters.append(Parameter("vault_address", Parameter.KEYWORD_ONLY, default=needed, annotation=kind))
    return Signature(parameters, return_annotation="Flow[Receipt]")


def _parameter(entry: Field, default: Any, action: Action) -> Parameter:
    annotation = _annotation(entry, action) + (" | None" if default is None else "")
    return Parameter(
        python_name(entry.name, action.type), Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation
    )


def _annotation(entry: Field, action: Action) -> str:
    rule: Rule = entry.rule
    if entry.name == _PRODUCT_FIELD:
        return "str | int"
    if isinstance(rule, Items):
        # A single order or cancel is accepted without a list around it.
        order = (
            "Order | Bracket | Mapping[str, Any]" if is_bracket in action.shape.checks else "Order | Mapping[str, Any]"
        )
        item = "Mapping[str, Any]" if entry.name == "cancels" else order
        return f"{item} | Sequence[{item}]"
    if isinstance(rule, EnumName):
        return f"Literal[{', '.join(map(json.dumps, rule.numbers))}]"
    return {Int: "int", Bool: "bool", DecimalText: "str | int | Decimal", Object: "Order | Mapping[str, Any]"}.get(
        type(rule), "str"
    )


def _docstring(action: Action, entries: list[Field]) -> str:
    defaults = _DEFAULTS.get(action.type, {})
    parameters = [_parameter_entry(action, entry, defaults) for entry in entries]
    if action.expiry:
        text = "Unix ms after which the venue refuses it (default: in a minute). None: never"
        parameters.append(parameter("expiry_after", "int | None", text, optional=True))
    if action.vault:
        needed = action.vault_required
        text = f"Address of the vault to act for{'' if needed else ' (default: the account)'}"
        parameters.append(parameter("vault_address", "str", text, optional=not needed))
    signed = action.message if action.typed is None else f"typed data {action.typed.primary_type}"
    lines = [
        action.summary,
        "",
        f'Signed by: {action.signer} ({signed}). Source: docs/published.md, "Exchange API".',
        *section("Parameters", parameters),
        *section("Returns", [["Receipt"]]),
        *section("Raises", [described(name, text) for name, text in _RAISES.items()]),
    ]
    if examples := examples_of("Exchange").get(action.method, ())[1:]:
        lines += section("Examples", [examples])
    return "\n".join(lines)


_RAISES = {
    "WalletError": "Without the key that signs it",
    "MalformedRequest": "For a broken field",
    "ExchangeError": "When the venue refuses",
    "NotSent": "When it did not leave this machine",
    "OutcomeUnknown": "Without an answer. `session.resolve()` settles it",
}


def _parameter_entry(action: Action, field: Field, defaults: Mapping[str, Any]) -> list[str]:
    text = ", ".join([_accepts(field), *([field.note] if field.note else [])])
    if (default := defaults.get(field.name)) is not None:
        text += f" (default: {json.dumps(default)})"
    rule = field.rule.item if isinstance(field.rule, Items) else field.rule
    items = [f"`{one.name}`: {one.rule.accepts}{_needed(one)}" for one in getattr(rule, "fields", ())]
    optional = not field.required or field.name in defaults
    return parameter(
        python_name(field.name, action.type), _annotation(field, action), text, optional=optional, items=items
    )


def _accepts(entry: Field) -> str:
    if entry.name == _PRODUCT_FIELD:
        return "a product's symbol or code"
    if entry.name == "agentAddress":
        return f"{entry.rule.accepts}{'' if entry.note else ' (default: this wallet' + chr(39) + 's agent)'}"
    return entry.rule.accepts


def _needed(field: Field) -> str:
    return " (required)" if field.required else ""


for _action in ACTIONS.values():
    setattr(ExchangeFlows, _action.method, trading_flow(_method(_action)))
