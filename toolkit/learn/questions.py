"""The questions of the walkthroughs, by lesson and by the name of the answer.

An answer that depends on the venue is computed from it at each check, so it is right after any number of tries.
An answer that is always the same is kept as a digest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_DOWN, Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..errors import ToolkitError
from ..protocol.orders.names import ActionField, OrderField
from .answers import Question, as_number, shown

if TYPE_CHECKING:
    import pandas as pd

    from ..environments import Chain
    from ..protocol.signing import Explained, PrivateKey
    from ..research import Results
    from ..research.selection.features import Study
    from ..session import Session


MICRO = Decimal("0.000001")
FIVE_MINUTES_MS = 300_000
NO_RECEIPT = "the answer must be a receipt, which `session.place` returns"


def _order_id(answer: object) -> int | None:
    """Return the id of a receipt's first order, None for anything else."""
    from ..client.orders.receipts import Receipt

    return answer.results[0].order_id if isinstance(answer, Receipt) and answer.results else None


def _last_profit(session: Session) -> object:
    return session.fills(symbol="ETHUSDC", exact=True)["realized_pnl"].iloc[-1]


def _signed_later(answer: object, action: Mapping[str, Any], nonce: int, agent: PrivateKey, chain: Chain) -> str:
    from ..protocol import signing

    if not isinstance(answer, dict) or "signature" not in answer:
        return "a signed request is a dictionary with action, nonce, expiryAfter and signature"
    if answer.get("action") != action or answer.get("nonce") != nonce:
        return "it is another action, or has another nonce, than the one above"
    if (expiry := answer.get(ActionField.EXPIRY)) != nonce + 60_000:
        return f"{ActionField.EXPIRY} is {expiry}. A minute has 60,000 ms"
    try:
        signer = signing.recover(answer, chain)
    except (ToolkitError, TypeError, ValueError, LookupError, AttributeError) as error:
        return f"no signer can be recovered: {error}"
    return "" if signer == agent.address else "the signer is not the agent"


def _same_digest(answer: object, action: Mapping[str, Any], steps: Explained, nonce: int, chain: Chain) -> str:
    from ..protocol import signing

    if not isinstance(answer, str):
        return "the answer must be a text, as it is written in the request"
    changed = {**action, "orders": [{**action["orders"][0], OrderField.PRICE.value: answer}]}
    try:
        same = signing.digest(chain, changed, nonce) == steps.digest
    except ToolkitError as error:
        return f"it can't be signed: {error}"
    return "" if same else f"{answer} leads to another digest"


def _maker_share(session: Session) -> object:
    return session.fills(role="MAKER", exact=True)["value"].sum() / session.fills(exact=True)["value"].sum()


def _funding_paid(session: Session) -> object:
    return -session.info.funding_payments(exact=True)["amount"].sum()


def _market_margin(session: Session) -> object:
    return session.ticket("ETHUSDC", side="BUY", order_type="MARKET", quantity="0.5").preview()["margin"]


def _five_minutes(answer: object, session: Session) -> str:
    """Accept the sum of the trades within any five minutes until now: when the exercise was begun is not known."""
    log = session.stream.trades("ETHUSDC").frame(exact=True)
    times = [round(time.timestamp() * 1_000) for time in log["time"]]
    if not times:
        raise LookupError
    sums = set()
    # A window changes only where a trade enters or leaves it; it holds the trades after its begin and until its end.
    latest = session.clock.now_ms() - FIVE_MINUTES_MS
    for begin in {*times, *(time - FIVE_MINUTES_MS for time in times), latest}:
        if times[0] <= begin <= latest:
            first, after = bisect_right(times, begin), bisect_right(times, begin + FIVE_MINUTES_MS)
            sums.add(sum(log["quantity"].iloc[first:after], Decimal(0)))
    number = as_number(answer)
    return "" if number in sums else f"no five minutes of the log have {shown(answer)} in all"


def _bracketed_short(answer: object, session: Session) -> str:
    order_id = _order_id(answer)
    if order_id is None:
        return NO_RECEIPT
    children = session.info.order_states(parent_order_id=order_id)
    if len(children) != 2:
        return "the order has no take profit and stop loss"
    if sorted(children["trigger_price"]) != [2376.5, 2523.5]:
        return f"it takes profit and stops at {' and '.join(map(str, sorted(children['trigger_price'])))}"
    held = session.positions("ETHUSDC")
    if held.empty or held["side"].iloc[0] != "SHORT" or held["size"].abs().iloc[0] != 1:
        return "the position is not a short of 1 ETH"
    return ""


def _taken(answer: object, session: Session) -> str:
    from ..client.orders.receipts import Receipt

    order_id = _order_id(answer)
    if order_id is None:
        return NO_RECEIPT
    state = session.info.order_states(order_id=order_id, exact=True).iloc[0]
    if (state["symbol"], state["side"], state["quantity"]) != ("SOLUSDC", "BUY", Decimal("0.2")):
        return f"it is an order to {state['side'].lower()} {state['quantity']} {state['symbol']}"
    if state["type"] != "LIMIT":
        return "a market order has no limit: it would also take what is dearer than the best ask"
    if state["tif"] != "IOC":
        return {"GTC": "what is not filled rests in the book", "FOK": "it fails if there is less"}.get(
            state["tif"], f"{state['tif']} never takes"
        )
    if not isinstance(answer, Receipt) or not answer.filled or answer.average_price is None:
        return "nothing was offered at its price"
    return "its limit is above the best ask" if answer.average_price < state["price"] else ""


def _equity_left(session: Session, equity: Decimal) -> object:
    ledger = session.info.ledger(exact=True)
    counted = (ledger["kind"] == "DEPOSIT") | (ledger["symbol"] == "BTCUSDC")
    return sum(ledger["amount"][counted], Decimal(0)) / equity


def _builder_fees(trader: Session, fills: pd.DataFrame) -> Decimal:
    paid = trader.info.ledger(kind="BUILDER_FEE", exact=True)
    return -sum(paid["amount"][paid["tx_hash"].isin(fills["tx_hash"])], Decimal(0))


def _builder_cost(trader: Session) -> object:
    fills = trader.fills(exact=True)
    return _builder_fees(trader, fills[fills["side"] == "BUY"])


def _sold_at_the_cap(answer: object, trader: Session) -> str:
    order_id = _order_id(answer)
    if order_id is None:
        return NO_RECEIPT
    fills = trader.fills("BTCUSDC", exact=True)
    fills = fills[fills["order_id"] == order_id]
    if fills.empty or set(fills["side"]) != {"SELL"}:
        return "there is no fill of a sale by this order"
    if fills["quantity"].sum() != Decimal("0.05"):
        return f"it sold {fills['quantity'].sum()}"
    rate = float(_builder_fees(trader, fills) / sum(fills["value"], Decimal(0)))
    return "" if abs(rate - 0.0003) < 1e-7 else f"the builder took {rate:.5%} of the value"


def _shares(session: Session, vault: str) -> object:
    state = session.info.vault(vault, exact=True).iloc[0]
    shares = sum(session.info.vault_depositors(vault, exact=True)["shares"], Decimal(0))
    return (Decimal(250) * shares / state["tvl"]).quantize(MICRO, ROUND_DOWN)


def _locked_until(session: Session) -> object:
    vaults = session.info.vaults().set_index("name")
    return session.info.vault_user(vaults["vault"]["LP vault"])["locked_until"].iloc[0]


def _difference(run: Results, free: Results) -> object:
    return free.metrics()["profit"] - run.metrics()["profit"]


def _opposite(answer: object, free: Results) -> str:
    from ..research import Results

    if not isinstance(answer, Results):
        return "the answer must be Results, which `backtest` returns"
    ours, theirs = answer.fills, free.fills
    when = ["time", "symbol", "quantity"]
    if len(ours) != len(theirs) or (ours["side"].to_numpy() == theirs["side"].to_numpy()).any():
        return "it must buy when Trend sells, and sell when Trend buys"
    if not (ours[when].to_numpy() == theirs[when].to_numpy()).all():
        return "it trades at other times than Trend, or other quantities"
    if answer.metrics()["fees"]:
        return "fees were paid. Without costs fees are (0, 0), and funding is None"
    gap = abs(answer.metrics()["profit"] + free.metrics()["profit"])
    return "" if gap < 0.01 else f"its profit is not the opposite of Trend's, by {gap:.2f} USDC"


def _balance(session: Session) -> object:
    return session.wallet_balances(exact=True)["balance"].iloc[0]


def _right(looks: pd.DataFrame) -> object:
    moved = looks[looks["move"] != 0]
    return ((moved["move"] > 0) == (moved["imbalance"] > 0)).mean()


def _gain(looks: pd.DataFrame) -> object:
    return looks.loc[looks["imbalance"] > 0.6, "move"].mean()


def _horizon(study: Study) -> object:
    rows: Any = study.table.loc["insight"]
    return rows["break_even_bp"].idxmax()


def _left(study: Study) -> object:
    row: Any = study.table.loc[("insight", "4h")]
    return row["spread_bp"] - 2 * row["turnover"] * 10


def _wide(spread: pd.Series[float]) -> object:
    return (spread >= 2 * spread.median()).mean()


def _moved(own: pd.DataFrame) -> object:
    return 2 * own["after a minute"].iloc[-1]


def _behind(queues: Mapping[str, pd.DataFrame]) -> object:
    orders = queues["exact"]
    return orders.loc[orders["ahead"] >= 0.2, "filled"].mean()


def _better_quote(answer: object, worth: Callable[[Results], Sequence[float]]) -> str:
    from ..research import Results

    if not isinstance(answer, Results):
        return "the answer must be Results, which `run` returns"
    if answer.settings["latency"] != "(200 ms, 200 ms)" or answer.settings["queue"] != "exact":
        return f"it ran with {answer.settings['latency']} and queue {answer.settings['queue']}, not 200 ms and exact"
    if len(answer.fills) < 250:
        return f"it has {len(answer.fills)} fills"
    later = worth(answer)[1]
    return "" if later >= 0.5 else f"a fill is worth {later:.2f} ticks after a second"


def _effect(session: Session) -> object:
    return session.ticket("BTCUSDC", side="SELL", order_type="MARKET", quantity="0.05").preview()["effect"]


def _amended(answer: object, session: Session) -> str:
    number = as_number(answer)
    if number is None or number != int(number):
        return "the answer must be the id of an order"
    try:
        events = session.info.order_events(order_id=int(number))
    except ToolkitError as error:
        return f"the venue knows no such order: {error}"
    if events.empty or set(events["symbol"]) != {"ETHUSDC"} or set(events["side"]) != {"BUY"}:
        return "there is no such bid in ETHUSDC"
    if list(events["price"]) != [2400, 2390]:
        return f"the order was at {', then '.join(f'{price:,.0f}' for price in events['price'])}"
    return "" if (events["quantity"] == 0.1).all() else f"it is an order for {events['quantity'].iloc[-1]}"


def _flat(answer: object) -> str:
    if not callable(answer):
        return "the answer must be a function, which takes what a notebook left"
    for position, passes in ((0, True), (0.0, True), (0.1, False), (-2, False)):
        try:
            answer(SimpleNamespace(value={"position": position}.__getitem__))
        except Exception as error:
            if not isinstance(error, AssertionError):
                return f"it fails with {type(error).__name__}: {error}"
            if passes or not str(error):
                return f"a position of {position} fails" if passes else "it fails without a text"
        else:
            if not passes:
                return f"a position of {position} passes"
    return ""


def _left_there(answer: object, session: Session, owner: Session) -> str:
    if len(session.positions("BTCUSDC")):
        return "the copied position in BTCUSDC is still open here"
    there = owner.positions("BTCUSDC", exact=True)["size"].iloc[0]
    return "" if as_number(answer) == there else f"{shown(answer)} is not what the owner holds there"


def _rise_to_liquidation(copied: Session) -> int:
    def is_liquidated(percent: int) -> bool:
        return bool(copied.what_if("ETHUSDC", percent / 100)["liquidated"].iloc[1])

    found = next(filter(is_liquidated, range(1, 2_000)), None)
    if found is None:
        raise LookupError
    return found


def _worst(both: pd.DataFrame) -> object:
    return both["bp"].loc[["BTCUSDC"]].abs().max()


def _alone(both: pd.DataFrame) -> object:
    return int(both["bp"].loc[["ETHUSDC"]].isna().sum())


def _fee_factor(table: pd.DataFrame) -> object:
    best = table["before fees"].argmax()
    return table["fees"].iloc[best] / table["before fees"].iloc[best]


QUESTIONS: dict[str, Question] = {
    "first-trade.profit": Question(
        "the last fill is in `session.fills`, by symbol", truth=_last_profit, step="0.000001"
    ),
    "first-trade.passes": Question("the error names the nearest values that pass", digest="3a48b59728abc87d"),
    "precision.smallest": Question("minOrderValue divided by the price, in whole XRP", digest="2e8aa450048423ce"),
    "precision.price": Question("`product.round_price` takes a direction", digest="4030f1605daba806"),
    "signing.mine": Question("`signing.sign` takes `expiry_after`, in Unix ms", judge=_signed_later),
    "signing.same": Question("digest a copy of the action with each of them", judge=_same_digest),
    "account-data.maker_share": Question(
        "`session.fills` takes a role, and fills have a value", truth=_maker_share, step="0.000001"
    ),
    "account-data.funding_paid": Question(
        "`session.info.funding_payments`. A paid amount is negative", truth=_funding_paid
    ),
    "order-ticket.prices": Question("the chips of the price's problem, as `choices`", digest="55b573f5ff2d6def"),
    "order-ticket.margin": Question("`ticket.preview()` has it", truth=_market_margin, step="0.01"),
    "live-feed.traded": Question("add the quantity of each item of an update. Begin with nothing", judge=_five_minutes),
    "live-feed.resyncs": Question("`book.resyncs`, after the gap was noticed", digest="1b6c9e8fa1e5caaa"),
    "order-kinds.short": Question(
        "`orders.bracket`. The prices are 2450 × 1.03 and × 0.97, away from the entry", judge=_bracketed_short
    ),
    "order-kinds.taken": Question("a limit at the best ask, which ends immediately", judge=_taken),
    "margin-liquidation.short_liquidation": Question(
        "`margin.liquidation_price` with side −1", digest="dd282f7defdb3dbb", step="0.01"
    ),
    "margin-liquidation.left": Question("equity at the end, divided by `equity`", truth=_equity_left, step="0.001"),
    "funding.rate": Question("`margin.funding_rate` with interval_hours", digest="634bc33baef15ed1"),
    "funding.income": Question("six payments per day. Longs pay a positive rate to shorts", digest="b25a382c8224fe0c"),
    "builder-code.cost": Question(
        "the ledger has a row for each BUILDER_FEE. Both builder orders bought", truth=_builder_cost
    ),
    "builder-code.sold": Question(
        "`allow_builder` with max_fee_rate, then fee_rate of the same", judge=_sold_at_the_cap
    ),
    "vaults.expected": Question("deposit × total shares / tvl, cut off after six decimals", truth=_shares),
    "vaults.locked_until": Question("`info.vault_user` of the LP vault has the time", truth=_locked_until),
    "strategy.costs": Question("profit without costs, less profit with them", truth=_difference, step="0.01"),
    "strategy.opposite": Question("swap the targets of Trend. Give fees=(0, 0) and funding=None", judge=_opposite),
    "sweeps.sol_late": Question(
        "the late Sharpe ratio of the row with the best early one", digest="ea6909ba13801d55", step="0.01"
    ),
    "sweeps.lucky": Question("`luck` of 1,000 tries and 90 days", digest="41514250814a4bcc", step="0.01"),
    "when-things-go-wrong.attempts": Question("`intents()` counts attempts", digest="6f78f1b07b9283a0"),
    "when-things-go-wrong.state": Question("the state of what `resolve` returns", digest="f5ac41c60436db8e"),
    "testnet.shown": Question("a repr with the key in it would end up in notebooks", digest="b44105f8ce8981a0"),
    "testnet.balance": Question("`wallet_balances` with exact=True", truth=_balance),
    "market.wide": Question("the mean of what is true or false in each second", truth=_wide, step="0.001"),
    "market.moved": Question("four times the size has twice the square root", truth=_moved, step="0.02"),
    "selection.tries": Question(
        "`luck.expected_max_sharpe` is a daily ratio. A yearly ratio is √365 times it", digest="e3a0cb801af36a36"
    ),
    "selection.deflated": Question(
        "`luck.deflated_sharpe` wants daily ratios: divide by √365, and the variance by 365",
        digest="fb7a0ee6dad06c73",
        step="0.001",
    ),
    "market-making.behind": Question(
        'the rows of `queues["exact"]` with `ahead` of 0.2 or more. Take the mean of what is true or false',
        truth=_behind,
        step="0.001",
    ),
    "market-making.mine": Question(
        "more levels are in place earlier. A lower `thin` keeps more fills", judge=_better_quote
    ),
    "live-page.effect": Question("`ticket.preview()` has it, for a MARKET order of the side SELL", truth=_effect),
    "live-page.amended": Question("`page.blotter.amend(order_id, price=…)`, then `confirm`", judge=_amended),
    "class.rise": Question(
        "equity after the minute, divided by 10,000, less 1. A short loses by a rise",
        digest="ddd2f262f936e559",
        step="0.001",
    ),
    "class.flat": Question("`work.value` has the variable. `assert …, text` fails with a text", judge=_flat),
    "following.left": Question("`close_position` here. `owner.positions` has the position there", judge=_left_there),
    "following.eth": Question('`what_if("ETHUSDC", 0.05)` has `liquidated`, for 5 %', truth=_rise_to_liquidation),
    "paper.worst": Question("`abs().max()` of the column, of the rows of BTCUSDC", truth=_worst, step="0.001"),
    "imbalance.right": Question(
        "leave out the seconds with a move of 0. Compare the signs", truth=_right, step="0.001"
    ),
    "imbalance.gain": Question(
        'the mean of `looks["move"]` where the imbalance is above 0.6', truth=_gain, step="0.001"
    ),
    "features.horizon": Question("`break_even_bp` of the rows of `insight`, and `idxmax`", truth=_horizon),
    "features.left": Question(
        "the spread less two times the turnover times the cost. Each row is a horizon", truth=_left, step="0.01"
    ),
    "paper.alone": Question("`bp` is NaN where one of the prices is missing", truth=_alone),
    "learners.needed": Question("both trades pay the fee. 1 % is 100 bp", digest="bd598406b7ecd89f"),
    "learners.factor": Question("`table` has both columns. Take the row of the best", truth=_fee_factor, step="0.01"),
}
