"""Research and trade a perpetual-futures exchange from Jupyter, with a whole local exchange inside.

Start with `toolkit.connect()`: a funded session on the local venue, no network and no keys needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .extras import on_first_use

__version__ = "0.1.0"

_MEMBERS = {
    "classroom.joining": ("join",),
    "classroom.room": ("class_room",),
    "client.orders.receipts": ("Receipt",),
    "environments": ("LOCAL", "MAINNET", "TESTNET", "Environment"),
    "errors": ("ToolkitError",),
    "limits": ("Limits",),
    "orders": ("Order",),
    "products": ("Product",),
    "research.live_trading.attached": ("run_results", "runs"),
    "session": ("AsyncSession", "Session", "ask", "connect"),
    "session_methods": ("AsyncBuilder", "Builder"),
    "venue.model.market": ("Market",),
    "wallet": ("Wallet",),
}
_MODULES = (
    "checks", "errors", "gym", "learn", "margin", "orders", "plots", "products", "report", "research", "widgets",
)  # fmt: skip
_HOMES = {name: module for module, names in _MEMBERS.items() for name in names} | {name: name for name in _MODULES}
"""Public name → module that holds it, or that it is. Loaded on first use, so that importing the toolkit stays cheap."""

# Written out, because type checkers and editors only take names from a literal list.
__all__ = ["LOCAL", "MAINNET", "TESTNET", "Environment", "Limits", "Market", "Order", "Product", "ToolkitError"]
__all__ += ["Wallet", "AsyncBuilder", "AsyncSession", "Builder", "Receipt", "Session", "__version__", "ask"]
__all__ += ["class_room", "connect", "gym", "join", "run_results", "runs"]
__all__ += ["checks", "errors", "learn", "margin", "orders", "plots", "products", "report", "research", "widgets"]


if TYPE_CHECKING:
    from . import checks, errors, gym, learn, margin, orders, plots, products, report, research, widgets
    from .classroom.joining import join
    from .classroom.room import class_room
    from .client.orders.receipts import Receipt
    from .environments import LOCAL, MAINNET, TESTNET, Environment
    from .errors import ToolkitError
    from .limits import Limits
    from .orders import Order
    from .products import Product
    from .research.live_trading.attached import run_results, runs
    from .session import AsyncSession, Session, ask, connect
    from .session_methods import AsyncBuilder, Builder
    from .venue.model.market import Market
    from .wallet import Wallet

else:  # a type checker would take a module-level `__getattr__` for "any name goes"
    __getattr__ = on_first_use(__name__, _HOMES)


def load_ipython_extension(ipython: object) -> None:
    """Give a notebook the magics of `toolkit.magics`, called by `%load_ext toolkit`.

    Parameters
    ----------
    ipython : InteractiveShell
        Shell of the notebook.
    """
    from .magics import register

    register(ipython)


def __dir__() -> list[str]:
    return sorted(__all__)
