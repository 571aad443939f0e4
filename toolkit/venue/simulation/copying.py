"""Copies of an account of a followed venue: its balance, positions, settings and open orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..engine import arguments
from ..engine.codes import TxCode
from ..engine.commands import ActionContext, Refused
from ..engine.registry import controls
from ..model.accounts import VenueAccount
from ..model.constants import HEDGE, ISOLATED, LIMIT
from ..risk import ledger
from ..trading import matching
from ..trading.orders import place
from ..trading.positions import position_of
from .recorded import RECORDED

if TYPE_CHECKING:
    from ..engine.core import Core


@controls("copy_account")
def copy_account(
    core: Core,
    address: str,
    balance: int,
    positions: list[list[int]],
    leverages: list[list[int]] | None = None,
    hedge: bool = False,
) -> None:
    """Give an account without positions a balance, positions and settings, against the recorded market, without fees.

    Amounts are in micro-USDC. A position is [product, side, steps, entry value, leverage in hundredths, 1 if isolated,
    margin assigned]; `leverages` are [product, leverage in hundredths] of products without one.
    """
    account = core.account(arguments.address(address))
    if account.kind != "user" or any(held.long.size or held.short.size for held in account.positions.values()):
        raise Refused(TxCode.BAD_ARGUMENT, f"{address} has positions already; copy into an account without any")
    if core.state.recorded is None:
        raise Refused(TxCode.BAD_ARGUMENT, "there is no recorded market that could hold the other side")
    if balance < 0 or any(
        len(row) != 7 or row[1] not in (1, -1) or min(row[2:]) < 0 or not row[2] for row in positions
    ):
        raise Refused(TxCode.BAD_ARGUMENT, "a position is seven whole numbers, and no amount is below 0")
    for row in (*positions, *(leverages or ())):
        core.product(row[0])
    cash = balance + sum(row[6] for row in positions if row[5]) - account.balance
    if cash > 0:
        ledger.deposit(core, account, cash)
    elif cash < 0:
        ledger.withdraw(core, account, -cash)
    if hedge or len({row[0] for row in positions}) < len(positions):
        account.position_mode = HEDGE
    for code, leverage in leverages or ():
        position_of(core, account, core.products[code]).leverage = leverage
    rates = account.maker_rate, account.taker_rate
    account.maker_rate = account.taker_rate = 0
    for row in positions:
        _copy_position(core, account, *row)
    account.maker_rate, account.taker_rate = rates


def _copy_position(
    core: Core,
    account: VenueAccount,
    code: int,
    side: int,
    steps: int,
    value: int,
    leverage: int,
    isolated: int,
    margin: int,
) -> None:
    product, house = core.products[code], core.state.accounts[RECORDED]
    position = position_of(core, account, product)
    position.leverage = leverage or position.leverage
    position.mode = ISOLATED if isolated else position.mode
    # an average entry price lies between two ticks, so it is made of trades at both
    price, rest = divmod(value, steps * product.unit)
    above = rest // product.unit
    for quantity, ticks in ((steps - above, price), (above, price + 1)):
        if quantity and ticks:
            buyer, seller = (account, house) if side > 0 else (house, account)
            matching.trade_off_book(core, product, buyer, seller, quantity, ticks, LIMIT, account, opens=True)
    if isolated:
        ledger.assign(core, account, position, margin - position.assigned)


@controls("copy_orders")
def copy_orders(core: Core, address: str, orders: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Place orders of a followed venue for an account; return why each could not be placed ("" if it was), `refusals`.

    An order is an item as on the wire, with `ordId`, its id there; a `parentOrdId` is one of these ids. Conditional
    orders, which a builder has placed there, are placed without a builder's fee.
    """
    account = core.account(arguments.address(address))
    placed: dict[int, int] = {}
    refusals = []
    for given in orders:
        item = {name: value for name, value in given.items() if name not in ("ordId", "parentOrdId")}
        if parent := placed.get(int(given.get("parentOrdId") or 0)):
            item["parentOrdId"] = parent
        # the rules let only builders have conditional orders
        builder = "" if item.get("ordType") in ("LIMIT", "MARKET") else account.address
        try:
            placed[int(given["ordId"])] = place(core, ActionContext(account), item, builder=builder).id
            refusals.append("")
        except Refused as refused:
            refusals.append(refused.reason)
    return {"refusals": refusals}
