"""`venue.control`: interventions as methods, and the same over HTTP when a venue is served with them.

Never on the wire by default. Served with control, each method is POST /control/<name> with its arguments as a JSON
object, and GET /control lists them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from ...errors import InputError, VenueError
from ...suggestions import Suggesting
from ..api.gateway import Answer, Incoming, enveloped
from ..clocks import milliseconds
from ..engine import arguments

if TYPE_CHECKING:
    from ..local import LocalVenue

Span = str | int | timedelta
"""A length of time: ms, a timedelta, or text like "90s"."""
Amount = str | int | Decimal
"""A number as exact text, an int or a Decimal; never a float."""
PATH = "/control"


class Controls(Suggesting):
    """Interventions into one venue. Products are named by symbol or code, amounts are exact (text, int, Decimal).

    Each is a command of the venue: journaled, and undone by a revert. All raise VenueError when they are refused, and
    InputError, before there is a command, for what can't be one: a float or no number as an amount, a text that is no
    address (or whose mixed letters break EIP-55), a product that is not listed.
    """

    def __init__(self, venue: LocalVenue) -> None:
        self._venue = venue

    def __repr__(self) -> str:
        return f"<Controls of a local venue: {', '.join(name for name in dir(self) if not name.startswith('_'))}>"

    # prices

    def set_oracle(self, product: str | int, price: Amount, *, hold: bool = True) -> dict[str, Any]:
        """Set the oracle price at once and the mark with it. With `hold` it stays until `release_oracle`."""
        return self._do("set_oracle", product=self._code(product), price=arguments.amount(price, "price"), hold=hold)

    def release_oracle(self, product: str | int) -> None:
        """Let the oracle price follow its source again."""
        self._do("release_oracle", product=self._code(product))

    def script_oracle(
        self,
        product: str | int,
        points: Mapping[Span, Amount] | Iterable[tuple[Span, Amount]],
        *,
        release: bool = False,
    ) -> dict[str, Any]:
        """Let the oracle price go through points of (time from now, price): `{"1m": "61000", "2m": "59000"}`.

        The last price stays, or with `release` the source takes over again. No points: a script is called off.
        """
        now = self._venue.now_ms()
        listed = [[now + milliseconds(span), arguments.amount(price, "price")] for span, price in _pairs(points)]
        return self._do("script_oracle", product=self._code(product), points=listed, release=release)

    # markets

    def add_liquidity(
        self,
        product: str | int,
        side: str,
        price: Amount,
        quantity: Amount,
        *,
        levels: int = 1,
        gap: Amount | None = None,
    ) -> dict[str, Any]:
        """Place orders of an account that never runs out, BUY or SELL, `quantity` at each of `levels`.

        The first is at `price`, each further one `gap` (default: one tick) further from the market. What crosses
        trades. Returns the ordIds that rest, and what was filled.
        """
        return self._do(
            "add_liquidity",
            product=self._code(product),
            side=side,
            price=arguments.amount(price, "price"),
            quantity=arguments.amount(quantity, "quantity"),
            levels=levels,
            gap="" if gap is None else arguments.amount(gap, "gap"),
        )

    def remove_liquidity(self, product: str | int) -> dict[str, Any]:
        """Cancel what `add_liquidity` placed in a product."""
        return self._do("remove_liquidity", product=self._code(product))

    def pause(self, product: str | int) -> None:
        """Stop trading in a product: orders are refused, triggers and liquidations wait; cancelling goes on."""
        self._do("pause", product=self._code(product))

    def resume(self, product: str | int) -> None:
        """Let a paused product trade again."""
        self._do("resume", product=self._code(product))

    # participants

    def fund(self, address: str, amount: Amount) -> dict[str, Any]:
        """Give an account `amount` USDC (above 0, at most 6 decimals) from outside, opening it when it is new."""
        return self._do("fund", address=arguments.address(address), amount=arguments.amount(amount, "amount"))

    def act(self, address: str, action: Mapping[str, Any]) -> dict[str, Any]:
        """Do an action (in wire names, `{"type": "placeOrder", …}`) as an account, without its signature.

        Returns code, message and the answer's data; a refusal by the rules is an answer, not an error.
        """
        if not isinstance(action, Mapping):
            raise InputError(
                f"action is of type {type(action).__name__}; give a dictionary, such as "
                '{"type": "cancelAll", "symbolCode": 1}',
                field="action",
                rule="object",
                value=action,
            )
        return self._do("act", address=arguments.address(address), action=dict(action))

    def set_position_mode(self, address: str, mode: str) -> dict[str, Any]:
        """Put a whole account on ONE_WAY or HEDGE; refused while it has positions or orders."""
        return self._do("set_position_mode", address=arguments.address(address), mode=mode)

    # emergencies

    def disable(self, action: str) -> None:
        """Switch an action type off: it is answered 40280."""
        self._do("disable", action=action)

    def enable(self, action: str) -> None:
        """Switch an action type on again."""
        self._do("enable", action=action)

    def ban(self, address: str) -> None:
        """Let an account and its agents do nothing: they are answered 40281."""
        self._do("ban", address=arguments.address(address))

    def unban(self, address: str) -> None:
        """Let an account act again."""
        self._do("unban", address=arguments.address(address))

    def close_location(self, peer: str = "") -> None:
        """Answer 40006 to the callers of one address, or to everybody; queries too."""
        self._do("close_location", peer=peer)

    def open_location(self, peer: str = "") -> None:
        """Serve a location again."""
        self._do("open_location", peer=peer)

    def limit(self, action: str, count: int, span: Span = "1s") -> None:
        """Answer 40220 after `count` requests of an action in `span`, counted for each account.

        `action` "info" is all queries together, counted for each caller; "" is each action without its own limit.
        """
        self._do("limit", action=action, count=count, span=milliseconds(span))

    def unlimit(self, action: str) -> None:
        """Lift the limit of an action."""
        self._do("unlimit", action=action)

    def calm(self) -> None:
        """End every emergency, limit and pause."""
        self._do("calm")

    def _do(self, name: str, /, **args: Any) -> dict[str, Any]:
        return self._venue.apply_control(name, **args)

    def _code(self, product: str | int) -> int:
        if isinstance(product, int) and not isinstance(product, bool):
            return product
        listed = self._venue.core.products.values()
        for one in listed:
            if product in (one.symbol, str(one.code)):
                return one.code
        symbols = tuple(one.symbol for one in listed)
        raise InputError(
            f"product {product!r} is not listed; there are {', '.join(symbols)}",
            field="product",
            value=product,
            nearest=symbols,
        )


def _pairs(points: Any) -> list[tuple[Span, Amount]]:
    try:
        return [(span, price) for span, price in (points.items() if isinstance(points, Mapping) else points)]
    except (TypeError, ValueError):
        raise InputError(
            'points must be (time from now, price) each, such as {"1m": "61000", "2m": "59000"}',
            field="points",
            rule="pairs",
            value=points,
        ) from None


# over HTTP


def functions(venue: LocalVenue) -> dict[str, Callable[..., Any]]:
    """Return what can be called over HTTP by name: the controls, and the venue's own time and snapshots."""
    own = {name: getattr(venue.control, name) for name in dir(Controls) if not name.startswith("_")}
    return {
        **own,
        "advance": venue.advance,
        "snapshot": venue.snapshot,
        "revert": venue.revert,
        "state_hash": venue.state_hash,
        "add_fault": venue.faults.arm,
        "clear_faults": venue.faults.clear,
    }


def open_routes(venue: LocalVenue) -> None:
    """Let the venue's gateway answer GET /control and POST /control/<name>."""
    known = functions(venue)
    venue.gateway.routes[PATH] = lambda incoming: _list(known)
    for name, function in known.items():
        venue.gateway.routes[f"{PATH}/{name}"] = _route(name, function)


def _list(known: Mapping[str, Callable[..., Any]]) -> Answer:
    listed = [
        {"name": name, "arguments": list(inspect.signature(function).parameters), "does": _first_line(function)}
        for name, function in sorted(known.items())
    ]
    return enveloped(200, 0, "success", listed)


def _first_line(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0]


def _route(name: str, function: Callable[..., Any]) -> Callable[[Incoming], Answer]:
    signature = inspect.signature(function)

    def answer(incoming: Incoming) -> Answer:
        if incoming.method != "POST":
            return enveloped(405, 405, f"{incoming.path} takes POST, not {incoming.method[:20]}")
        try:
            args = msgspec.json.decode(incoming.body or b"{}", type=dict[str, Any])
            signature.bind(**args)
        except (msgspec.DecodeError, TypeError) as error:
            return enveloped(400, 40003, f"{name} takes a JSON object with {', '.join(signature.parameters)}: {error}")
        try:
            return enveloped(200, 0, "success", function(**args))
        except InputError as error:
            return enveloped(400, 40003, str(error))
        except VenueError as error:
            return enveloped(200, 40230, str(error))

    return answer
